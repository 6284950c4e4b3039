/**
 * What a device can measure of its own clicks: `values(task, {clicked, views, places}, left)` makes a vector within what is
 * left of the task's total. `clicked` are the cells clicked in a window, each once and in order (−1 for what has none),
 * `views` what was shown (quality.js), `places` where each cell is.
 */

import { rankingQuality } from "./quality.js";
import { nothing } from "./task.js";
import { weightsPull } from "./weights.js";

function clicksByCell(task, { clicked }, left) {
  const values = nothing(task);
  const inside = clicked.filter((cell) => cell >= 0 && cell < task.length);
  if (task.kind === "histogram") {
    if (inside.length) values[0] = 0, (values[inside[0]] = 1);
    return values;
  }
  const counted = inside.slice(0, left);
  for (const cell of counted) values[cell] = Math.min(task.max_value, Math.floor(left / counted.length));
  return values;
}

function clicksInAll(task, { clicked }, left) {
  const values = nothing(task);
  values[0] = Math.min(clicked.length, task.max_value, left);
  return values;
}

function quality(task, observed, left) {
  return task.kind === "sumvec" ? rankingQuality(task, observed, left) : nothing(task);
}

export const MEASURES = {
  "clicks by cell": { needsCells: true, values: clicksByCell },
  clicks: { needsCells: false, values: clicksInAll },
  "ranking quality": { needsCells: true, values: quality },
  "weights of features": { needsCells: true, values: weightsPull },
};
