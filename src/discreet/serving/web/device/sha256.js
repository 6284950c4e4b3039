/** SHA-256 (FIPS 180-4) in plain JavaScript, because `crypto.subtle` is missing where a page came over plain http. */

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
const fractionBits = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
const START = primes.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)));
const ROUND = Int32Array.from(primes, (prime) => fractionBits(Math.cbrt(prime)));

/** The digest of bytes, as 64 hexadecimal digits. */
export function sha256(bytes) {
  const state = Int32Array.from(START), words = new Int32Array(64);
  const whole = bytes.length & ~63;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < whole; at += 64) block(state, words, view, at);
  const tail = new DataView(new ArrayBuffer(bytes.length - whole < 56 ? 64 : 128));
  new Uint8Array(tail.buffer).set(bytes.subarray(whole));
  tail.setUint8(bytes.length - whole, 0x80);
  tail.setBigUint64(tail.byteLength - 8, BigInt(bytes.length) * 8n);
  for (let at = 0; at < tail.byteLength; at += 64) block(state, words, tail, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function block(state, words, view, at) {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15], y = words[i - 2];
    const low = (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)), high = (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
    words[i] = (words[i - 16] + low + words[i - 7] + high) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) | 0));
}

function turned(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}
