/**
 * The demonstration page: news ranked by the reader's own device, and a panel that shows what that device tells.
 *
 * The server is asked on four occasions only, none of which depends on what is read: when the page is opened or shown again,
 * when the reader presses Refresh, every minute or two, and at the end of each public epoch. A click changes the ranking at once, and here.
 */

import { openDevice } from "./device/device.js";
import { showChoices, wireChoices } from "./page/choices.js";
import { byId, say, show } from "./page/dom.js";
import { clearNews, showNews, showNotice, showSections, wireSections } from "./page/news.js";
import { inPlace } from "./page/in_place.js";
import { showPanel, showPromise, showSums } from "./page/panel.js";
import { closeReader, openReader, renewReader, wireReader } from "./page/reader.js";
import { asksNothing, until } from "./page/words.js";

const FIRST = 25, MAX_ARTICLES = 200, RETRY_SECONDS = 15;

const device = await openDevice();
const helpers = document.querySelector("meta[name='discreet-helpers']").content.split(" ").filter(Boolean);
const part = helpers.length ? await device.takePart({ helpers }) : null;
const page = { front: null, section: null, limit: FIRST, epoch: null, opened: 0, reading: null };
let queue = Promise.resolve();

/** One thing at a time; what fails is said, and the page goes on. */
function inTurn(work) {
  queue = queue.then(work).catch((error) => {
    show("notice", true);
    say("notice", `Something did not work: ${error.message}.`);
  });
  return queue;
}

function render() {
  showNotice(device.status());
  showPanel(device, part);
  showSums(part, device);
  if (!device.model || !page.front) return;
  const categories = device.categories();
  showSections(categories, page.section, chooseSection);
  showNews(visibleFront(), page.section, page.limit, openArticle);
  showChoices(device, categories, act);
}

/** The front page, or a section of the whole catalogue: chosen here, so that nobody is told which one is looked at. */
function visibleFront() {
  return page.section === null ? page.front : device.here(page.limit + 1, { category: page.section });
}

/** What is here is shown at once, and the rest of the catalogue is fetched behind it. */
async function fetchNews() {
  const { isComing } = await device.refresh();
  if (!device.model) {
    page.front = null;
    clearNews("The newsroom cannot be reached. This page tries again by itself in a moment.");
    render();
    return;
  }
  showPromise(device.model, part);
  page.limit = FIRST;
  if (isComing && !page.front) {
    page.front = device.here(MAX_ARTICLES);
    render();
  }
  await device.complete();
  page.front = await device.front(MAX_ARTICLES);
  rankAnew();
}

/**
 * Something came or went. What is shown stays where it is; what is gone leaves, also from the article that is open; what came
 * waits until the reader asks.
 */
function renew() {
  const shown = [...byId("articles").children].map((item) => item.dataset.article);
  if (!page.front || !shown.length || page.section !== null) return rankAnew();
  const front = page.front.ranking === "local" ? device.here(Infinity) : device.again(page.front);
  const { articles, isNew } = inPlace(shown, front.articles);
  page.front = { ...front, articles: articles.slice(0, MAX_ARTICLES) };
  if (page.reading && !renewReader(device.articles().find(({ id }) => id === page.reading))) announce("The publisher has taken this article down.");
  render();
  sayNew(isNew);
}

function sayNew(isNew) {
  say("again", isNew ? "Refresh •" : "Refresh");
  if (isNew) announce("There are new articles. Refresh shows them.");
}

/** With the clicks since, here; nothing is asked. */
function rankAnew() {
  sayNew(false);
  if (device.model && page.front) page.front = page.front.ranking === "local" ? device.here(MAX_ARTICLES) : device.again(page.front);
  render();
}

function chooseSection(section) {
  page.section = section;
  page.limit = FIRST;
  render();
}

/** A click waits for nobody: it is kept while requests are under way. */
async function openArticle(article, place) {
  page.opened = place;
  page.reading = article.id;
  openReader(article);
  try {
    await device.clicked(article.id, page.section === null ? page.front.slate : null);
    rankAnew();
    announce("Kept on this device. The ranking has followed.");
  } catch (error) {
    await inTurn(() => { throw error; });
  }
}

function act(work, words, reload = false) {
  return inTurn(async () => {
    await work();
    if (reload) await fetchNews();
    else render();
    announce(words);
  });
}

function announce(words) {
  say("announce", "");
  requestAnimationFrame(() => say("announce", words));
}

/** Once a second: the countdown, and at the end of an epoch what is due. */
function tick() {
  if (!device.model) return;
  const { start, length_seconds: length } = device.model.schedule;
  const since = Date.now() / 1000 - Date.parse(start) / 1000;
  const epoch = Math.floor(since / length);
  const isSilent = asksNothing(device.model), words = until((epoch + 1) * length - since);
  say("countdown", isSilent ? "never: none is asked for" : words);
  say("strip-countdown", isSilent ? "never" : words);
  if (page.epoch !== null && epoch !== page.epoch) inTurn(sendDue);
  page.epoch = epoch;
}

/** Once a second, whatever the reader does: a part in a sum, when its drawn time has come. */
async function tickSums() {
  if (!device.model || !(await part.tick())) return;
  showNotice(device.status());
  showPanel(device, part);
  await showSums(part, device);
}

async function chooseSums() {
  await (part.isStopped ? part.resume() : part.stop());
  await part.tick();
  await showSums(part, device);
  announce(part.isStopped ? "Nothing more is contributed from here." : "You take part again.");
}

async function sendDue() {
  if (!device.model) return;
  await device.releaseDue();
  showNotice(device.status());
  showPanel(device, part);
}

function retry() {
  const { online, isComing } = device.status();
  if (!page.front || isComing) inTurn(fetchNews);
  else if (!online) inTurn(async () => { await device.refresh(); await sendDue(); });
}

/** Another tab did something. */
function hear(what) {
  if (what !== "forgotten") return rankAnew();
  closeReader();
  page.front = null;
  clearNews("Everything was forgotten in another window.");
  return inTurn(fetchNews);
}

/** Within the page without a step in the history: Back is for closing an article. */
function goThere(event) {
  event.preventDefault();
  const target = document.querySelector(event.currentTarget.getAttribute("href"));
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

function start() {
  const today = new Date();
  byId("today").dateTime = today.toISOString().slice(0, 10);
  say("today", today.toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" }));
  byId("again").addEventListener("click", () => act(fetchNews, "The news was fetched."));
  byId("more").addEventListener("click", () => {
    const place = page.limit;
    page.limit += FIRST;
    render();
    byId("articles").children[place]?.querySelector("button").focus();
  });
  wireReader(() => {
    const items = byId("articles").children;
    (items[Math.min(page.opened, items.length - 1)]?.querySelector("button") ?? byId("news")).focus();
  });
  for (const link of document.querySelectorAll("a[href='#news'], a[href='#privacy']")) link.addEventListener("click", goThere);
  wireChoices(device, act);
  wireSections();
  device.onchange = hear;
  window.addEventListener("online", retry);
  setInterval(retry, RETRY_SECONDS * 1000);
  setInterval(tick, 1000);
  if (part) {
    setInterval(() => tickSums().catch(() => {}), 1000);
    byId("sums-choice").addEventListener("click", () => inTurn(chooseSums));
  }
  device.follow(() => inTurn(renew));
  navigator.serviceWorker?.register("/worker.js").catch(() => {});
  inTurn(fetchNews).then(async () => {
    tick();
    await inTurn(sendDue);
    document.documentElement.dataset.ready = "true";
  });
}

start();
