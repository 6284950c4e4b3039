/** The reader's choices: a smaller ε, sections that are not sensitive, and forgetting. */

import { shownEpsilon } from "../device/statement.js";
import { byId, make, say, show } from "./dom.js";
import { asksNothing, count, sectionName } from "./words.js";

/** Wire the controls once. `act(work, words, reload)` does the work in its turn, says the words, and may fetch news again. */
export function wireChoices(device, act) {
  const slider = byId("epsilon");
  slider.addEventListener("input", () => explain(device, Number(slider.value)));
  slider.addEventListener("change", () => {
    const wanted = Number(slider.value);
    act(() => device.settings({ epsilon: wanted >= device.model.epsilon.lifetime ? null : wanted }), "Your ε was kept.", true);
  });
  byId("forget").addEventListener("click", () => byId("forgetting").showModal());
  byId("forgetting").addEventListener("close", () => {
    const { returnValue } = byId("forgetting");
    byId("forgetting").returnValue = "";
    if (returnValue === "yes") act(() => forget(device), "Everything was forgotten. What was spent stays written down.", true);
  });
}

/** What the browser kept of the page itself goes too: it came from the server. */
async function forget(device) {
  await device.forget();
  for (const name of (await globalThis.caches?.keys()) ?? []) await caches.delete(name);
}

/** Show the choices as they are kept; `categories` as the device gives them. */
export function showChoices(device, categories, act) {
  const { epsilon } = device.settings();
  const most = device.model.epsilon.lifetime;
  const slider = byId("epsilon");
  show("report-choices", !asksNothing(device.model));
  slider.max = most;
  slider.step = most / 20;
  slider.disabled = byId("forget").disabled = false;
  slider.value = epsilon ?? most;
  explain(device, epsilon ?? most);
  const list = byId("sensitive");
  const present = [...list.querySelectorAll("input")].map((input) => input.dataset.category);
  const isSame = present.join("\n") === categories.map(({ category }) => category).join("\n");
  if (!isSame) list.replaceChildren(...categories.map(({ category }) => tick(category, device, act)));
  categories.forEach(({ isOpen, opened, later }, place) => {
    const item = list.children[place];
    item.querySelector("input").checked = !isOpen;
    const came = later ? `, ${count(later, "article")} came later and stay sensitive` : "";
    item.querySelector(".opened").textContent = isOpen ? `${count(opened, "article")} in clear${came}` : "";
  });
}

function tick(category, device, act) {
  const choose = () => {
    const left = [...byId("sensitive").querySelectorAll("input:not(:checked)")].map((input) => input.dataset.category);
    act(() => device.settings({ openCategories: left }), "Your sensitive sections were kept.");
  };
  const box = make("input", { type: "checkbox", "data-category": category, onchange: choose });
  return make("li", {}, make("label", {}, box, sectionName(category)), make("span", { class: "opened" }));
}

function explain(device, wanted) {
  const { sketch, label, lifetime } = device.model.epsilon;
  const ranking = device.model.ranking === "local" ? "" : " The ranking is done here alone.";
  say("epsilon-value", `ε = ${shownEpsilon(wanted)}`);
  let words = `Nothing about your reading is released.${ranking}`;
  if (wanted >= Math.min(lifetime, sketch + label)) words = `The publisher's own: a sketch of each epoch (${shownEpsilon(sketch)}) and a label of a list (${shownEpsilon(label)}).`;
  else if (wanted >= sketch) words = `Sketches only (${shownEpsilon(sketch)}): a label (${shownEpsilon(label)}) would cost too much.`;
  say("epsilon-words", words);
}
