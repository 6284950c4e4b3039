/** The status in tables. All of it is public, or comes from noised sums: no reader is in it. */

import { make } from "../page/dom.js";
import { count } from "../page/words.js";

const WITHOUT_SUM = { invalidBatchSize: "too few contributions" };
const METRICS = { auc: "AUC", "ndcg@10": "nDCG@10", clicks: "views with a click" };

/** Of each task that measures quality: arms, how they compare, and a plot over time. */
export function qualityOf(found, plot) {
  if (!found.length) return [make("p", { class: "soft" }, "Nothing was measured yet. A window is a day.")];
  return found.flatMap((quality) => [
    make("h3", {}, quality.task),
    table(["arm", ...Object.values(METRICS)], quality.arms.map((arm) => [armName(arm.arm), ...Object.keys(METRICS).map((metric) => shown(arm[metric]))])),
    ...quality.differences.map((one) => make("p", { class: one.verdict === "not beyond chance" ? "soft" : "" },
      `${armName(one.arm)}, ${METRICS[one.metric === "ndcg" ? "ndcg@10" : one.metric]}: ${one.mean.toFixed(4)} [${one.low.toFixed(4)}, ${one.high.toFixed(4)}], ${one.verdict}`)),
    ...plots(quality, plot),
    make("p", { class: "soft" }, `± is one standard error, noise included. ${epsilonOf(quality.guarantee)}.`),
  ]);
}

/** Views with a click, and AUC, day by day. */
function plots(quality, plot) {
  const drawn = ["clicks", "auc"].map((metric) => plot(`${METRICS[metric]}, by day`, lines(quality, metric))).filter(Boolean);
  return drawn.length ? drawn : [make("p", { class: "soft" }, "A plot needs two days.")];
}

function lines({ arms, over_time: windows }, metric) {
  return arms.map(({ arm }) => ({
    name: armName(arm),
    points: windows.flatMap(({ begin, arms: then }) => {
      const { mean, se } = then.find((one) => one.arm === arm)?.[metric] ?? { mean: null };
      return mean === null ? [] : [{ x: begin, y: mean, error: se }];
    }),
  }));
}

export function sumsOf(tasks) {
  if (!tasks.length) return [make("p", { class: "soft" }, "No window has closed yet.")];
  const rows = tasks.map((task) => [
    task.name, task.collected, task.waiting, Object.entries(task.without_sum).map(([why, count]) => `${count} (${WITHOUT_SUM[why] ?? why})`).join(", ") || 0, task.contributions,
  ]);
  return [table(["task", "collected", "waiting", "without a sum", "contributions"], rows)];
}

export function budgetOf({ tasks, together }) {
  const parts = [table(["task", "a day", "a year"], tasks.map(({ task, day, year }) => [task, epsilonOf(day), year ? epsilonOf(year) : "no promise"]))];
  if (together) {
    parts.push(make("p", {}, `Together, a year of all days: ${epsilonOf(together.year)}. A device ends it after ${together.days_until_cap} days, at its cap of ε = ${together.max_life_epsilon} for life.`));
  } else if (tasks.length) parts.push(make("p", { class: "loud" }, "A trial: one party runs both aggregators, and nobody is protected from it."));
  return parts;
}

/** The weights of the ranking, and the two tests that decide which of them rank; nothing before the first sum of them. */
export function weightsOf(found) {
  if (!found) return [];
  const rows = found.weights.map(({ feature, first, candidate, ranking }) => [feature, ...[first, candidate, ranking].map((weight) => weight.toFixed(3))]);
  return [
    table(["weight of", "first", "candidate", "ranks"], rows),
    make("p", { class: found.learnt ? "" : "soft" }, `${found.learnt ? "Learnt" : "The first"} weights rank, after ${found.sums} sums of them. Against the first weights: `
      + `chi² = ${found.chi_squared.toFixed(1)}; beyond ${found.max_chi_squared.toFixed(1)} there is a candidate. `
      + `Its gain in AUC, summed over readers: ${found.gain.toFixed(1)}; beyond ${found.least_gain.toFixed(1)} it ranks.`),
    ...(found.head ? [headOf(found.head)] : []),
  ];
}

