/** HMAC with SHA-256 of short keys, without waiting; the digest in hexadecimal digits. */

import { sha256 } from "../sha256.js";

export function hmac(key, message) {
  const padded = (byte) => Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ byte);
  const inner = sha256(Uint8Array.from([...padded(0x36), ...message]));
  return sha256(Uint8Array.from([...padded(0x5c), ...inner.match(/../g).map((pair) => parseInt(pair, 16))]));
}
