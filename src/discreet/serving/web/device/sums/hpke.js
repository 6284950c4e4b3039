/** HPKE (RFC 9180) in base mode with X25519, HKDF-SHA256 and AES-128-GCM, by the browser's own cryptography. */

export const SUITE = { kem: 0x0020, kdf: 0x0001, aead: 0x0001 };
export const KEY_SIZE = 32;
const KEM_SUITE = [...ascii("KEM"), 0x00, 0x20], HPKE_SUITE = [...ascii("HPKE"), 0x00, 0x20, 0x00, 0x01, 0x00, 0x01];
const VERSION = ascii("HPKE-v1"), NO_SALT = new Uint8Array(32), BASE_MODE = 0;

/** Whether this page may seal: a browser gives its cryptography to pages that came over https, or from this machine. */
export function canSeal() {
  return Boolean(globalThis.crypto?.subtle);
}

/** {enc, payload} for the holder of a public key; `ephemeral` is a key pair, fresh unless a test gives one. */
export async function seal(publicKey, info, aad, plaintext, ephemeral = null) {
  const { subtle } = crypto;
  ephemeral ??= await subtle.generateKey({ name: "X25519" }, true, ["deriveBits"]);
  const receiver = await subtle.importKey("raw", publicKey, { name: "X25519" }, true, []);
  const enc = new Uint8Array(await subtle.exportKey("raw", ephemeral.publicKey));
  const shared = new Uint8Array(await subtle.deriveBits({ name: "X25519", public: receiver }, ephemeral.privateKey, 256));
  if (shared.every((byte) => byte === 0)) throw new Error("an aggregator's key cannot be used");
  const extracted = await labeledExtract(KEM_SUITE, NO_SALT, "eae_prk", shared);
  const secret = await labeledExpand(KEM_SUITE, extracted, "shared_secret", [...enc, ...publicKey], 32);
  const { key, nonce } = await keySchedule(secret, info);
  const cipher = await subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  const payload = await subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, cipher, plaintext);
  return { enc, payload: new Uint8Array(payload) };
}

async function keySchedule(shared, info) {
  const pskHash = await labeledExtract(HPKE_SUITE, NO_SALT, "psk_id_hash", []);
  const infoHash = await labeledExtract(HPKE_SUITE, NO_SALT, "info_hash", info);
  const context = [BASE_MODE, ...pskHash, ...infoHash];
  const secret = await labeledExtract(HPKE_SUITE, shared, "secret", []);
  return {
    key: await labeledExpand(HPKE_SUITE, secret, "key", context, 16),
    nonce: await labeledExpand(HPKE_SUITE, secret, "base_nonce", context, 12),
  };
}

function labeledExtract(suite, salt, label, input) {
  return hmac(salt, [...VERSION, ...suite, ...ascii(label), ...input]);
}

/** Of at most 32 bytes, which is one step of HKDF-Expand. */
async function labeledExpand(suite, key, label, info, length) {
  const block = await hmac(key, [0, length, ...VERSION, ...suite, ...ascii(label), ...info, 1]);
  return block.subarray(0, length);
}

async function hmac(key, message) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, Uint8Array.from(message)));
}

function ascii(text) {
  return Array.from(text, (letter) => letter.charCodeAt(0));
}
