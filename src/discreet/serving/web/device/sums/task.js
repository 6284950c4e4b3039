/** A task: the public terms of a sum over readers, as `aggregation/task.py` has it. Its id is a digest of the terms. */

import { NotAsAgreed } from "../check.js";
import { sha256 } from "../sha256.js";

export const DAY = 86_400;
const ONE_VALUE = new Set(["count", "sum"]), ZEROS_AND_ONES = new Set(["count", "histogram", "multihot"]);
const VECTORS = new Set(["sumvec", "signedvec"]);

/** Terms that the schema let pass, if they add up; with their id, in hexadecimal digits. */
export function readTask(terms) {
  const task = Object.fromEntries(Object.entries(terms).sort(([a], [b]) => (a < b ? -1 : 1)));
  const { kind, length, max_value: largest, max_total: total, noise, epsilon, delta } = task;
  const gaussian = noise === "discrete_gaussian";
  require(!ONE_VALUE.has(kind) || length === 1, "length");
  require(!ZEROS_AND_ONES.has(kind) || largest === 1, "max_value");
  require(total <= length * largest && (kind !== "histogram" || total === 1) && (kind !== "sum" || total === largest), "max_total");
  require(task.send_seconds <= task.window_seconds, "send_seconds");
  require(!gaussian || epsilon >= 0.001, "epsilon");
  require(gaussian ? delta >= 1e-12 : delta === 0, "delta");
  require(gaussian || total / epsilon <= 2 ** 50, "epsilon");
  if (task.per === "day") {
    require(kind !== "histogram", "per");
    require(task.start % DAY === 0, "start");
    require(DAY % task.window_seconds === 0, "window_seconds");
  }
  return { ...task, id: sha256(termsOf(task)) };
}

/** The terms in canonical JSON (RFC 8785), as bytes. */
export function termsOf({ id, ...terms }) {
  const fields = Object.keys(terms).sort().map((name) => `${JSON.stringify(name)}:${JSON.stringify(terms[name])}`);
  return new TextEncoder().encode(`{${fields.join(",")}}`);
}

export function windowAt(task, seconds) {
  return Math.floor((Math.floor(seconds) - task.start) / task.window_seconds);
}

/** When a window begins, in seconds since 1970. */
export function begins(task, window) {
  return task.start + window * task.window_seconds;
}

/** When the last contribution of a window has been sent. */
export function sentUntil(task, window) {
  return begins(task, window + 1) + task.send_seconds;
}

/** What is paid for a window is paid once for all windows with this number. */
export function periodOf(task, window) {
  return task.per === "window" ? window : Math.floor((window * task.window_seconds) / DAY);
}

/** What a reader contributes who has nothing to say. */
export function nothing(task) {
  const values = new Array(task.length).fill(0);
  if (task.kind === "histogram") values[0] = 1;
  return values;
}

/** Whether values are within the task's bounds. */
export function isWithin(task, values) {
  const total = sizeOf(values), least = minValue(task);
  const whole = values.length === task.length && values.every((value) => Number.isInteger(value) && value >= least && value <= task.max_value);
  return whole && total <= task.max_total && (task.kind !== "histogram" || total === 1);
}

/** How much of the task's total values take. */
export function sizeOf(values) {
  return values.reduce((sum, value) => sum + Math.abs(value), 0);
}

function minValue({ kind, max_value: largest }) {
  return kind === "signedvec" ? -largest : 0;
}

/** The variant of Prio3 and its parameters, as `prio3/prio3.js` takes them. */
export function prio3Of(task) {
  const { kind, length, max_total: total } = task, largest = task.max_value - minValue(task);
  const chunked = (checked, parameters) => ({ length, ...parameters, chunk_length: bestChunkLength(checked) });
  if (kind === "count") return { variant: "Prio3Count", parameters: {} };
  if (kind === "sum") return { variant: "Prio3Sum", parameters: { max_measurement: largest } };
  if (VECTORS.has(kind)) return { variant: "Prio3SumVec", parameters: chunked(length * bits(largest), { max_measurement: largest }) };
  if (kind === "histogram") return { variant: "Prio3Histogram", parameters: chunked(length, {}) };
  return { variant: "Prio3MultihotCountVec", parameters: chunked(length + bits(total), { max_weight: total }) };
}

/** Values as that variant takes them. */
export function measurementOf(task, values) {
  if (ONE_VALUE.has(task.kind)) return values[0];
  return task.kind === "histogram" ? values.indexOf(1) : values.map((value) => value - minValue(task));
}

function bestChunkLength(checked) {
  let best = null, least = Infinity;
  for (let power = bits(checked); power >= 1; power--) {
    const chunk = Math.ceil(checked / (2 ** power - 1));
    const size = chunk + 2 ** Math.ceil(Math.log2(1 + Math.ceil(checked / chunk)));
    if (size < least) [best, least] = [chunk, size];
  }
  return best;
}

function bits(number) {
  return 32 - Math.clz32(number);
}

function require(holds, field) {
  if (!holds) throw new NotAsAgreed(`a task's terms do not add up: ${field}`);
}