function headOf({ directions, learnt, chi_squared: chi, max_chi_squared: most, first, ranking }) {
  return make("p", { class: learnt ? "" : "soft" }, `Head of ${directions} directions: ${learnt ? "a learnt one" : "the first one"} ranks. Against the first: chi² = ${chi.toFixed(1)}; `
    + `beyond ${most.toFixed(1)} it is learnt. Its length: ${ranking.toFixed(3)}, of the first ${first.toFixed(3)}.`);
}

const SHOWN = 5;
let isUnfolded = false;
const GONE = "What it knew is not kept: of each day before the last only the last version is.";

/**
 * `change(version)` rolls back; `change(null)` lifts a rollback. Why a version cannot be gone back to stands in its row.
 * Older versions are folded away, and stay unfolded when the page looks again.
 */
export function versionsOf({ versions, rolled_back_to: held, history }, change) {
  const parts = [make("p", {}, `${count(versions, "version")}.`)];
  if (held) parts.push(make("p", { class: "loud" }, `Rolled back to ${held.slice(0, 12)}. `, make("button", { type: "button", onclick: () => change(null) }, "Lift")));
  const rows = history.map(({ version, made, sums, reason, usable }) => [
    make("code", {}, version.slice(0, 12)), make("time", {}, new Date(1000 * made).toISOString().slice(0, 16).replace("T", " ")), sums, reason,
    version === held ? "This one ranks now." : usable ? make("button", { type: "button", onclick: () => change(version) }, "Roll back") : make("span", { class: "soft" }, GONE),
  ]);
  const heads = ["version", "made (UTC)", "sums", "why", "go back"], older = rows.slice(SHOWN);
  if (rows.length) parts.push(table(heads, rows.slice(0, SHOWN)));
  const ontoggle = ({ target }) => (isUnfolded = target.open);
  if (older.length) parts.push(make("details", { open: isUnfolded, ontoggle }, make("summary", {}, `${older.length} older`), table(heads, older)));
  return parts;
}

export function healthOf(running) {
  const { refused, aggregators } = running ?? { refused: {}, aggregators: {} };
  const parts = Object.entries(aggregators).map(([name, how]) => make("p", { class: how === "does not answer" ? "loud" : "" }, `${name}: ${how}`));
  const rows = Object.entries(refused);
  return [...parts, rows.length ? table(["refused since the start", "how often"], rows) : make("p", { class: "soft" }, "Nothing was refused since the start.")];
}

function epsilonOf({ epsilon, delta, unit, adjacency, adversary, scope, status }) {
  if (epsilon === "inf") return `nothing is promised: ε = ∞ against the ${adversary}`;
  return `ε = ${Number(epsilon).toPrecision(3)}${delta ? `, δ = ${delta}` : ""} per ${unit} (${adjacency}), against the ${adversary}, ${scope}, ${status}`;
}

/** An arm without the id of its experiment. */
function armName(name) {
  return name.replace(/^[0-9a-f]{16}\//, "");
}

function shown({ mean, se }) {
  return mean === null ? "unknown" : `${mean.toFixed(4)} ± ${se.toFixed(4)}`;
}

/** On a narrow screen each row is a list with the heads before the values; the roles say that it is a table all the same. */
function table(heads, rows) {
  const kind = (value) => (typeof value === "number" ? "number" : "");
  const cell = (value, column) => make("td", { role: "cell", class: kind(value), "data-head": heads[column] }, make("span", {}, typeof value === "number" ? String(value) : value));
  return make("table", { role: "table" },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads.map((head, column) => make("th", { scope: "col", role: "columnheader", class: kind(rows[0]?.[column]) }, head)))),
    make("tbody", { role: "rowgroup" }, ...rows.map((row) => make("tr", { role: "row" }, ...row.map(cell)))),
  );
}
