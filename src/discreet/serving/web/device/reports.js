/** Reports that wait to be sent: kept until the server took them, or refused them for good. */

import { LIMITS } from "./check.js";
import { reason } from "./connection.js";

export async function sendReports(storage, server) {
  const waiting = await storage.transaction(["reports"], "readwrite", async ({ reports }) => {
    const all = await reports.all();
    for (const { number } of all.slice(0, -LIMITS.max_reports)) await reports.delete(number);
    return all.slice(-LIMITS.max_reports);
  });
  for (const { number, body } of waiting) {
    const reply = await server.ask("POST", "/v1/reports", body);
    if (!reply) return;
    if (isOver(reply)) await storage.transaction(["reports"], "readwrite", ({ reports }) => reports.delete(number));
    else if (reply.status === 429 || reply.status >= 500) return;
  }
}

function isOver({ status, bytes }) {
  return status === 200 || status === 201 || ((status === 409 || status === 422) && reason(bytes) !== null);
}
