/* Ranks what ranking_vectors.json has, in node or in a page; says which orders or scores are others. */

const bytesOf = (text) => Int8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export function wrongRankings(vectors, { personalScores }, { bestFirst }) {
  return vectors.filter((vector) => !isSame(vector, personalScores, bestFirst)).map(({ name }) => name);
}

function isSame({ articles, history, read, order, scores, ...terms }, personalScores, bestFirst) {
  const candidates = articles.map(([id, category, section, base, vector]) => ({ id, category, section, base, vector: bytesOf(vector) }));
  const own = personalScores(candidates, history.map(([category, section, vector]) => ({ category, section, vector: bytesOf(vector) })), terms);
  const found = Float64Array.from(candidates, ({ base }, place) => base + own[place]);
  const places = [...bestFirst(found)].filter((place) => !read.includes(candidates[place].id));
  const alike = (place, rank) => candidates[place].id === order[rank] && Math.abs(found[place] - scores[rank]) <= 1e-12 * Math.max(1, Math.abs(scores[rank]));
  return places.length === order.length && places.every(alike);
}

if (globalThis.process?.argv[2]) {
  const { readFileSync } = await import("node:fs");
  const [file, device] = process.argv.slice(2);
  const found = await Promise.all(["personal.js", "ranking.js"].map((name) => import(`${device}/${name}`)));
  console.log(JSON.stringify(wrongRankings(JSON.parse(readFileSync(file, "utf-8")), ...found)));
}
