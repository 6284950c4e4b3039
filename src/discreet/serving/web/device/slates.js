/**
 * Slates: lists that a server sent, under names that the device makes from all that they contain. What a server calls
 * them means nothing here: the same name always means the same articles, and a slate has one label for ever.
 */

import { LIMITS } from "./check.js";
import { toBase64 } from "./ranking.js";
import { labelMechanism } from "./releases.js";
import { SCHEMA } from "./schema.js";
import { sha256 } from "./sha256.js";

export function slateName({ model, slate, signature, articles }) {
  const content = JSON.stringify([SCHEMA.api, model, slate, signature, articles.map((article) => article.id)]);
  return sha256(new TextEncoder().encode(content)).slice(0, 32);
}

/** Keep a slate; its name if clicks may be bound to it, else null: it has too few articles that are known here, or was closed. */
export async function keepSlate(storage, answer, catalogue, epoch) {
  const ids = answer.articles.map((article) => article.id);
  const isWhole = new Set(ids).size === ids.length && ids.filter((id) => catalogue.get(id)).length >= LIMITS.min_slate_articles;
  if (!isWhole) return null;
  const name = slateName(answer);
  return storage.transaction(["slates", "spent", "meta"], "readwrite", async ({ slates, spent, meta }) => {
    if (await spent.get(name)) return null;
    if (!(await slates.get(name))) {
      await slates.put({ name, id: answer.slate, model: answer.model, signature: answer.signature, articles: ids, epoch });
    }
    await meta.put({ name: "latest slate", value: name });
    return name;
  });
}

/** The name of the slate that a click on an article is bound to: that slate, if it is still open and has the article. */
export async function bind(slates, name, article) {
  const slate = name === null ? null : await slates.get(name);
  return slate?.articles.includes(article) ? name : null;
}

/** The slates that another one followed, or whose epoch is over. */
export function finishedSlates(storage, epoch) {
  return storage.transaction(["slates", "meta"], "readonly", async ({ slates, meta }) => {
    const latest = (await meta.get("latest slate"))?.value;
    return (await slates.all()).filter((slate) => slate.name !== latest || slate.epoch !== epoch).map((slate) => slate.name);
  });
}

/**
 * Close a slate and, if it was clicked in and labels are made, put its label among the reports: all in one transaction.
 *
 * The label is of the clicks in the epoch of the first one, of which one is drawn at random, for the slate as the server
 * sent it. `epsilon` is what a label costs, or null where none are made.
 */
export function closeSlate(storage, ledger, name, epsilon, newId) {
  const names = ["slates", "spent", "clicks", "debits", "meta", "reports"];
  return storage.transaction(names, "readwrite", async (stores) => {
    const slate = await stores.slates.get(name);
    if (!slate) return;
    await stores.slates.delete(name);
    await stores.spent.put({ name });
    const clicks = (await stores.clicks.all()).filter((click) => click.slate === name);
    if (!clicks.length || epsilon === null) return;
    const epoch = Math.min(...clicks.map((click) => click.epoch));
    const places = clicks.filter((click) => click.epoch === epoch).map((click) => slate.articles.indexOf(click.article));
    const distinct = [...new Set(places)].sort((a, b) => a - b);
    const mechanism = labelMechanism(distinct, slate.articles.length, epsilon);
    const asked = { purpose: "label", epoch, part: name, mechanism, clicks: distinct.length };
    const payload = await ledger.release(stores, asked);
    if (!payload) return;
    const { id, articles, signature, model } = slate;
    const shown = { id, articles, signature };
    await stores.reports.add({ body: JSON.stringify({ id: newId(), kind: "label", model, slate: shown, release: toBase64(payload) }) });
  });
}
