/**
 * Experiments: the device draws its arm by a secret of its own. The publisher does not choose it, and never learns it but in
 * sums: all that a device fetches is the same in every arm. The twin of `edge/reader/views.py`.
 */

import { hmac } from "./sums/hmac.js";

export const VIEW = 20;
export const NO_ARM = { name: "everybody", popularity: 1, content: 1 };
const VIEW_SECONDS = 8 * 86_400, WITHIN_BASE = new Set(["recency", "popularity"]);

/** The arm of the device with this secret, under these terms. */
export function drawnArm(secret, { experiment }) {
  if (!experiment) return NO_ARM;
  const { id, arms } = experiment;
  const drawn = parseInt(hmac(secret, new TextEncoder().encode(`arm of ${id}`)).slice(0, 8), 16);
  const arm = arms[Math.floor((drawn * arms.length) / 2 ** 32)];
  return { ...arm, name: `${id}/${arm.name}` };
}

/** The terms with which a device of an arm ranks. */
export function termsInArm(model, { content }) {
  if (content === 1) return model;
  const weights = Object.entries(model.weights).map(([name, weight]) => [name, WITHIN_BASE.has(name) ? weight : content * weight]);
  return { ...model, weights: Object.fromEntries(weights) };
}

/**
 * Remember what is shown, its first articles, with the features of each. Shown again unchanged it is the same view; old views
 * are forgotten.
 */
export function rememberView(storage, time, arm, ids, rows = []) {
  const articles = ids.slice(0, VIEW), features = rows.slice(0, VIEW);
  return storage.transaction(["views"], "readwrite", async ({ views }) => {
    const all = await views.all(), latest = all.at(-1);
    for (const view of all) if (view.time < time - VIEW_SECONDS) await views.delete(view.number);
    const isSame = latest?.arm === arm && JSON.stringify(latest.articles) === JSON.stringify(articles);
    if (!isSame) await views.add({ time, arm, articles, features });
  });
}
