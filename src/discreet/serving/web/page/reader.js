/**
 * The reader: an article opened from the text that came with the catalogue. Opening one asks the server for nothing.
 *
 * An open article is a step in the browser's history, so that Back closes it and does not leave the site.
 */

import { byId, make, say, show } from "./dom.js";
import { picture } from "./picture.js";
import { dayOf, isoDay, sectionName } from "./words.js";

const NOTE = { true: "This text came with the catalogue, and the picture was drawn here.", false: "The picture was drawn here." };
let leaving = null;

/** Wire the dialog once; `closed()` is called when an article was closed and the browser has moved the focus as it likes. */
export function wireReader(closed) {
  const reader = byId("reader");
  if (history.state?.reader) history.replaceState(null, "");
  reader.addEventListener("close", () => {
    if (history.state?.reader) goBack();
    Promise.resolve(leaving?.over).then(() => requestAnimationFrame(() => reader.open || closed()));
  });
  window.addEventListener("popstate", () => {
    if (leaving) leaving.done();
    else if (reader.open) reader.close();
    else if (history.state?.reader) history.replaceState(null, "");
  });
}

/** Leave the step of a closed article. An article that is opened meanwhile waits with its own step until that is done. */
function goBack() {
  leaving = {};
  leaving.over = new Promise((resolve) => (leaving.done = resolve)).then(() => (leaving = null));
  history.back();
}

export function openReader(article) {
  const reader = byId("reader");
  fill(article);
  reader.showModal();
  reader.scrollTop = 0;
  byId("reader-title").focus();
  Promise.resolve(leaving?.over).then(() => {
    if (reader.open) history.pushState({ reader: true }, "");
  });
}

/** The open article as it is now; it closes if there is none any more. Whether it is still there. */
export function renewReader(article) {
  if (!byId("reader").open) return true;
  if (article) fill(article);
  else closeReader();
  return Boolean(article);
}

function fill({ id, title, abstract, category, section, published, url }) {
  byId("reader-picture").replaceChildren(picture(category, id));
  const day = dayOf(published);
  const names = [sectionName(category), section && section !== category && sectionName(section)].filter(Boolean).join(" · ");
  byId("reader-kicker").replaceChildren(names, ...(day ? [" · ", make("time", { datetime: isoDay(published) }, day)] : []));
  say("reader-title", title || "Untitled");
  say("reader-text", abstract || "The catalogue has no text of this article.");
  say("reader-note", `${NOTE[Boolean(abstract)]} The publisher was not told that you opened it.`);
  show("reader-link", Boolean(url));
  byId("reader-url").href = url || "#";
}

export function closeReader() {
  if (byId("reader").open) byId("reader").close();
}
