/**
 * What the reader's own history adds to an article's score: the twin of `edge/reader/personal_scores.py`, which has the
 * formula. Vectors are whole numbers times a public scale, so that products are exact and both devices rank the same.
 */

import { nearestProducts } from "./nearest.js";

const PRIOR_CLICKS = 5, SECTION_PRIOR = 1, MAX_NEAREST = 32, LEAST_SHARE = 1e-9;

/**
 * The part of each candidate's score that the history makes; 0 without one.
 *
 * `candidates` have {vector, category, section}, and so has `history`, the oldest click first; a vector of another length than the
 * terms' is not known.
 */
export function personalScores(candidates, history, terms) {
  const own = interests(candidates, history, terms), { weights } = terms;
  addHead(own, candidates, history, terms);
  const features = historyFeatures(candidates, history, terms);
  [weights.mean, weights.nearest, weights.category, weights.subcategory ?? 0].forEach((weight, i) => {
    if (weight) features[i].forEach((value, place) => (own[place] += weight * value));
  });
  return own;
}

/** Four columns: mean, nearest, category, subcategory; a feature that has no weight is 0. */
export function historyFeatures(candidates, history, terms) {
  const { weights, vectors: { dimension, scale, unit } } = terms, text = textDimension(terms);
  const columns = Array.from({ length: 4 }, () => new Float64Array(candidates.length));
  const known = knownVectors(history, dimension).map((vector) => vector.subarray(0, text));
  const vectors = vectorsOf(candidates, dimension).map((vector) => vector && vector.subarray(0, text));
  if (known.length) {
    const total = totalOf(known, text), length = Math.sqrt(product(total, total));
    if (weights.mean && length > 0) vectors.forEach((vector, place) => (columns[0][place] = (scale * product(vector, total)) / length / unit));
    if (weights.nearest) {
      const near = nearestProducts(vectors, known.slice(-MAX_NEAREST), text);
      near.forEach((value, place) => (columns[1][place] = (scale * scale * value) / unit));
    }
  }
  if (history.length && weights.category) {
    const taste = tastes(history.map(({ category }) => category), terms);
    candidates.forEach(({ category }, place) => (columns[2][place] = taste.get(category) ?? taste.get(null)));
  }
  if (history.length && weights.subcategory && terms.sections?.length) {
    const taste = sectionTastes(history, terms);
    candidates.forEach(({ category, section }, place) => (columns[3][place] = taste.get(category)?.get(section) ?? 0));
  }
  return columns;
}

/** Of each candidate what each direction of the head adds, before its weight; 0 where the head has none. */
export function headFeatures(candidates, history, terms) {
  const { weights, vectors: { dimension, scale, head = [] } } = terms, text = textDimension(terms);
  const known = knownVectors(history, dimension);
  if (!weights.head || !known.length) return candidates.map(() => new Float64Array(head.length));
  const total = totalOf(known.map((vector) => vector.subarray(text)), head.length);
  return vectorsOf(candidates, dimension).map((vector) => total.map((sum, i) => ((scale * sum) / known.length) * (scale * (vector?.[text + i] ?? 0))));
}

function interests(candidates, history, terms) {
  const { weights, vectors: { dimension, scale, centre, negative = 0 } } = terms, text = textDimension(terms);
  const own = new Float64Array(candidates.length), known = knownVectors(history, dimension);
  if (!weights.interest || !known.length) return own;
  const total = totalOf(known, text);
  const interest = total.map((sum, i) => (i < text - negative ? 1 : -1) * ((scale * sum) / known.length - centre[i]));
  vectorsOf(candidates, dimension).forEach((vector, place) => (own[place] = weights.interest * scale * product(vector, interest)));
  return own;
}

/** The head: its coordinates are the last of a vector, and the terms say what each of them counts. */
function addHead(own, candidates, history, terms) {
  const { weights, vectors: { dimension, scale, head = [] } } = terms, text = textDimension(terms);
  const known = knownVectors(history, dimension);
  if (!weights.head || !head.length || !known.length) return;
  const total = totalOf(known.map((vector) => vector.subarray(text)), head.length);
  const wanted = total.map((sum, i) => head[i] * ((scale * sum) / known.length));
  vectorsOf(candidates, dimension).forEach((vector, place) => {
    if (vector) own[place] += weights.head * scale * product(vector.subarray(text), wanted);
  });
}

/** How many coordinates of a vector are not the head's. */
function textDimension({ vectors: { dimension, head = [] } }) {
  return dimension - head.length;
}

function knownVectors(history, dimension) {
  return history.map(({ vector }) => vector).filter((vector) => vector?.length === dimension);
}

function vectorsOf(candidates, dimension) {
  return candidates.map(({ vector }) => (vector?.length === dimension ? vector : null));
}

function totalOf(known, dimension) {
  const total = new Float64Array(dimension);
  for (const vector of known) for (let i = 0; i < dimension; i++) total[i] += vector[i];
  return total;
}

function product(vector, other) {
  let sum = 0;
  if (vector) for (let i = 0; i < other.length; i++) sum += vector[i] * other[i];
  return sum;
}

/** ln taste of each public category; those that are not public count as one, under null. */
function tastes(read, { categories }) {
  const shares = new Map(categories.map(({ name, share }) => [name, share]));
  const rest = 1 - [...shares.values()].reduce((sum, share) => sum + share, 0);
  const clicks = new Map();
  for (const name of read) {
    const counted = shares.has(name) ? name : null;
    clicks.set(counted, (clicks.get(counted) ?? 0) + 1);
  }
  shares.set(null, Math.max(LEAST_SHARE, rest));
  const taste = (name, share) => Math.log(((clicks.get(name) ?? 0) + PRIOR_CLICKS * share) / (read.length + PRIOR_CLICKS) / share);
  return new Map([...shares].map(([name, share]) => [name, taste(name, share)]));
}

/** By category, ln taste of each public section, among what was read of the public sections of its category. */
function sectionTastes(history, { sections }) {
  const found = new Map();
  for (const { category, name, share } of sections) {
    if (!found.has(category)) found.set(category, new Map());
    found.get(category).set(name, { share, clicks: 0 });
  }
  for (const { category, section } of history) {
    const read = found.get(category)?.get(section);
    if (read) read.clicks++;
  }
  return new Map([...found].map(([category, named]) => [category, tastesWithin(named)]));
}

function tastesWithin(named) {
  const total = [...named.values()].reduce((sum, { clicks }) => sum + clicks, 0);
  return new Map([...named].map(([name, { share, clicks }]) => [name, Math.log((clicks + SECTION_PRIOR * share) / (total + SECTION_PRIOR) / share)]));
}
