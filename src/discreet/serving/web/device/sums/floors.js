/** How little a promise may be: what this device asks of a task before it contributes to it. */

import { LIMITS } from "../check.js";
import { MEASURES } from "./measures.js";
import { DAY } from "./task.js";

const HERE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Why the device does not contribute to a task, in words for the reader; null if it does. `helpers` are those it trusts. */
export function refusal(task, helpers) {
  if (!task.purpose) return "it does not say what it is for";
  if (!Object.hasOwn(MEASURES, task.measure)) return "this device does not know how to measure it";
  if (MEASURES[task.measure].needsCells !== (task.cells !== "")) return "it does not say what its values stand for";
  if (task.length > LIMITS.max_task_length) return `it has ${task.length} values; this device sends ${LIMITS.max_task_length} at most`;
  if (task.window_seconds < LIMITS.min_window_seconds) return `its windows last ${task.window_seconds} seconds; this device wants ${LIMITS.min_window_seconds}`;
  if (DAY % task.window_seconds || task.start % task.window_seconds) return "its windows do not lie within a day (UTC)";
  if (task.send_seconds < LIMITS.min_send_seconds) return `it leaves too little time to send; this device wants ${LIMITS.min_send_seconds} seconds`;
  const most = task.per === "window" ? LIMITS.max_window_epsilon : LIMITS.max_day_epsilon;
  if (task.epsilon > most) return `it costs ε = ${task.epsilon} a ${task.per}; this device allows ${most}`;
  if (task.delta > LIMITS.max_task_delta) return `its δ is ${task.delta}; this device allows ${LIMITS.max_task_delta}`;
  if (!helpers.some((helper) => bare(helper) === bare(task.helper))) return "its second aggregator is not one that this device trusts";
  const [leader, helper] = [task.leader, task.helper].map(addressOf);
  if (!leader || !helper) return "an aggregator's address is not https";
  if (leader.origin === helper.origin) return "both of its aggregators have one address";
  return null;
}

/** Whether both aggregators are on this machine, as in a trial: then nobody is protected from who runs it. */
export function isOneParty({ leader, helper }) {
  return HERE.has(new URL(leader).hostname) && HERE.has(new URL(helper).hostname);
}

function bare(address) {
  return address.replace(/\/+$/, "");
}

function addressOf(text) {
  try {
    const address = new URL(text);
    return address.protocol === "https:" || (address.protocol === "http:" && HERE.has(address.hostname)) ? address : null;
  } catch {
    return null;
  }
}
