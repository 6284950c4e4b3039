/**
 * The reader's device in a browser: keeps clicks here, pays before it tells anything, ranks by itself, and trusts
 * nothing that a server says (docs/reference/protocol.md).
 *
 * It needs no other script and asks no other server than the publisher's. What is private lives in one IndexedDB
 * database; what leaves is a release (a sketch of an epoch, a label of a slate), paid in the transaction that made it.
 *
 *     import { openDevice } from "./device/device.js";
 *     const device = await openDevice();
 *     await device.refresh();       // terms, and the articles to show first
 *     show(device.here(20));        // ranked here, nothing asked
 *     await device.complete();      // the rest of the catalogue
 *     const front = await device.front(20);
 *
 * openDevice({url, fetch, random, now, database}) → Promise of a device
 *     url       the server, "" for the page's own origin
 *     fetch     as window.fetch (for tests)
 *     random    count → Uint8Array of that many random bytes (for tests; else crypto.getRandomValues)
 *     now       () → seconds since 1970
 *     firstPage {places: 12, maxOfSection: 4, minNew: 4, newShare: 0.1}: of the first `places` at most `maxOfSection` are of one
 *               section, and at least `minNew` of the latest `newShare` of the list, as far as its articles allow it
 *     current   the address (or id) of an article that is open now and is not recommended; else the page's own address
 *     database  null for memory; or a storage that is open. One IndexedDB database belongs to each server, whoever opens it:
 *               what is kept on an article's page ranks the front page
 *
 * device.model                      the terms of /v1/model that were accepted last, or null
 * device.current                    as `current` above; it may change
 * device.arm                        the arm that this device has drawn in the publisher's experiment; it stays here
 * device.onchange                   called with "changed" or "forgotten" when another tab did something
 * device.status()                   {online, problem, articles, clicks, stopped, lasts, isComing}: `problem` is one plain
 *                                   sentence or null; `stopped` says why nothing is released any more, or null; `lasts` is
 *                                   false if the browser keeps nothing; `isComing` is true until all pages are there
 * await device.refresh()            fetch terms and catalogue; offline, keeps what it has → status()
 * await device.complete()           fetch the catalogue's pages that are not here yet → status()
 * device.follow(renewed)            ask for terms and catalogue again as long as the page is open: every minute or two at a drawn
 *                                   time, and when the page is shown again, whatever is read. `renewed()` is called when
 *                                   something is new → a function that ends it
 * device.articles()                 what is known: [{id, title, category, published, topic, base, read, …}], the best first
 * device.categories()               [{category, articles, isOpen, opened, later}], the largest first: `opened` of its
 *                                   articles are counted in clear, `later` came or changed after it was opened
 * device.here(limit, {category})    → {articles: [{…as above, score, personal}], slate: null, ranking: "local", personal}:
 *                                   ranked here, without articles read already; nothing is asked
 * await device.front(limit)         the same in the way that the publisher ranks; `slate` is to be handed to `clicked`
 *                                   (null if nothing is reported), `ranking` "local", "shortlist" or "server"
 * device.again(front)               the same articles ranked again with the clicks since, without asking the server
 * await device.clicked(id, slate)   remember a click, here, on an article that is named by its id or its address; `slate` as
 *                                   `front` gave it, if it was clicked there
 * await device.releaseDue()         make and send what is due; → the log's new entries. What could not be sent is sent next
 *                                   time, the same bytes
 * device.sent()                     the log of what left this device: [{time, method, url, json, status}], the latest 500
 *                                   (`json` is the exact text of the body, "" for a GET)
 * device.kept()                     {clicks, open, topics: [K counts], categories: {name: count}, read: [{id, title}]}
 * device.budget()                   {unit, adjacency, lifetime, worst, purposes: {sketch, label}, debits, epochs, user}:
 *                                   `worst` is the most that one click has cost, `user` bounds all clicks together
 * device.statement()                the same in plain sentences, [string]
 * device.settings()                 {epsilon, openCategories}
 * await device.settings({epsilon, openCategories})
 *                                   `epsilon`: null, or the most that one click may ever cost: a limit in the ledger.
 *                                   `openCategories`: a category that is opened means the articles in it now: clicks on
 *                                   these are counted exactly and sent in clear, from now on.
 * await device.joinSums({helpers})  take part in sums over all readers → {refresh, tasks, nextDue, contributeDue, statement,
 *                                   problem, refused, obstacle}. `helpers` are the second aggregators that the reader
 *                                   trusts. `obstacle` says why nothing is contributed from this page, or null: the ledger
 *                                   must last, and be found again on a later day (UTC). Call `contributeDue` when
 *                                   `nextDue` says so, whatever the reader does
 * await device.takePart({helpers})  the same for as long as the page is open → {tick, stop, resume, isStopped, state}: call
 *                                   `tick` about once a second; that the reader stopped it is remembered
 * await device.forget()             the history goes, and everything that a server handed out; the debits stay
 */

