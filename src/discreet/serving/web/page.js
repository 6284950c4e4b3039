/**
 * The demonstration page: news ranked by the reader's own device, and a panel that shows what that device tells.
 *
 * The server is asked on three occasions only, none of which depends on what is read: when the page is opened, when the
 * reader presses Refresh, and at the end of each public epoch. A click changes the ranking at once, and here.
 */

import { openDevice } from "./device/device.js";
import { showChoices, wireChoices } from "./page/choices.js";
import { byId, say, show } from "./page/dom.js";
import { openReader, showNews, showNotice, showSections } from "./page/news.js";
import { showPanel, showPromise } from "./page/panel.js";
import { until } from "./page/words.js";

const FIRST = 25, RETRY_SECONDS = 15;

const device = await openDevice();
const page = { front: null, section: null, limit: FIRST, epoch: null, categories: [], opened: 0 };
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
  if (!device.model || !page.front) return;
  showSections(page.categories, page.section, chooseSection);
  showNews(visibleFront(), page.section, page.limit, openArticle);
  showPanel(device);
}

/** The front page, or a section of the whole catalogue: chosen here, so that nobody is told which one is looked at. */
function visibleFront() {
  if (page.section === null) return page.front;
  const articles = device.articles().filter((article) => article.category === page.section);
  return device.again({ articles: articles.map((a) => ({ ...a, score: a.base, personal: 0 })), slate: null, ranking: "local" });
}

async function fetchNews() {
  const { articles } = await device.refresh();
  if (!device.model) {
    say("empty", "The newsroom cannot be reached. This page tries again by itself in a moment.");
    return;
  }
  const numbers = new Map();
  for (const { category } of device.articles()) numbers.set(category, (numbers.get(category) ?? 0) + 1);
  page.categories = [...numbers.keys()].sort((a, b) => numbers.get(b) - numbers.get(a));
  page.front = await device.front(Math.max(FIRST, Math.min(device.model.shortlist_size, articles)));
  page.limit = FIRST;
  showPromise(device.model);
  showChoices(device, page.categories, act);
  render();
}

function chooseSection(section) {
  page.section = section;
  page.limit = FIRST;
  render();
}

function openArticle(article, place) {
  page.opened = place;
  openReader(article);
  inTurn(async () => {
    await device.clicked(article.id, page.section === null ? page.front.slate : null);
    page.front = device.again(page.front);
    render();
    announce("Kept on this device. The ranking has followed.");
  });
}

function act(work, words, anew = false) {
  return inTurn(async () => {
    await work();
    if (anew) await fetchNews();
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
  const words = until((epoch + 1) * length - since);
  say("countdown", words);
  say("strip-countdown", words);
  if (page.epoch !== null && epoch > page.epoch) inTurn(sendDue);
  page.epoch = epoch;
}

async function sendDue() {
  await device.releaseDue();
  showNotice(device.status());
  showPanel(device);
}

function retry() {
  if (!device.status().online || !page.front) inTurn(page.front ? async () => { await device.refresh(); await sendDue(); } : fetchNews);
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
  byId("reader").addEventListener("close", () => {
    const items = byId("articles").children;
    (items[Math.min(page.opened, items.length - 1)]?.querySelector("button") ?? byId("news")).focus();
  });
  wireChoices(device, act);
  window.addEventListener("online", retry);
  setInterval(retry, RETRY_SECONDS * 1000);
  setInterval(tick, 1000);
  inTurn(fetchNews).then(async () => {
    tick();
    if (device.model) await inTurn(sendDue);
    document.documentElement.dataset.ready = "true";
  });
}

start();
