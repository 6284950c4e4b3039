/** The panel: what was kept, sent and spent, in plain words, from the device's own answers. */

import { byId, make, say, show } from "./dom.js";
import { describe } from "./shown.js";
import { clock, count, plain, sectionName } from "./words.js";

/** Everything in the panel that changes with what the device did. */
export function showPanel(device) {
  if (!device.model) return;
  showBudget(device);
  showKept(device);
  showSent(device);
}

function showBudget(device) {
  const { worst, lifetime, user, debits } = device.budget();
  const meter = byId("meter");
  meter.max = lifetime;
  meter.value = worst;
  meter.textContent = `${plain(worst)} of ${plain(lifetime)}`;
  say("spent", `ε = ${plain(worst)}`);
  say("lifetime", `of ${plain(lifetime)}, for the click that paid most`);
  say("strip-spent", `ε ${plain(worst)}`);
  const paid = `${count(debits.length, "release was", "releases were")} paid for. All your clicks together: ε ≤ ${plain(user)}.`;
  say("budget-words", debits.length ? paid : `Nothing was paid yet. No click will ever cost more than ε = ${plain(lifetime)}.`);
}

function showKept(device) {
  const { clicks, categories, read } = device.kept();
  const open = new Set(device.settings().openCategories);
  say("strip-kept", String(clicks));
  show("kept-empty", clicks === 0);
  show("read-details", clicks > 0);
  const most = Math.max(1, ...Object.values(categories));
  const rows = Object.entries(categories).sort((a, b) => b[1] - a[1]).flatMap(([category, number]) => [
    make("dt", {}, sectionName(category)),
    make("dd", {}, make("progress", { max: most, value: number, "aria-label": `${sectionName(category)}: ${count(number, "click")}` }),
      String(number), ...(open.has(category) ? [make("span", { class: "open" }, "in clear")] : [])),
  ]);
  byId("kept").replaceChildren(...rows);
  const titles = new Map(device.articles().map((article) => [article.id, article.title]));
  byId("read").replaceChildren(...read.map((id) => make("li", {}, titles.get(id) ?? "an article that was taken down")).reverse());
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
  const gets = log.length - posts.length;
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

/** The publisher's promise, which changes only with its terms. */
export function showPromise({ guarantee, words }) {
  const { epsilon, unit, adjacency, delta, adversary, scope, status } = guarantee;
  const surely = Number(delta) === 0 ? "" : `, δ = ${delta}`;
  say("guarantee", `ε = ${plain(epsilon)}${surely} per ${unit} (${adjacency}), against the ${adversary}, ${scope}; ${status}.`);
  byId("words").replaceChildren(...words.map((sentence) => make("li", {}, sentence)));
}