import { NO_ARM, VIEW, drawnArm, rememberView, termsInArm } from "./arms.js";
import { canonical } from "./addresses.js";
import { Catalogue, shown } from "./catalogue.js";
import { NotAsAgreed, read } from "./check.js";
import { Clicks } from "./clicks.js";
import { Connection, addressOf, serverAddress } from "./connection.js";
import { Ledger } from "./ledger.js";
import { shownFeatures } from "./features.js";
import { arranged, firstPage } from "./first_page.js";
import { personalScores } from "./personal.js";
import { following } from "./following.js";
import { Polled } from "./polled.js";
import { bestFirst, diversified } from "./ranking.js";
import { SCHEMA } from "./schema.js";
import { keepSlate } from "./slates.js";
import { sentences } from "./statement.js";
import { STORES, openStorage } from "./storage.js";
import { Tabs } from "./tabs.js";
import { Telling } from "./telling.js";
import { readTerms } from "./terms.js";

const STAYS = ["debits", "paid", "meta"], HANDED_OUT = ["model", "catalogue", "coming", "latest slate", "sums secret", "arm secret"];
const UNKNOWN = { title: "", category: "", topic: 0, vector: new Int8Array(0) };

export async function openDevice({ url = "", fetch, random, now, database, current = null, firstPage: changes } = {}) {
  database = database === undefined ? `discreet ${serverAddress(url)}` : database;
  random ??= (count) => crypto.getRandomValues(new Uint8Array(count));
  now ??= () => Date.now() / 1000;
  const storage = database?.transaction ? database : await openStorage(database);
  const server = new Connection(url, fetch ?? ((...request) => globalThis.fetch(...request)), now, storage);
  const name = storage.lasts && !database.transaction ? database : null;
  const device = new Device({ server, random, now, storage, current, firstPage: firstPage(changes), name });
  await device.load();
  return device;
}

class Device {
  model = null;
  arm = NO_ARM;
  current;
  onchange = () => {};
  #server;
  #random;
  #now;
  #storage;
  #ledger;
  #catalogue;
  #clicks;
  #telling;
  #tabs;
  #firstPage;
  #terms = new Polled("/v1/model");

