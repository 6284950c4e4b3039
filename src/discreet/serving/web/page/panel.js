/** The panel: what was kept, sent and spent, in plain words, from the device's own answers. */

import { shownEpsilon } from "../device/statement.js";
import { byId, make, say, show } from "./dom.js";
import { sumsSentences, sumsSpent } from "../device/sums/words.js";
import { describe } from "./shown.js";
import { asksNothing, clock, count, sectionName } from "./words.js";

/** Everything in the panel that changes with what the device did; `part` in sums, or null, has a section of its own. */
export function showPanel(device, part) {
  showKept(device);
  if (device.model) showBudget(device, part);
  showSent(device);
}

function showBudget(device, part) {
  const { worst, lifetime, user, debits } = device.budget();
  const meter = byId("meter");
  meter.max = lifetime;
  meter.value = worst;
  meter.textContent = `${shownEpsilon(worst)} of ${shownEpsilon(lifetime)}`;
  meter.hidden = lifetime === 0;
  say("spent", `ε = ${shownEpsilon(worst)}`);
  say("lifetime", lifetime ? `of ${shownEpsilon(lifetime)}, for any one click${part ? " in reports" : ""}` : "for ranking: nothing about your clicks is sent");
  if (!part) say("strip-spent", `ε ${shownEpsilon(worst)}`);
  const paid = `${count(debits.length, "release was", "releases were")} paid for. All your clicks together: ε ≤ ${shownEpsilon(user)}.`;
  const unpaid = lifetime ? `Nothing was paid yet. No click will ever cost more than ε = ${shownEpsilon(lifetime)}${part ? " in reports" : ""}.` : "";
  say("budget-words", `${debits.length ? paid : unpaid}${part ? " Sums over all readers, below, have a cost of their own." : ""}`);
}

function showKept(device) {
  const { clicks, open, categories, read } = device.kept();
  say("strip-kept", String(clicks));
  show("kept-empty", clicks === 0);
  show("read-details", clicks > 0);
  const most = Math.max(1, ...Object.values(categories));
  const rows = Object.entries(categories).sort((a, b) => b[1] - a[1]).flatMap(([category, number]) => [
    make("dt", {}, sectionName(category)),
    make("dd", {}, make("progress", { max: most, value: number, "aria-label": `${sectionName(category)}: ${count(number, "click")}` }),
      String(number)),
  ]);
  byId("kept").replaceChildren(...rows);
  show("kept-open", open > 0);
  say("kept-open", `${count(open, "of these clicks is", "of these clicks are")} counted in clear, as you chose.`);
  byId("read").replaceChildren(...read.map(({ title }) => make("li", {}, title || "an article that was taken down")).reverse());
}

/** Releases are added at the top; those shown already stay as they are, opened details too. */
function showSent(device) {
  const log = device.sent();
  const posts = log.filter((entry) => entry.method === "POST");
  const list = byId("sent");
  const present = new Map([...list.children].map((item) => [item.dataset.number, item]));
  const items = posts.map((entry) => present.get(String(entry.number)) ?? sentItem(entry)).reverse();
  if (items.length !== list.children.length || items.some((item, place) => item !== list.children[place])) list.replaceChildren(...items);
  show("sent-empty", posts.length === 0);
  const gets = log.reduce((sum, { method, times = 1 }) => sum + (method === "GET" ? times : 0), 0);
  say("asked", gets ? `Besides, ${count(gets, "request")} for the publisher's terms and catalogue, the same for every reader.` : "");
}

function sentItem(entry) {
  const { title, words, numbers, bytes } = describe(entry);
  const fate = entry.status === null ? " It did not arrive; the same bytes will be sent again." : entry.status >= 400 ? ` The server refused it (${entry.status}).` : "";
  return make("li", { "data-number": entry.number },
    make("p", { class: "head" }, title, make("span", {}, `${clock(entry.time)}, ${bytes.toLocaleString("en")} bytes`)),
    make("p", { class: "small" }, words + fate),
    ...numbers.map(([name, values]) => make("p", { class: "numbers" }, `${name}: ${values.join(" ")}`)),
    make("details", {}, make("summary", {}, "The exact text"), make("pre", { tabindex: "0", "aria-label": `Text of this ${title.toLowerCase()}` }, entry.json)),
  );
}

/** The reader's part in sums over all readers; `part` as of `device.takePart`, or null where nobody names a helper. */
export async function showSums(part, device) {
  show("sums-section", part !== null);
  if (!part) return;
  const state = await part.state();
  const reports = device.model && !asksNothing(device.model) ? `${shownEpsilon(device.budget().worst)} + ` : "";
  say("strip-spent", `ε ${reports}${sumsSpent(state)}`);
  byId("sums-words").replaceChildren(...sumsSentences(state).map((sentence) => make("li", {}, sentence)));
  say("sums-choice", state.isStopped ? "Take part again" : "Stop taking part");
}

/** The publisher's promise, which changes only with its terms. */
export function showPromise(model, part) {
  const { epsilon: { lifetime }, unit, adjacency, words = [] } = model;
  const what = part ? (asksNothing(model) ? "For ranking: " : "For ranking and reports: ") : "";
  say("guarantee", `${what}ε = ${shownEpsilon(lifetime)} per ${unit} (${adjacency}), δ = 0, against the server, over its life; proved.`);
  byId("words").replaceChildren(...words.map((sentence) => make("li", {}, sentence)));
}
