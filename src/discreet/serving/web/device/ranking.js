/** The order of scores, and its diversity for a reader of whom nothing is known. What scores are made of: personal.js. */

const AMONG = 500, CHOSEN = 100;

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function toBase64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** The places of the scores, the best first; equals in the order in which they came. */
export function bestFirst(scores) {
  return Uint32Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b);
}

/**
 * For a reader of whom nothing is known: of the best 500 places, 100 are chosen one after the other, each time the one
 * with the largest score − d · s · n, where s is the deviation of these scores and n how many of its category were
 * chosen before. The others follow as they were.
 */
export function diversified(places, scores, categories, diversity) {
  const among = places.subarray(0, AMONG);
  const mean = among.reduce((sum, place) => sum + scores[place] / among.length, 0);
  const deviation = Math.sqrt(among.reduce((sum, place) => sum + (scores[place] - mean) ** 2 / among.length, 0));
  const step = diversity * deviation;
  if (!(step > 0)) return places;
  const lines = new Map();
  for (const place of among) {
    if (!lines.has(categories[place])) lines.set(categories[place], { places: [], next: 0 });
    lines.get(categories[place]).places.push(place);
  }
  const chosen = [];
  while (chosen.length < Math.min(CHOSEN, among.length)) chosen.push(takeBest(lines, scores, step));
  const taken = new Set(chosen);
  return Uint32Array.from([...chosen, ...places.filter((place) => !taken.has(place))]);
}

/** Within a category the best comes first, so only the heads of the lines are compared. */
function takeBest(lines, scores, step) {
  let best = null;
  for (const line of lines.values()) {
    const place = line.places[line.next];
    if (place === undefined) continue;
    const value = scores[place] - step * line.next;
    const isBetter = !best || value > best.value || (value === best.value && (scores[place] > scores[best.place] || (scores[place] === scores[best.place] && place < best.place)));
    if (isBetter) best = { line, place, value };
  }
  best.line.next++;
  return best.place;
}
