/**
 * The one form of all addresses of a page: https for both, no fragment, no tracking, parameters in order. Two addresses are
 * one page's here where they are on the server (`serving/canonical_address.py`).
 */

import { SCHEMA } from "./schema.js";

/** The form; what is no http or https address stays as it is. */
export function canonical(address) {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return address;
  const { host, pathname, searchParams } = new URL(address);
  for (const name of new Set(searchParams.keys())) if (tracks(name.toLowerCase())) searchParams.delete(name);
  searchParams.sort();
  const path = written(pathname).replace(/\/{2,}/g, "/"), query = `${searchParams}`;
  return `https://${host.replace(/:(80|443)$/, "").replace(/\.$/, "")}${path}${query && "?"}${query}`;
}

function tracks(name) {
  return SCHEMA.tracking.names.includes(name) || SCHEMA.tracking.prefixes.some((prefix) => name.startsWith(prefix));
}

/** A path in which no sign is escaped that need not be. */
function written(path) {
  return path.replace(/%([0-9a-f]{2})/gi, (escaped, hex) => {
    const sign = String.fromCharCode(parseInt(hex, 16));
    return /[\w.~-]/.test(sign) ? sign : escaped.toUpperCase();
  });
}
