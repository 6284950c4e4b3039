/** The worker behind sharding.js: makes the reports that it is asked for, away from the page. */
import { makeReport } from "./reports.js";

self.addEventListener("message", ({ data: { id, ...request } }) => {
  try {
    self.postMessage({ id, report: makeReport(request) });
  } catch (error) {
    self.postMessage({ id, problem: error.message });
  }
});
