/** Sharding in a worker, so that the page never waits for it; in the page itself where its policy forbids workers. */

import { openWorker } from "./open_worker.js";
import { makeReport } from "./reports.js";

/**
 * Makes reports. `shard` takes { variant, parameters, ctx, measurement } and promises { nonce, publicShare, inputShares };
 * nonce and randomness are fresh unless they are given.
 */
export function openSharder() {
  const waiting = new Map();
  let worker = null, last = 0, isClosed = false;
  try {
    worker = openWorker();
    worker.addEventListener("message", ({ data: { id, report, problem } }) => answer(id, report, problem));
    worker.addEventListener("error", goOnHere);
  } catch {
    worker = null;
  }

  function answer(id, report, problem) {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (report) resolve(report);
    else reject(new RangeError(problem));
  }

  function makeHere(id, request) {
    try {
      answer(id, makeReport(request));
    } catch (error) {
      answer(id, null, error.message);
    }
  }

  /** The worker could not be started, or failed. */
  function goOnHere() {
    worker?.terminate();
    worker = null;
    for (const [id, { request }] of [...waiting]) makeHere(id, request);
  }

  return {
    shard(request) {
      if (isClosed) return Promise.reject(new Error("what makes reports was closed"));
      return new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject, request });
        if (worker) worker.postMessage({ id: last, ...request });
        else makeHere(last, request);
      });
    },
    close() {
      isClosed = true;
      worker?.terminate();
      for (const { reject } of waiting.values()) reject(new Error("what makes reports was closed"));
      waiting.clear();
    },
  };
}
