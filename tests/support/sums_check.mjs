/* The JavaScript side of sums_vectors.py: node sums_check.mjs <folder of the device> <vectors.json> */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, path] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`));
const { readTask, termsOf, prio3Of, nothing, periodOf, sentUntil, measurementOf } = await load("sums/task.js");
const { spentEpsilon } = await load("sums/filter.js");
const { MEASURES } = await load("sums/measures.js");
const { dueAt, measured } = await load("sums/contributor.js");
const { drawnArm } = await load("arms.js");
const { seal } = await load("sums/hpke.js");
const { contextOf, unhexed, uploadRequest } = await load("sums/report.js");
const { Prio3 } = await load("prio3/prio3.js");
const { read } = await load("check.js");
const { refusal } = await load("sums/floors.js");

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const sorted = (fields) => Object.fromEntries(Object.entries(fields).sort());

async function keyPair(secret, publicKey) {
  const pkcs8 = unhexed(`302e020100300506032b656e04220420${secret}`);
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, { name: "X25519" }, true, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", unhexed(publicKey), { name: "X25519" }, true, []),
  };
}

async function requestOf(task, { window, nonce, rand, keys }, values) {
  const { variant, parameters } = prio3Of(task);
  const shares = new Prio3(variant, parameters).shard(contextOf(task), measurementOf(task, values), unhexed(nonce), unhexed(rand));
  const ephemerals = await Promise.all(keys.map(({ ephemeral, ephemeral_public: known }) => keyPair(ephemeral, known)));
  const receivers = keys.map(({ id, key }) => ({ id, key: unhexed(key) }));
  return hex(await uploadRequest(task, window, { nonce: unhexed(nonce), ...shares }, receivers, ephemerals));
}

function isTaken(terms, helpers) {
  try {
    const { tasks: [checked] } = read("tasks", new TextEncoder().encode(JSON.stringify({ tasks: [terms] })));
    return refusal(readTask(checked), helpers) === null;
  } catch {
    return false;
  }
}

const { tasks, spent, quality, kept, weights, arms, rfc, verdicts, helpers } = JSON.parse(readFileSync(path, "utf-8"));
const wrong = [];
for (const [number, vector] of tasks.entries()) {
  const expect = (what, holds) => holds || wrong.push(`task ${number} (${vector.terms.kind}): ${what}`);
  const task = readTask(vector.terms), { window } = vector.report;
  expect("terms", new TextDecoder().decode(termsOf(task)) === vector.canonical);
  expect("id", task.id === vector.id);
  expect("prio3", same(sorted(prio3Of(task).parameters), sorted(vector.prio3)));
  expect("nothing", same(nothing(task), vector.nothing));
  expect("period", periodOf(task, window) === vector.period);
  expect("sent until", sentUntil(task, window) === vector.sent_until);
  expect("due", dueAt(unhexed(vector.secret), task, window) === vector.due);
  for (const [name, values] of Object.entries(vector.measured)) {
    const observed = { clicked: vector.clicked, views: vector.views, places: new Map(vector.cells.map((cell, place) => [cell, place])) };
    expect(name, same(MEASURES[name].values(task, observed, vector.left), values));
  }
  expect("report", (await requestOf(task, vector.report, vector.values)) === vector.report.request);
}
for (const [number, { costs, delta, epsilon }] of spent.entries()) {
  const found = spentEpsilon(costs.map(([epsilon, delta]) => ({ epsilon, delta })), delta);
  if (!(Math.abs(found - (epsilon ?? Infinity)) <= 1e-6 * epsilon) && found !== (epsilon ?? Infinity)) wrong.push(`spent ${number}: ${found}, not ${epsilon}`);
}
for (const [number, { terms, views, clicks, cells, values }] of quality.entries()) {
  const task = readTask(terms), found = measured({ task, cells }, 0, { views, clicks }, task.max_total, new Set());
  if (!same(found, values)) wrong.push(`quality ${number}: ${found}, not ${values}`);
}
for (const [number, { terms, views, cells, left, values }] of weights.entries()) {
  const places = new Map(cells.map((cell, place) => [cell, place]));
  const found = MEASURES["weights of features"].values(terms, { clicked: [], views, places }, left);
  const alike = found.length === values.length && found.every((value, i) => Math.abs(value - values[i]) <= 1); // exp may differ in its last bit
  if (!alike) wrong.push(`weights ${number}: ${found}, not ${values}`);
}
for (const [number, { terms, clicks, window, since, cells, left, counted, values }] of kept.entries()) {
  const found = measured({ task: readTask(terms), cells, since }, window, { views: [], clicks }, left, new Set(counted));
  if (!same(found, values)) wrong.push(`kept ${number}: ${found}, not ${values}`);
}
for (const { secret, experiment, drawn } of arms) {
  if (drawnArm(secret, { experiment }).name !== drawn) wrong.push(`arm of ${experiment.id}`);
}
for (const { terms, taken } of verdicts) {
  if (isTaken(terms, helpers) !== taken) wrong.push(`verdict, where Python says ${taken}: ${JSON.stringify(terms)}`);
}
const sealed = await seal(unhexed(rfc.pkRm), unhexed(rfc.info), unhexed(rfc.aad), unhexed(rfc.pt), await keyPair(rfc.skEm, rfc.pkEm));
if (hex(sealed.enc) !== rfc.pkEm || hex(sealed.payload) !== rfc.ct) wrong.push("RFC 9180");
console.log(JSON.stringify({ tasks: tasks.length, spent: spent.length, verdicts: verdicts.filter(({ taken }) => taken).length, wrong }));
