/**
 * What stands first, for every reader: not one section alone, and not without what is new. The twin of
 * `edge/reader/first_page.py`, which has the rule.
 */

/**
 * `places`: how many places it is about, 0 for no limit; `maxOfSection`: the most of them that one section has; `minNew`: the
 * fewest of them that are new; `newShare`: the part of the list, the latest published, that is new.
 */
export const FIRST_PAGE = Object.freeze({ places: 12, maxOfSection: 4, minNew: 4, newShare: 0.1 });

/** The limits with some of them changed. */
export function firstPage(changes = {}) {
  const rule = { ...FIRST_PAGE, ...changes }, { places, maxOfSection, minNew, newShare } = rule;
  const areCounts = Number.isInteger(places) && places >= 0 && Number.isInteger(maxOfSection) && maxOfSection >= 1 && Number.isInteger(minNew) && minNew >= 0;
  if (!areCounts || !(newShare >= 0 && newShare <= 1)) throw new RangeError("a first page has counts from 0 (of a section from 1), and a share of new articles up to 1");
  return rule;
}

/** The same places in `order`, with those first that the limits allow. `candidates` have {category, published}. */
export function arranged(order, candidates, { places: wanted, maxOfSection, minNew, newShare }) {
  const places = Math.min(wanted, order.length), sectionOf = (article) => (candidates[article].category ?? "").replaceAll("_", " ").toLowerCase();
  const fresh = newest(order, candidates, newShare), unseen = new Map(), free = new Map();
  for (const article of order) free.set(sectionOf(article), sectionOf(article) ? maxOfSection : places);
  for (const article of fresh) unseen.set(sectionOf(article), (unseen.get(sectionOf(article)) ?? 0) + 1);
  const possible = [...unseen].reduce((sum, [section, count]) => sum + Math.min(free.get(section), count), 0);
  let missing = Math.min(minNew, places, possible), spare = possible - missing;
  const chosen = new Set();
  for (const article of order) {
    const section = sectionOf(article), left = places - chosen.size, slots = free.get(section);
    if (!left) break;
    if (!slots) continue;
    if (fresh.has(article)) {
      unseen.set(section, unseen.get(section) - 1);
      missing = Math.max(0, missing - 1);
    } else if (left <= missing) continue;
    else if (missing && slots <= (unseen.get(section) ?? 0)) { // it takes a place that a new one of its section could have
      if (!spare) continue;
      spare--;
    }
    free.set(section, slots - 1);
    chosen.add(article);
  }
  const rest = order.filter((article) => !chosen.has(article));
  for (const article of rest.slice(0, places - chosen.size)) chosen.add(article);
  return [...order.filter((article) => chosen.has(article)), ...rest.filter((article) => !chosen.has(article))];
}

/** The latest; of those that came at the same time, the better ones. */
function newest(order, candidates, share) {
  const dated = order.filter((article) => Number.isFinite(candidates[article].published));
  dated.sort((a, b) => candidates[b].published - candidates[a].published);
  return new Set(dated.slice(0, Math.ceil(share * order.length - 1e-9)));
}
