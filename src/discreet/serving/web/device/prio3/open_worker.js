/** The worker that makes reports, from a file of its own. In the bundle, where there is no such file, it is inline. */
export function openWorker() {
  return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
}
