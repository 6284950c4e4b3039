/** Sharding in a worker, so that the page never waits for it. */

/**
 * A worker that makes reports. `shard` takes { variant, parameters, ctx, measurement } and promises
 * { nonce, publicShare, inputShares }; nonce and randomness are fresh unless they are given.
 */
export function openSharder() {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const waiting = new Map();
  let last = 0, over = null;
  const end = (reason) => {
    over = new Error(reason);
    worker.terminate();
    for (const { reject } of waiting.values()) reject(over);
    waiting.clear();
  };
  worker.addEventListener("error", () => end("the worker that makes reports failed"));
  worker.addEventListener("message", ({ data: { id, report, problem } }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (report) resolve(report);
    else reject(new RangeError(problem));
  });
  return {
    shard(request) {
      if (over) return Promise.reject(over);
      return new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        worker.postMessage({ id: last, ...request });
      });
    },
    close: () => end("the worker that makes reports was closed"),
  };
}
