/**
 * How a device's clicks pull the weights of its ranking, a day at a time, and what it would gain by others. The twin of
 * `edge/reader/sums/weight_pull.py`, which has the theorem.
 */

import { FEATURES } from "../features.js";
import { nothing } from "./task.js";

const UNITS = [1.2, 1.4, 0.8, 0.9, 0.9, 0.4], MAX_PULL = 4, MAX_HEAD_PULL = 4, TENTH = 0.1, SIZE = FEATURES.length;
const LENGTH = SIZE + 1, MAX_DIRECTIONS = 48;
const NUMBER = "(-?[0-9]{1,7}(?:[.][0-9]{1,25})?(?:e-?[0-9]{1,2})?)", CELL = new RegExp(`^([a-z]+) ${NUMBER} ${NUMBER}$`);
const HEAD_CELL = new RegExp(`^(head[0-9]{1,2}) ${NUMBER} ${NUMBER} ${NUMBER}$`);

/** The values of a day, from views {clicked, features}; zeros where nothing was clicked, or the cells are not those of weights. */
export function weightsPull(task, { views, places }, left) {
  const cells = [...places.keys()], told = readWeights(cells), unit = Math.floor(task.max_value / MAX_PULL), values = nothing(task);
  if (!told || task.kind !== "signedvec" || cells.length > task.length) return values;
  const width = told.units.length, total = MAX_PULL + (task.length > LENGTH ? MAX_HEAD_PULL : 0) + 1;
  const known = views.filter(({ clicked, features }) => clicked.length && features?.length === clicked.length && features.every((row) => row.length >= width));
  if (!known.length || unit <= 0 || total * unit > left) return values;
  const given = known.filter(({ clicked }) => clicked.includes(true)).map((view) => pullOf(view, told));
  const mean = cells.map((_, i) => given.reduce((sum, pull) => sum + pull[i], 0) / Math.max(given.length, 1));
  const clipped = [...inLength(mean.slice(0, SIZE), MAX_PULL), ...inLength(mean.slice(SIZE, -1), MAX_HEAD_PULL), Math.max(-1, Math.min(1, mean.at(-1)))];
  return values.map((zero, i) => (i < clipped.length ? Math.trunc(clipped[i] * (unit * (1 - 2 ** -40))) + 0 : zero));
}

/** A part of a pull, at most so long in L1. */
function inLength(part, most) {
  const length = part.reduce((sum, value) => sum + Math.abs(value), 0);
  return part.map((value) => value * (most / Math.max(length, most)));
}

/** What one view with a click pulls, and gains. */
function pullOf({ clicked, features }, { candidate, reference, units }) {
  const [scores, others] = [candidate, reference].map((weights) => features.map((row) => product(row, weights)));
  const best = scores.reduce((most, score) => Math.max(most, score), -Infinity), chances = scores.map((score) => Math.exp(score - best));
  const all = chances.reduce((sum, chance) => sum + chance, 0), clicks = clicked.filter(Boolean).length;
  const surprise = clicked.map((isClicked, j) => (isClicked ? 1 : 0) / clicks - chances[j] / all);
  const pull = units.map((unit, i) => features.reduce((sum, row, j) => sum + row[i] * surprise[j], 0) / unit);
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

/** What a window's list says of each weight: candidate, reference and unit; null if it is no such list. */
function readWeights(cells) {
  const directions = cells.length - LENGTH;
  if (directions < 0 || directions > MAX_DIRECTIONS || cells.at(-1) !== "gain") return null;
  const found = cells.slice(0, -1).map((cell, i) => cell.match(i < SIZE ? CELL : HEAD_CELL));
  if (!found.every((one, i) => one?.[1] === (i < SIZE ? FEATURES[i] : `head${i - SIZE}`))) return null;
  const [candidate, reference] = [2, 3].map((place) => found.map((one) => Number(one[place])));
  const units = found.map((one, i) => (i < SIZE ? UNITS[i] : Number(one[4])));
  return units.every((unit) => unit > 0) ? { candidate, reference, units } : null;
}

function product(row, weights) {
  return weights.reduce((sum, weight, i) => sum + weight * row[i], 0);
}
