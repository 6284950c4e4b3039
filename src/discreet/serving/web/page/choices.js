/** The reader's choices: a smaller ε, sections that are not sensitive, and forgetting. */

import { byId, make, say } from "./dom.js";
import { plain, sectionName } from "./words.js";

/** Wire the controls once. `act(work, words, anew)` does the work in its turn, says the words, and may fetch news anew. */
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
    if (returnValue === "yes") act(() => device.forget(), "Everything was forgotten. What was spent stays written down.", true);
  });
}

/** Show the choices as they are kept. */
export function showChoices(device, categories, act) {
  const { epsilon, openCategories } = device.settings();
  const most = device.model.epsilon.lifetime;
  const slider = byId("epsilon");
  slider.max = most;
  slider.step = most / 20;
  slider.disabled = byId("forget").disabled = false;
  slider.value = epsilon ?? most;
  explain(device, epsilon ?? most);
  const open = new Set(openCategories);
  function choose() {
    const left = [...byId("sensitive").querySelectorAll("input:not(:checked)")].map((input) => input.dataset.category);
    act(() => device.settings({ openCategories: left }), "Your sensitive sections were kept.");
  }
  if (byId("sensitive").children.length === categories.length) return;
  byId("sensitive").replaceChildren(...categories.map((category) => {
    const box = make("input", { type: "checkbox", checked: !open.has(category), "data-category": category, onchange: choose });
    return make("li", {}, make("label", {}, box, sectionName(category)));
  }));
}

function explain(device, wanted) {
  const { sketch, label, lifetime } = device.model.epsilon;
  const ranking = device.model.ranking === "local" ? "" : " The ranking is done here alone.";
  say("epsilon-value", `ε = ${plain(wanted)}`);
  let words = `Nothing about your reading is released.${ranking}`;
  if (wanted >= Math.min(lifetime, sketch + label)) words = `The publisher's own: a sketch of each epoch (${plain(sketch)}) and a label of a list (${plain(label)}).`;
  else if (wanted >= sketch) words = `Sketches only (${plain(sketch)}): a label (${plain(label)}) would cost too much.`;
  say("epsilon-words", words);
}
