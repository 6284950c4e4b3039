/** The publisher's terms: which of them a device accepts, and what they fix for its life. */

import { LIMITS, NotAsAgreed, read } from "./check.js";
import { exactSum } from "./exact.js";

const WORDS = {
  "model.schedule.length_seconds": "an epoch must last a day at least, or each report would show what was read when",
  "model.epsilon": `an ε above ${LIMITS.max_epsilon} protects nothing`,
  "model.topics": "it needs topics that many articles share",
  "model.api": "it speaks another language than this page; one of them must be renewed",
};

/** The terms in an answer of /v1/model. What would make the promise empty is refused, with a reason for the reader. */
export function readTerms(bytes, now) {
  const model = understood(bytes);
  const { sketch, label, lifetime } = model.epsilon;
  if ([sketch, label, lifetime].some((epsilon) => epsilon > 0 && epsilon < LIMITS.min_epsilon)) {
    refuse(`an ε below ${LIMITS.min_epsilon} is noise alone`);
  }
  if (exactSum([sketch, label]) > lifetime) refuse("a sketch and a label cost more than the lifetime ε that it promises");
  if (!(startOf(model) <= now)) refuse("its schedule has not begun");
  if (model.vectors.centre.length !== model.vectors.dimension) refuse("its vectors do not fit together");
  if ((model.vectors.head?.length ?? 0) >= model.vectors.dimension) refuse("its head is as long as its vectors");
  return model;
}

function understood(bytes) {
  try {
    return read("model", bytes);
  } catch (error) {
    const words = Object.keys(WORDS).find((path) => error.path?.startsWith(path));
    throw words ? new NotAsAgreed(`the publisher's terms are refused: ${WORDS[words]}`) : error;
  }
}

/** What a ledger that begins with these terms holds for life. */
export function promiseOf(model) {
  const { epsilon, adjacency, schedule } = model;
  return { lifetime: epsilon.lifetime, adjacency, start: startOf(model), length: schedule.length_seconds };
}

/** Why nothing may be released under these terms, or null if it may. */
export function conflict(header, model) {
  const promise = promiseOf(model);
  const changed = [];
  if (promise.start !== header.start || promise.length !== header.length) changed.push("schedule");
  if (promise.adjacency !== header.adjacency) changed.push("adjacency");
  if (promise.lifetime !== header.lifetime) changed.push("lifetime ε");
  return changed.length ? `the publisher changed its ${changed.join(" and ")}, which was to hold for life` : null;
}

/** Seconds since 1970; NaN for a day that no calendar has. */
function startOf({ schedule: { start } }) {
  const time = Date.parse(start);
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(start.slice(0, 19)) ? time / 1000 : NaN;
}

function refuse(why) {
  throw new NotAsAgreed(`the publisher's terms are refused: ${why}`);
}
