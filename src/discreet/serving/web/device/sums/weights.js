/**
 * How a device's clicks pull the weights of its ranking: six numbers a day, and one that says what it would gain. The twin of
 * `edge/reader/sums/weight_pull.py`, which has the theorem.
 */

import { FEATURES } from "../features.js";
import { nothing } from "./task.js";

const UNITS = [1.2, 1.4, 0.8, 0.9, 0.9, 0.4], MAX_PULL = 4, TENTH = 0.1;
const NUMBER = "(-?[0-9]{1,7}(?:[.][0-9]{1,25})?(?:e-?[0-9]{1,2})?)", CELL = new RegExp(`^([a-z]+) ${NUMBER} ${NUMBER}$`);

/** The values of a day, from views {clicked, features}; zeros where nothing was clicked, or the cells are not those of weights. */
export function weightsPull(task, { views, places }, left) {
  const weights = readWeights([...places.keys()]), unit = Math.floor(task.max_value / MAX_PULL);
  const known = views.filter(({ clicked, features }) => clicked.length && features?.length === clicked.length);
  const fits = task.kind === "signedvec" && task.length === FEATURES.length + 1 && unit > 0 && (MAX_PULL + 1) * unit <= left;
  if (!weights || !fits || !known.length) return nothing(task);
  const given = known.filter(({ clicked }) => clicked.includes(true)).map((view) => pullOf(view, weights));
  const mean = nothing(task).map((_, i) => given.reduce((sum, pull) => sum + pull[i], 0) / Math.max(given.length, 1));
  const length = mean.slice(0, -1).reduce((sum, value) => sum + Math.abs(value), 0);
  const clipped = mean.map((value, i) => (i < FEATURES.length ? value * (MAX_PULL / Math.max(length, MAX_PULL)) : Math.max(-1, Math.min(1, value))));
  return clipped.map((value) => Math.trunc(value * (unit * (1 - 2 ** -40))) + 0);
}

/** What one view with a click pulls, and gains. */
function pullOf({ clicked, features }, { candidate, reference }) {
  const [scores, others] = [candidate, reference].map((weights) => features.map((row) => product(row, weights)));
  const best = scores.reduce((most, score) => Math.max(most, score), -Infinity), chances = scores.map((score) => Math.exp(score - best));
  const all = chances.reduce((sum, chance) => sum + chance, 0), clicks = clicked.filter(Boolean).length;
  const surprise = clicked.map((isClicked, j) => (isClicked ? 1 : 0) / clicks - chances[j] / all);
  const pull = UNITS.map((unit, i) => features.reduce((sum, row, j) => sum + row[i] * surprise[j], 0) / unit);
  const gain = clicks < clicked.length ? auc(scores, clicked) - auc(others, clicked) : 0;
  return [...pull, gain / TENTH];
}

/** The share of pairs of a clicked and another article in the right order; a tie counts half. */
function auc(scores, clicked) {
  let won = 0, pairs = 0;
  scores.forEach((mine, i) => {
    if (!clicked[i]) return;
    scores.forEach((other, j) => {
      if (clicked[j]) return;
      pairs++;
      won += mine > other ? 1 : mine === other ? 0.5 : 0;
    });
  });
  return won / pairs;
}

/** The candidate and the reference of a window's list; null if it is no such list. */
function readWeights(cells) {
  const found = cells.slice(0, -1).map((cell) => cell.match(CELL));
  const isList = cells.length === FEATURES.length + 1 && cells.at(-1) === "gain" && found.every((one, i) => one?.[1] === FEATURES[i]);
  return isList ? { candidate: found.map((one) => Number(one[2])), reference: found.map((one) => Number(one[3])) } : null;
}

function product(row, weights) {
  return row.reduce((sum, value, i) => sum + value * weights[i], 0);
}