  constructor({ server, random, now, storage, name, current, firstPage }) {
    this.current = current;
    this.#firstPage = firstPage;
    this.#server = server;
    this.#random = random;
    this.#now = now;
    this.#storage = storage;
    this.#ledger = new Ledger(storage, random, now);
    this.#catalogue = new Catalogue(storage);
    this.#clicks = new Clicks(storage);
    const parts = { storage, server, random, ledger: this.#ledger, catalogue: this.#catalogue, clicks: this.#clicks };
    this.#telling = new Telling(parts);
    this.#tabs = new Tabs(name, (what) => this.#hear(what));
  }

  /** Everything that is kept, into memory. */
  async load() {
    this.#terms.drop();
    await this.#look();
    await this.#catalogue.load();
    const kept = await this.#storage.transaction(["meta"], "readonly", ({ meta }) => meta.get("model"));
    this.model = kept?.value.api === SCHEMA.api ? kept.value : null;
    if (this.model) await this.#ledger.open(this.model);
    await this.#drawArm();
  }

  status() {
    const { online, problem } = this.#server;
    return {
      online, problem: problem ?? this.#telling.problem, articles: this.#catalogue.articles.length, clicks: this.#clicks.all.length, stopped: this.#telling.stopped(this.model),
      lasts: this.#storage.lasts, isComing: this.#catalogue.isComing,
    };
  }

  async refresh() {
    const bytes = await this.#terms.ask(this.#server);
    if (bytes) {
      await this.#telling.trying("terms", async () => {
        await this.#accept(readTerms(bytes, this.#now()));
        this.#terms.hold(bytes);
      });
    }
    if (this.#server.online && this.model) await this.#telling.trying("contents", () => this.#catalogue.refresh(this.#server, this.model, bytes !== null));
    return this.status();
  }

