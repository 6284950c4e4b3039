/** XofTurboShake128: from a seed to another seed, or to a vector of field elements. */
import { TurboShake128 } from "./turboshake.js";

export const SEED_SIZE = 32;
const MAX_DST_SIZE = 65535;

function stream(seed, dst, binder) {
  if (dst.length > MAX_DST_SIZE) throw new RangeError(`the context is too long: with its tag it has ${dst.length} bytes, ${MAX_DST_SIZE} are allowed`);
  return new TurboShake128([dst.length & 255, dst.length >> 8], dst, [seed.length], seed, ...binder);
}

export function deriveSeed(seed, dst, ...binder) {
  return stream(seed, dst, binder).next(new Uint8Array(SEED_SIZE));
}

export function expandIntoVec(field, length, seed, dst, ...binder) {
  const source = stream(seed, dst, binder);
  const out = field.zeros(length), bytes = new Uint8Array(field.encodedSize);
  for (let filled = 0; filled < length; ) {
    if (field.decodeInto(source.next(bytes), out, filled)) filled++; // else thrown away
  }
  return out;
}
