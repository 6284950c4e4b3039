/** Taking part in sums, in plain sentences for the reader. */

import { shownEpsilon } from "../statement.js";
import { isOneParty } from "./floors.js";

/** What is contributed, to whom, and what it has cost: [string], from the state of `taking_part.js`. */
export function sumsSentences({ isStopped, problem, refused, obstacle, tasks, contributions, counted, today, life, delta, maxDay, maxLife, debits }) {
  const lines = [];
  if (isStopped) lines.push("You stopped this. Nothing is contributed from here until you start it again.");
  else if (obstacle) lines.push(`Nothing is contributed from here now: ${obstacle}.`);
  else if (!tasks.length) lines.push("The publisher asks for no contribution that this device would make.");
  else lines.push(...new Set(tasks.flatMap(taskSentences)));
  const left = contributions.length, read = counted.length;
  const none = life ? "What left this device before was forgotten here" : "No contribution has left this device yet";
  const sent = left ? `${left} ${left === 1 ? "contribution has" : "contributions have"} left this device` : none;
  lines.push(`${sent}; ${read || "none"} of the articles you read ${read > 1 ? "are" : "is"} counted in what is sent now.`);
  const spent = `ε = ${shownEpsilon(today)} of ${shownEpsilon(maxDay)} on the latest day, ε = ${shownEpsilon(life)} of ${shownEpsilon(maxLife)} in all`;
  const meaning = `your whole part there or zero, δ = ${delta.toExponential()}, against the publisher and one of the two; proved`;
  lines.push(`Spent${[...tasks, ...debits].some(isTrial) ? ", if the two were different parties" : ""}: ${spent} (${meaning}).`);
  lines.push(...refused);
  if (problem && !isStopped) lines.push(`Something did not work: ${problem}.`);
  return lines;
}

/** The ε of all that was contributed, in a few characters. */
export function sumsSpent({ debits, life }) {
  return debits.some(isTrial) ? "∞" : shownEpsilon(life);
}

/** Of a task, or of a debit, which remembers it after the task was forgotten. */
function isTrial({ leader, helper, isOneParty: was }) {
  return was ?? (leader !== undefined && isOneParty({ leader, helper }));
}

/** What a task is for, costs, and how it hides. What several tasks say in the same words, such as a trial's warning, is shown once. */
function taskSentences(task) {
  const { purpose, leader, helper, per, epsilon, delta } = task;
  const before = purpose.split(/(?<=\.) /), last = before.pop();
  const how = "Your device adds one list of numbers to a sum over all readers, of the same size whether you read or not.";
  const cut = `It is cut in two: ${hostOf(leader)} gets one half, ${hostOf(helper)} the other.`;
  if (isOneParty(task)) return [...before, last, how, `${cut} Both are on this machine, so whoever runs it sees your part: ε = ∞.`];
  const cost = `All that you do in a ${per} costs ε = ${shownEpsilon(epsilon)}${delta ? ` at δ = ${delta}` : ""}.`;
  return [...before, `${last} ${cost}`, how, `${cut} Neither sees your part, as long as they do not work together.`];
}

export function hostOf(address) {
  return new URL(address).host;
}
