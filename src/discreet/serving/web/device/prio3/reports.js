/** A report of Prio3 from a measurement: {nonce, publicShare, inputShares}. */
import { NONCE_SIZE, Prio3 } from "./prio3.js";

/** Nonce and randomness are fresh unless they are given. */
export function makeReport({ variant, parameters, ctx, measurement, nonce, rand }) {
  const prio3 = new Prio3(variant, parameters);
  nonce ??= crypto.getRandomValues(new Uint8Array(NONCE_SIZE));
  rand ??= crypto.getRandomValues(new Uint8Array(prio3.randSize));
  return { nonce, ...prio3.shard(ctx, measurement, nonce, rand) };
}
