/** Taking part in sums, in plain sentences for the reader. */

import { shownEpsilon } from "../statement.js";

/** What is contributed, to whom, and what it has cost: [string], from the state of `taking_part.js`. */
export function sumsSentences({ isStopped, problem, refused, tasks, contributions, counted, today, life, delta, maxDay, maxLife }) {
  const lines = [];
  if (isStopped) lines.push("You stopped this. Nothing is contributed from here until you start it again.");
  else if (!tasks.length) lines.push("The publisher asks for no contribution that this device would make.");
  for (const task of isStopped ? [] : tasks) {
    lines.push(`${task.purpose} Your device adds one number list to a sum over all readers, the same size whether you read or not.`);
    lines.push(`It is cut in two: ${hostOf(task.leader)} gets one half, ${hostOf(task.helper)} the other. Neither sees your part, as long as they do not work together.`);
    lines.push(`A reader's ${task.per} costs ε = ${shownEpsilon(task.epsilon)}${task.delta ? ` at δ = ${task.delta}` : ""}.`);
  }
  const left = contributions.length, read = counted.length;
  const sent = left ? `${left} ${left === 1 ? "contribution has" : "contributions have"} left this device` : "No contribution has left this device yet";
  lines.push(`${sent}; ${read || "none"} of the articles you read ${read > 1 ? "are" : "is"} counted in what is sent now.`);
  lines.push(`Spent: ε = ${shownEpsilon(today)} of ${shownEpsilon(maxDay)} on the latest day, ε = ${shownEpsilon(life)} of ${shownEpsilon(maxLife)} in all (a reader's whole part there or zero, δ = ${delta}, against the publisher and one of the two; proved).`);
  lines.push(...refused);
  if (problem && !isStopped) lines.push(`Something did not work: ${problem}.`);
  return lines;
}

export function hostOf(address) {
  return new URL(address).host;
}
