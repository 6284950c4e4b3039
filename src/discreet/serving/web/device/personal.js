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
  const own = new Float64Array(candidates.length);
  if (!history.length) return own;
  const { dimension } = terms.vectors;
  const known = history.map(({ vector }) => vector).filter((vector) => vector?.length === dimension);
  if (known.length) addSimilarities(own, candidates, known, terms);
  const { category: weight } = terms.weights;
  if (weight) {
    const taste = tastes(history.map(({ category }) => category), terms);
    candidates.forEach(({ category }, place) => (own[place] += weight * (taste.get(category) ?? taste.get(null))));
  }
  const { subcategory: within } = terms.weights;
  if (within && terms.sections?.length) {
    const taste = sectionTastes(history, terms);
    candidates.forEach(({ category, section }, place) => (own[place] += within * (taste.get(category)?.get(section) ?? 0)));
  }
  return own;
}

function addSimilarities(own, candidates, known, { weights, vectors: { dimension, scale, unit, centre, negative = 0 } }) {
  const vectors = candidates.map(({ vector }) => (vector.length === dimension ? vector : null));
  const total = new Float64Array(dimension);
  for (const vector of known) for (let i = 0; i < dimension; i++) total[i] += vector[i];
  if (weights.interest) {
    const interest = total.map((sum, i) => (i < dimension - negative ? 1 : -1) * ((scale * sum) / known.length - centre[i]));
    vectors.forEach((vector, place) => (own[place] += weights.interest * scale * product(vector, interest)));
  }
  const length = Math.sqrt(product(total, total));
  if (weights.mean && length > 0) {
    vectors.forEach((vector, place) => (own[place] += (weights.mean * ((scale * product(vector, total)) / length)) / unit));
  }
  if (weights.nearest) {
    const near = nearestProducts(vectors, known.slice(-MAX_NEAREST), dimension);
    near.forEach((value, place) => (own[place] += (weights.nearest * (scale * scale * value)) / unit));
  }
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
