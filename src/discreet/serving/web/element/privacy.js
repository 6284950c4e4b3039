/** The element's panel: what is kept, what was sent, and the reader's choices. */

import { sumsSentences } from "../device/sums/words.js";
import { make } from "../page/dom.js";
import { count, sectionName } from "../page/words.js";

/** Its nodes; `stop()` and `forget()` are what the buttons do. */
export function privacyPanel({ stop, forget }) {
  const kept = make("p", {}), sums = make("ul", {}), notice = make("a", { part: "notice", target: "_blank", rel: "noopener" }, "Privacy notice");
  const choice = make("button", { part: "button", type: "button", onclick: stop, hidden: true }, "Stop taking part");
  const clear = make("button", { part: "button", type: "button", onclick: forget }, "Forget what I read");
  const buttons = make("p", { part: "buttons" }, choice, clear, notice);
  const details = make("details", { part: "privacy" }, make("summary", { part: "summary" }, "Ranked on your device"), kept, sums, buttons);
  return { details, kept, sums, choice, notice };
}

export async function showPrivacy({ kept, sums, choice }, device, part) {
  const { clicks, categories } = device.kept();
  const most = Object.entries(categories).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name]) => sectionName(name));
  kept.textContent = clicks
    ? `${count(clicks, "article that you opened is", "articles that you opened are")} kept on this device, most about: ${most.join(", ")}. The list above follows from them. ${part ? "What your device adds to sums is said below." : "They are sent to nobody."}`
    : "Nothing that you opened is kept on this device yet. The list above is the same for everybody.";
  const state = part && (await part.state());
  sums.replaceChildren(...(state ? sumsSentences(state) : ["Nothing about your reading is sent."]).map((line) => make("li", {}, line)));
  choice.hidden = !part;
  if (part) choice.textContent = part.isStopped ? "Take part again" : "Stop taking part";
}
