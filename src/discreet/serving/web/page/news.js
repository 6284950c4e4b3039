/** The list of articles, the sections, and one sentence about what is not as usual. */

import { arrange, byId, make, renewed, say, show } from "./dom.js";
import { liftedArticles } from "./lifted.js";
import { picture } from "./picture.js";
import { count, sectionName } from "./words.js";

const RANKING = {
  local: "Ranked on this device alone, from the whole catalogue.",
  shortlist: "A shortlist from the publisher, ranked on this device with all you read.",
  server: "Ranked by the publisher, from the noised sketches your device sent.",
};

/** Show the first `limit` articles of a front; `open(article, place)` is called when one is opened. */
export function showNews(front, section, limit, open) {
  const list = byId("articles");
  const present = new Map([...list.children].map((item) => [item.dataset.article, item]));
  const lifted = liftedArticles(front.articles);
  const items = front.articles.slice(0, limit).map((article, place) => {
    const fresh = articleItem(article, present.size > 0);
    const item = present.has(article.id) ? renewed(present.get(article.id), fresh) : fresh;
    item.querySelector(".lifted").hidden = !lifted.has(article.id);
    item.querySelector("button").onclick = () => open(article, place);
    return item;
  });
  replaceKeepingFocus(list, items);
  byId("news").setAttribute("aria-busy", "false");
  say("news-title", section === null ? "Front page" : sectionName(section));
  say("ranking", RANKING[front.ranking]);
  show("empty", items.length === 0);
  say("empty", "You have read everything there is here. New articles appear when the publisher lists them.");
  show("more", front.articles.length > limit);
}

/** No articles, and why. */
export function clearNews(words) {
  byId("articles").replaceChildren();
  byId("sections").replaceChildren();
  show("more", false);
  show("empty", true);
  say("empty", words);
}

/** Moving an element takes the focus from it: give it back, or to what stands in its place if it has gone. */
function replaceKeepingFocus(list, items) {
  const place = [...list.children].findIndex((item) => item.contains(document.activeElement));
  const focused = list.children[place];
  arrange(list, items);
  if (place < 0 || !items.length) return;
  const next = items.includes(focused) ? focused : items[Math.min(place, items.length - 1)];
  next.querySelector("button").focus({ preventScroll: true });
}

function articleItem({ id, title, abstract, category, topic }, arrived) {
  return make("li", { "data-article": id, "data-category": category ?? "", "data-topic": topic, class: arrived && "arrived" },
    make("div", { class: "picture" }, picture(category, id)),
    make("div", {},
      make("p", { class: "kicker" }, sectionName(category), make("span", { class: "lifted", hidden: true }, "↑ for you")),
      make("h3", {}, make("button", { type: "button" }, title || "Untitled")),
      make("p", { class: "abstract" }, abstract ?? ""),
    ),
  );
}

/** Buttons for the sections that the catalogue has, the largest first. */
export function showSections(categories, chosen, choose) {
  const list = byId("sections");
  const wanted = [null, ...categories.map(({ category }) => category)];
  const present = [...list.querySelectorAll("button")].map((button) => button.dataset.section);
  if (present.join("\n") !== wanted.map((category) => category ?? "").join("\n")) {
    list.replaceChildren(...wanted.map((category) => make("li", {},
      make("button", { type: "button", onclick: () => choose(category), "data-section": category ?? "" },
        category === null ? "Front page" : sectionName(category)))));
  }
  [...list.querySelectorAll("button")].forEach((button, place) => button.setAttribute("aria-pressed", String(wanted[place] === chosen)));
  showRest();
}

/** Offer the other rows of sections, if there are any. */
function showRest() {
  const list = byId("sections"), rest = byId("all-sections"), isOpen = rest.getAttribute("aria-expanded") === "true";
  show("all-sections", isOpen || list.scrollHeight > list.clientHeight + 4);
  if (!isOpen) list.scrollTop = 0;
  rest.textContent = isOpen ? "Fewer" : "All sections";
}

/** Wire the button of the other rows once. */
export function wireSections() {
  byId("all-sections").addEventListener("click", ({ currentTarget }) => {
    currentTarget.setAttribute("aria-expanded", String(currentTarget.getAttribute("aria-expanded") !== "true"));
    showRest();
  });
  window.addEventListener("resize", showRest);
}

/** A few kind sentences about what is not as usual, or nothing. */
export function showNotice({ online, problem, stopped, articles, lasts }) {
  const words = [];
  if (!lasts) words.push("This browser does not let the page keep anything: what you read here is forgotten when you close it.");
  if (stopped) words.push(`Nothing more is sent from here: ${stopped}. Reading goes on, ranked on this device.`);
  else if (!online && articles) words.push(`The publisher cannot be reached just now. You can go on reading: ${count(articles, "article")} are kept here and ranked here. What is due will be sent later.`);
  else if (problem) words.push(`Something did not work: ${problem}. Your news is ranked with what is here.`);
  show("notice", words.length > 0);
  say("notice", words.join(" "));
}
