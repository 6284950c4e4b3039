/* Ranks what ranking_vectors.json has, in node or in a page; says which orders or scores are others. */

const bytesOf = (text) => Int8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export function wrongRankings(vectors, { personalScores }, { bestFirst }, { shownFeatures }, { arranged }) {
  return vectors.filter((vector) => !isSame(vector, personalScores, bestFirst, shownFeatures, arranged)).map(({ name }) => name);
}

function isSame({ articles, history, read, order, scores, features, first_page: limits, ...terms }, personalScores, bestFirst, shownFeatures, arranged) {
  const candidates = articles.map(([id, category, section, base, vector, popularity, published]) => ({ id, category, section, base, vector: bytesOf(vector), popularity, published }));
  const clicks = history.map(([category, section, vector]) => ({ category, section, vector: bytesOf(vector) }));
  const own = personalScores(candidates, clicks, terms);
  const near = (one, other) => Math.abs(one - other) <= 1e-12 * Math.max(1, Math.abs(other));
  if (!shownFeatures(candidates.slice(0, 20), clicks, terms).every((row, i) => row.length === features[i].length && row.every((value, j) => near(value, features[i][j])))) return false;
  const found = Float64Array.from(candidates, ({ base }, place) => base + own[place]);
  const unread = [...bestFirst(found)].filter((place) => !read.includes(candidates[place].id));
  const places = arranged(unread, candidates, { places: limits.places, maxOfSection: limits.max_of_section, minNew: limits.min_new, newShare: limits.new_share });
  const alike = (place, rank) => candidates[place].id === order[rank] && near(found[place], scores[rank]);
  return places.length === order.length && places.every(alike);
}

if (globalThis.process?.argv[2]) {
  const { readFileSync } = await import("node:fs");
  const [file, device] = process.argv.slice(2);
  const found = await Promise.all(["personal.js", "ranking.js", "features.js", "first_page.js"].map((name) => import(`${device}/${name}`)));
  console.log(JSON.stringify(wrongRankings(JSON.parse(readFileSync(file, "utf-8")), ...found)));
}
