/** The worker behind sharding.js: shards what it is sent, away from the page. */
import { NONCE_SIZE, Prio3 } from "./prio3.js";

self.addEventListener("message", ({ data: { id, variant, parameters, ctx, measurement, nonce, rand } }) => {
  try {
    const prio3 = new Prio3(variant, parameters);
    nonce ??= crypto.getRandomValues(new Uint8Array(NONCE_SIZE));
    rand ??= crypto.getRandomValues(new Uint8Array(prio3.randSize));
    self.postMessage({ id, report: { nonce, ...prio3.shard(ctx, measurement, nonce, rand) } });
  } catch (error) {
    self.postMessage({ id, problem: error.message });
  }
});