  follow(renewed) {
    return following(async () => {
      const { model } = this, { articles } = this.#catalogue;
      await this.refresh();
      await this.complete();
      if (this.model !== model || this.#catalogue.articles !== articles) await renewed();
    }, this.#random);
  }

  async complete() {
    if (this.model) await this.#telling.trying("pages", () => this.#catalogue.complete(this.#server, this.model));
    return this.status();
  }

  articles() {
    const read = this.#read();
    return this.#catalogue.articles.map((article) => shown(article, isOf(article, read))).sort((a, b) => b.base - a.base);
  }

  categories() {
    const { open } = this.#clicks.choices;
    const found = new Map();
    for (const { id, title, category } of this.#catalogue.articles) {
      if (!found.has(category)) found.set(category, { category, articles: 0, isOpen: open.has(category), opened: 0, later: 0 });
      const entry = found.get(category);
      entry.articles++;
      if (entry.isOpen) entry[open.get(category).get(id) === title ? "opened" : "later"]++;
    }
    return [...found.values()].sort((a, b) => b.articles - a.articles);
  }

  here(limit = 20, { category = null } = {}) {
    this.#requireModel();
    const { articles } = this.#catalogue;
    const candidates = category === null ? articles : articles.filter((article) => article.category === category);
    const ranked = this.#rank(candidates, Float64Array.from(candidates, (article) => article.base), limit);
    return { articles: ranked, slate: null, ranking: "local", personal: this.#clicks.all.length > 0 };
  }

  async front(limit = 20) {
    const front = await this.#front(limit);
    const ids = front.articles.slice(0, VIEW).map((article) => article.id);
    const articles = ids.map((id) => this.#catalogue.get(id) ?? { ...UNKNOWN, id });
    const features = shownFeatures(articles, this.#clicks.all.map((click) => this.#catalogue.asRead(click, this.model)), this.model);
    await this.#telling.trying("view", () => rememberView(this.#storage, Math.floor(this.#now()), this.arm.name, ids, features));
    return front;
  }

  async #front(limit) {
    this.#requireModel();
    if (this.model.ranking !== "local" && this.#telling.makesSketches(this.model)) {
      await this.#telling.trying("sketches", () => this.#telling.sketch(this.model));
      const reply = await this.#server.ask("POST", "/v1/recommend", this.#telling.question(this.model));
      const front = reply?.status === 200 && (await this.#telling.trying("list", () => this.#slate(read("recommend", reply.bytes), limit)));
      if (front) return front;
    }
    return this.here(limit);
  }

  again({ articles, ...front }) {
    articles = articles.filter(({ id }) => this.#catalogue.get(id));
    if (!this.#clicks.all.length) return { ...front, articles: articles.map((article) => ({ ...article, ...shown(this.#catalogue.get(article.id), false) })) };
    const candidates = articles.map((article) => ({ ...UNKNOWN, ...article, ...this.#catalogue.get(article.id), popularity: 0 })); // it is in the score
    const ranked = this.#rank(candidates, Float64Array.from(articles, ({ score, personal }) => score - personal), articles.length);
    const places = new Map(articles.map((article, place) => [article.id, place]));
    if (front.ranking === "server") ranked.sort((a, b) => places.get(a.id) - places.get(b.id));
    return { ...front, articles: ranked, personal: true };
  }

  async clicked(id, slate = null) {
    if (!this.#ledger.header) return;
    const article = this.#catalogue.find(id) ?? { ...UNKNOWN, id: canonical(id) };
    const { space } = this.#catalogue;
    const topic = this.#catalogue.isShared(article.topic) ? article.topic : 0;
    await this.#clicks.add({ ...article, topic }, { time: Math.floor(this.#now()), epoch: this.#ledger.currentEpoch(), space, slate });
    this.#tabs.tell("changed");
  }

  async releaseDue() {
    this.#requireModel();
    const before = this.#server.sent.at(-1)?.number ?? 0;
    await this.#telling.due(this.model);
    await this.#look();
    this.#tabs.tell("changed");
    return this.sent().filter((entry) => entry.number > before);
  }

  sent() {
    return this.#server.sent.map((entry) => ({ ...entry }));
  }

  kept() {
    const topics = new Array(this.model?.topics ?? 0).fill(0), categories = new Map(), read = new Map();
    for (const click of this.#clicks.all) {
      if (this.model) topics[this.#catalogue.topicOf(click, this.model)]++;
      categories.set(click.category, (categories.get(click.category) ?? 0) + 1);
      read.set(click.article, click.title ?? this.#catalogue.get(click.article)?.title ?? "");
    }
    const open = this.#clicks.all.filter((click) => click.open).length;
    const titles = [...read].map(([id, title]) => ({ id, title }));
    return { clicks: this.#clicks.all.length, open, topics, categories: Object.fromEntries(categories), read: titles };
  }

  budget() {
    if (!this.#ledger.header) this.#requireModel();
    return this.#ledger.statement();
  }

  statement() {
    return sentences(this.budget(), this.kept(), this.#telling.stopped(this.model));
  }

  settings(choices) {
    if (choices !== undefined) return this.#choose(choices);
    const { epsilon, open } = this.#clicks.choices;
    return { epsilon, openCategories: [...open.keys()] };
  }

  async joinSums({ helpers, sharder = null, shared = null }) {
    const { Contributor } = await import("./sums/contributor.js");
    const { openSharedBudget } = await import("./sums/shared_budget.js");
    const budget = await openSharedBudget({ own: this.#storage, shared, now: this.#now, random: this.#random });
    sharder ??= (await import("./prio3/sharding.js")).openSharder();
    const parts = { storage: this.#storage, server: this.#server, random: this.#random, now: this.#now };
    return new Contributor({ ...parts, helpers, sharder, budget });
  }

  async takePart({ helpers, sharder = null }) {
    const { TakingPart } = await import("./sums/taking_part.js");
    const contributor = await this.joinSums({ helpers, sharder });
    const part = new TakingPart({ contributor, storage: this.#storage, now: this.#now, sent: () => this.#server.sent });
    await part.load();
    return part;
  }

  async forget() {
    await this.#storage.transaction(Object.keys(STORES), "readwrite", async (stores) => {
      if (this.#ledger.header) await this.#ledger.forget(stores);
      for (const name of Object.keys(STORES)) if (!STAYS.includes(name)) await stores[name].clear();
      for (const name of HANDED_OUT) await stores.meta.delete(name);
      await stores.meta.put({ name: "choices", value: { epsilon: this.#clicks.choices.epsilon } });
    });
    this.#tabs.tell("forgotten");
    await this.load();
  }

  /** The server's slate as the reader sees it: what is known of it, re-ranked here or in the server's order. */
  async #slate(answer, limit) {
    if (answer.model !== this.model.model) throw new NotAsAgreed("the server's list is of another model");
    const slate = await keepSlate(this.#storage, answer, this.#catalogue, this.#ledger.currentEpoch());
    const known = answer.articles.filter(({ id }) => this.#catalogue.get(id));
    const candidates = known.map(({ id }) => this.#catalogue.get(id));
    const places = new Map(known.map(({ id }, place) => [id, place]));
    const ranked = this.#rank(candidates, Float64Array.from(known, ({ base }) => base), candidates.length);
    const { ranking } = this.model;
    if (ranking === "server") ranked.sort((a, b) => places.get(a.id) - places.get(b.id));
    return { articles: ranked.slice(0, limit), slate, ranking, personal: this.#clicks.all.length > 0 };
  }

  #rank(candidates, bases, limit) {
    const clicks = this.#clicks.all, read = this.#read(), { popularity } = this.arm;
    const current = new Set([this.current ?? openPage()].flatMap((name) => [name, canonical(addressOf(name))]));
    const own = personalScores(candidates, clicks.map((click) => this.#catalogue.asRead(click, this.model)), termsInArm(this.model, this.arm));
    const scores = bases.map((base, place) => base + (popularity - 1) * (candidates[place].popularity ?? 0) + own[place]);
    let places = bestFirst(scores);
    const { diversity = 0 } = this.model;
    if (!clicks.length) places = diversified(places, scores, candidates.map((article) => article.category), diversity);
    const unread = [...places].filter((place) => !isOf(candidates[place], read) && !isOf(candidates[place], current));
    return arranged(unread, candidates, this.#firstPage).slice(0, limit)
      .map((place) => ({ ...shown(candidates[place], false), score: scores[place], personal: own[place] }));
  }

  /** Ids of what was read; the address of an article that was not listed then. */
  #read() {
    return new Set(this.#clicks.all.map((click) => click.article));
  }

  async #accept(model) {
    await this.#storage.transaction(["meta"], "readwrite", ({ meta }) => meta.put({ name: "model", value: model }));
    await this.#ledger.open(model);
    this.model = model;
    await this.#drawArm();
  }

  /** The device's arm in the publisher's experiment, drawn by a secret that lasts until the reader makes it forget. */
  async #drawArm() {
    this.arm = NO_ARM;
    if (!this.model?.experiment) return;
    const fresh = Array.from(this.#random(32));
    const secret = await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const kept = await meta.get("arm secret");
      if (!kept) await meta.put({ name: "arm secret", value: fresh });
      return kept?.value ?? fresh;
    });
    this.arm = drawnArm(secret, this.model);
  }

  async #choose({ epsilon, openCategories }) {
    const most = this.#ledger.header?.lifetime ?? Infinity;
    if (typeof epsilon === "number" && !(epsilon >= 0 && epsilon <= most)) {
      throw new RangeError(`your ε may be from 0 to the publisher's ${most}, not ${epsilon}`);
    }
    await this.#clicks.choose({ epsilon, openCategories }, this.#catalogue.articles);
    this.#tabs.tell("changed");
    return this.settings();
  }

  async #look() {
    await this.#clicks.load();
    await this.#ledger.load();
    await this.#server.load();
  }

  async #hear(what) {
    if (what === "forgotten") await this.load();
    else await this.#look();
    this.onchange(what);
  }

  #requireModel() {
    if (!this.model) throw new Error(this.status().problem ?? "the server was never reached, so there is nothing to show");
  }
}

/** Whether an article's id or address is among these. */
function isOf({ id, url }, names) {
  return names.has(id) || (Boolean(url) && names.has(canonical(url)));
}

/** The address of the page that is open, as the page itself names it. */
function openPage() {
  return globalThis.document?.querySelector("link[rel='canonical']")?.href ?? globalThis.location?.href ?? "";
}
