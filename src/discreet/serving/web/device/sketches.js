/**
 * Sketches: of each finished epoch the noised topic counts of its sensitive clicks, made once. What is sent with the
 * counts (their space, and how many clicks there were, or that this is hidden) is kept with them and never changes.
 */

import { LIMITS } from "./check.js";
import { toBase64 } from "./ranking.js";
import { sketchMechanism } from "./releases.js";

/** Make the sketches that are due. `topicOf(click)` is public knowledge about an article. */
export async function makeSketches({ storage, ledger, terms, topicOf, newId }) {
  for (const epoch of await dueEpochs(storage, ledger)) {
    await storage.transaction(["clicks", "debits", "meta"], "readwrite", async (stores) => {
      const sensitive = (await stores.clicks.all()).filter((click) => click.epoch === epoch && !click.open);
      const hidden = ledger.header.adjacency === "add/remove";
      const clicks = hidden ? sensitive : sensitive.slice(-LIMITS.max_clicks);
      if (!clicks.length && !hidden) return;
      const mechanism = sketchMechanism(clicks.map(topicOf), terms.topics, terms.epsilon.sketch, hidden);
      const about = { space: terms.space, told: hidden ? null : clicks.length, pseudonym: newId(), reported: false };
      await ledger.release(stores, { purpose: "sketch", epoch, mechanism, clicks: clicks.length, about });
    });
  }
}

/** Finished epochs without a sketch: those with clicks, or where the number of clicks is hidden, all. */
async function dueEpochs(storage, ledger) {
  const [clicks, debits] = await storage.transaction(["clicks", "debits"], "readonly", async (stores) =>
    [await stores.clicks.all(), await stores.debits.all()]);
  const current = ledger.currentEpoch();
  const first = Math.max(ledger.firstEpoch(), current - LIMITS.max_sketches);
  const made = new Set(debits.filter((debit) => debit.purpose === "sketch").map((debit) => debit.epoch));
  const all = ledger.header.adjacency === "add/remove" ? range(first, current) : [...new Set(clicks.map((click) => click.epoch))];
  return all.filter((epoch) => epoch >= first && epoch < current && !made.has(epoch)).sort((a, b) => a - b);
}

/** The sketches of a space that may be sent, none above the reader's limit: the newest, as many as a server takes, the oldest of them first. */
export function sketchesToSend(debits, space, limit) {
  const made = debits.filter((debit) => debit.purpose === "sketch" && debit.payload && debit.space === space && debit.epsilon <= (limit ?? Infinity));
  const newest = made.sort((a, b) => b.epoch - a.epoch).slice(0, LIMITS.max_sketches);
  let clicks = 0;
  return newest.filter((sketch) => (clicks += sketch.told ?? 0) <= LIMITS.max_clicks_in_all).reverse();
}

/** Put the sketches that were made under these terms among the reports, each once. */
export function reportSketches(storage, terms, newId) {
  return storage.transaction(["debits", "reports"], "readwrite", async ({ debits, reports }) => {
    for (const debit of await debits.all()) {
      const { purpose, payload, epsilon, reported, space, epoch, pseudonym, told } = debit;
      if (purpose !== "sketch" || !payload || reported !== false || epsilon !== terms.epsilon.sketch) continue;
      const fields = { id: newId(), kind: "sketch", space, epoch, device: pseudonym, clicks: told };
      await reports.add({ body: JSON.stringify({ ...fields, release: toBase64(payload) }) });
      await debits.put({ ...debit, reported: true });
    }
  });
}

function range(first, end) {
  return Array.from({ length: Math.max(0, end - first) }, (_, place) => first + place);
}
