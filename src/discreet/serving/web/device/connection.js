/** The server: whatever leaves this device leaves through `ask`, and is written to the log that the reader can see. */

import { LIMITS, parse } from "./check.js";

const LOGGED = 500, TIMEOUT = 60_000;

/** A whole address, without what says where in a page to look; "" is the page's own origin. As it was, if it is none. */
export function addressOf(url) {
  try {
    const { origin, pathname, search } = new URL(url || "/", globalThis.document?.baseURI ?? globalThis.location?.href);
    return origin + pathname + search;
  } catch {
    return url;
  }
}

/** The address of a server, the same however it is written. */
export function serverAddress(url) {
  return addressOf(url).replace(/\/+$/, "");
}

export class Connection {
  online = false;
  problem = null;
  sent = [];
  #url;
  #fetch;
  #now;
  #storage;

  constructor(url, fetch, now, storage) {
    this.#url = url.replace(/\/$/, "");
    this.#fetch = fetch;
    this.#now = now;
    this.#storage = storage;
  }

  async load() {
    this.sent = await this.#storage.transaction(["sent"], "readonly", ({ sent }) => sent.all());
  }

  /**
   * The server's reply, {status, bytes}, or null if there was none. Nothing of an earlier reply goes with a request.
   * A path that is a whole address is another server's; a body that is no text is sealed, and the log has its size.
   */
  async ask(method, path, body = null, type = "application/json") {
    const headers = body === null ? {} : { "Content-Type": type };
    const url = /^https?:/.test(path) ? path : this.#url + path;
    const json = typeof body === "string" ? body : body ? `${body.length} sealed bytes` : "";
    const entry = { time: Math.floor(this.#now()), method, url, json, status: null };
    const options = {
      method, headers, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    };
    let reply = null;
    try {
      const response = await this.#fetch(entry.url, body === null ? options : { ...options, body });
      entry.status = response.status;
      reply = { status: response.status, bytes: await bytesOf(response) };
      this.online = true;
      this.problem = reply.status < 400 ? null : `${path}: ${reply.status}, ${reason(reply.bytes) ?? "no reason given"}`;
    } catch (error) {
      this.online = false;
      this.problem = `the server cannot be reached (${error.message}); working with what is here`;
    }
    await this.#log(entry);
    return reply;
  }

  /** Asked again with nothing new is one entry, and of too many the first ones go that sent nothing. */
  async #log(entry) {
    try {
      await this.#storage.transaction(["sent"], "readwrite", async ({ sent }) => {
        const all = await sent.all();
        const same = entry.status === 204 ? all.findLast(({ status, url }) => status === 204 && pathOf(url) === pathOf(entry.url)) : undefined;
        if (same) entry.times = (same.times ?? 1) + 1;
        const old = same ?? (all.length < LOGGED ? undefined : all.find(({ method }) => method === "GET") ?? all[0]);
        if (old) await sent.delete(old.number);
        entry.number = await sent.add(entry);
        this.sent = [...all.filter((other) => other !== old), entry];
      });
    } catch {
      entry.number = (this.sent.at(-1)?.number ?? 0) + 1;
      this.sent = [...this.sent, entry].slice(-LOGGED);
    }
  }
}

function pathOf(url) {
  return url.split("?")[0];
}

/** The body, as far as an answer may be long. */
async function bytesOf(response) {
  const parts = [];
  let size = 0;
  for (const reader = response.body?.getReader(); reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    if (size > LIMITS.max_answer_bytes) {
      reader.cancel().catch(() => {});
      throw new Error("its answer does not end");
    }
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The one line of a refusal, {"error": "…"}; null if that is not what came. */
export function reason(bytes) {
  try {
    const { error } = parse(bytes);
    return typeof error === "string" ? error.slice(0, 200) : null;
  } catch {
    return null;
  }
}
