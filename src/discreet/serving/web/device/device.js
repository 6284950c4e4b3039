/**
 * The reader's device in a browser: keeps clicks here, pays before it tells anything, ranks by itself.
 *
 * It needs no other script and asks no other server than the publisher's. What is private lives in one IndexedDB
 * database; what leaves is a release of `releases.js` (a sketch of an epoch, a label of an impression), and each was
 * debited, with the transaction completed, before it was made.
 *
 *     import { openDevice } from "./device/device.js";
 *     const device = await openDevice({ url: "" });
 *     await device.refresh();
 *     const front = await device.front(20);
 *
 * openDevice({url, fetch, random, now, database}) → Promise of a device
 *     url       the server, "" for the page's own origin
 *     fetch     as window.fetch (for tests)
 *     random    count → Uint8Array of that many random bytes (for tests; else crypto.getRandomValues)
 *     now       () → seconds since 1970
 *     database  the name of the IndexedDB database, "discreet"
 *
 * device.model                      what /v1/model said last, or null if it was never reached
 * device.status()                   {online, problem, articles, clicks, stopped}: `problem` is one plain sentence or null;
 *                                   `stopped` says why nothing is released any more (the publisher changed its promise),
 *                                   or null
 * await device.refresh()            fetch model and catalogue (only what is new); offline, keeps what it has → status()
 * device.articles()                 the catalogue: [{id, title, abstract, category, published, topic, base, read}],
 *                                   the best `base` first; `read` is known only here
 * await device.front(limit, {category})
 *                                   → {articles: [{…as above, score, personal}], slate, ranking, personal}: what the page
 *                                   shows, best first, without articles read already. `slate` is the id to hand to
 *                                   `clicked` (null if the ranking was made here alone: nothing is reported then),
 *                                   `ranking` "local", "shortlist" or "server", `score` the whole score and
 *                                   `personal` the part of it that the kept clicks made
 * device.again(front)               the same articles ranked anew with the clicks since, without asking the server
 * await device.clicked(id, slate)   remember a click, here; `slate` as `front` gave it, if it was clicked there
 * await device.releaseDue()         make and send what is due: a sketch of each finished epoch, the label of each slate
 *                                   that was followed by another; → [{time, method, url, json, status}] sent just now.
 *                                   What could not be sent is sent next time, the same bytes.
 * device.sent()                     the log of everything that left this device: [{time, method, url, json, status}]
 *                                   (`json` is the exact text of the body, "" for a GET; the latest 500)
 * device.kept()                     what is kept here: {clicks, open, topics: [K counts], categories: {name: count},
 *                                   read: [ids]}
 * device.budget()                   {unit, adjacency, lifetime, worst, purposes: {sketch, label}, debits: […],
 *                                   epochs: [{epoch, epsilon}], user}: `worst` is the most that one click has cost,
 *                                   `purposes` the most one click has paid for each, `user` the bound for all clicks together
 * device.statement()                the same in plain sentences, [string]
 * device.settings()                 {epsilon, openCategories}
 * await device.settings({epsilon, openCategories})
 *                                   `epsilon`: null for the publisher's, or a smaller one, which limits what is released:
 *                                   sketches and labels if it covers both, sketches if it covers these, else nothing:
 *                                   ranking is then done here alone. (The server takes no other ε than its own.)
 *                                   `openCategories`: categories whose clicks you do not mind to tell: they are
 *                                   counted exactly and sent in clear. Both apply to later clicks and epochs only.
 * await device.forget()             the history goes, and everything kept from it; the debits stay
 */

import { Catalogue, shown } from "./catalogue.js";
import { Connection } from "./connection.js";
import { Ledger } from "./ledger.js";
import { personalScores, toBase64 } from "./ranking.js";
import { labelMechanism, sketchMechanism } from "./releases.js";
import { answer, openStorage } from "./storage.js";

const API = 2, MOST_SKETCHES = 128, MOST_CLICKS = 1000;
const CHOICES = { epsilon: null, openCategories: [] };

export async function openDevice({ url = "", fetch, random, now, database = "discreet" } = {}) {
  random ??= (count) => crypto.getRandomValues(new Uint8Array(count));
  now ??= () => Date.now() / 1000;
  const storage = await openStorage(database);
  const server = new Connection(url, fetch ?? ((...request) => globalThis.fetch(...request)), now, storage);
  const device = new Device({ server, random, now, storage });
  await device.load();
  return device;
}

class Device {
  #server;
  #random;
  #now;
  #storage;
  #ledger;
  #etag = "";
  #choices = CHOICES;
  #catalogue;
  #clicks = [];
  model = null;

  constructor({ server, random, now, storage }) {
    this.#server = server;
    this.#random = random;
    this.#now = now;
    this.#storage = storage;
    this.#ledger = new Ledger(storage, random, now);
    this.#catalogue = new Catalogue(storage);
  }

  /** Everything that is kept, into memory. */
  async load() {
    const kept = await this.#storage.meta("model");
    this.#choices = (await this.#storage.meta("choices")) ?? CHOICES;
    this.#clicks = await this.#storage.all("clicks");
    await this.#server.load();
    await this.#catalogue.load();
    if (kept) {
      this.#etag = kept.etag;
      await this.#begin(kept.model);
    }
  }

  status() {
    const { size } = this.#catalogue.articles;
    const stopped = this.#stopped();
    return { online: this.#server.online, problem: this.#server.problem, articles: size, clicks: this.#clicks.length, stopped };
  }

  async refresh() {
    const reply = await this.#server.ask("GET", "/v1/model", null, this.#etag);
    if (reply?.status === 200) {
      await this.#understanding(async () => {
        const model = JSON.parse(reply.text);
        if (model.api !== API || model.unit !== "click") throw new Error(`api ${model.api} is not known to this page`);
        const { sketch, label, lifetime } = model.epsilon;
        if (!(sketch >= 0 && label >= 0 && sketch + label <= lifetime)) throw new Error("its ε do not add up");
        this.#etag = reply.etag;
        await this.#storage.keepMeta("model", { model, etag: reply.etag });
        await this.#begin(model);
      });
    }
    if (reply && this.model) await this.#understanding(() => this.#catalogue.fetch(this.#server, this.model.model));
    return this.status();
  }

  articles() {
    const read = new Set(this.#clicks.map((click) => click.article));
    return [...this.#catalogue.articles.values()].map((a) => shown(a, read.has(a.id))).sort((a, b) => b.base - a.base);
  }

  async front(limit = 20, { category = null } = {}) {
    this.#requireModel();
    if (this.model.ranking !== "local" && this.#makesSketches()) {
      const reply = await this.#server.ask("POST", "/v1/recommend", await this.#recommendBody(limit, category));
      if (reply?.status === 200) {
        const front = await this.#understanding(() => this.#slate(JSON.parse(reply.text), limit));
        if (front) return front;
      }
    }
    const candidates = [...this.#catalogue.articles.values()].filter((a) => category === null || a.category === category);
    const articles = this.#rank(candidates, candidates.map((article) => article.base));
    return { articles: articles.slice(0, limit), slate: null, ranking: "local", personal: this.#clicks.length > 0 };
  }

  again({ articles, ...front }) {
    const candidates = articles.map((article) => this.#catalogue.articles.get(article.id) ?? { ...article, vector: "" });
    let ranked = this.#rank(candidates, articles.map(({ score, personal }) => score - personal));
    const places = new Map(articles.map((article, place) => [article.id, place]));
    if (front.ranking === "server") ranked = ranked.sort((a, b) => places.get(a.id) - places.get(b.id));
    return { ...front, articles: ranked, personal: this.#clicks.length > 0 };
  }

  async clicked(id, slate = null) {
    this.#requireModel();
    const article = this.#catalogue.articles.get(id) ?? { category: "", topic: 0, vector: "" };
    const category = article.category ?? "";
    await this.#storage.add("clicks", {
      time: Math.floor(this.#now()), epoch: await this.#ledger.currentEpoch(), article: id, category, slate,
      open: this.#choices.openCategories.includes(category), space: this.model.space, topic: article.topic,
      vector: article.vector,
    });
    this.#clicks = await this.#storage.all("clicks");
  }

  async releaseDue() {
    this.#requireModel();
    const before = this.sent().at(-1)?.number ?? 0;
    await this.#reportLabels();
    if (this.model.reports) for (const sketch of await this.#sketches()) await this.#reportSketch(sketch);
    for (const { number, body } of await this.#storage.all("reports")) {
      const reply = await this.#server.ask("POST", "/v1/reports", body);
      if (!reply || reply.status >= 500 || reply.status === 429) break;
      await this.#storage.transaction(["reports"], "readwrite", ({ reports }) => answer(reports.delete(number)));
    }
    return this.sent().filter((entry) => entry.number > before);
  }

  sent() {
    return this.#server.sent.map((entry) => ({ ...entry }));
  }

  kept() {
    const topics = new Array(this.model?.topics ?? 0).fill(0), categories = {};
    for (const click of this.#clicks) {
      topics[this.#topic(click)]++;
      categories[click.category] = (categories[click.category] ?? 0) + 1;
    }
    const read = [...new Set(this.#clicks.map((click) => click.article))];
    const open = this.#clicks.filter((click) => click.open).length;
    return { clicks: this.#clicks.length, open, topics, categories, read };
  }

  budget() {
    this.#requireModel();
    return this.#ledger.statement();
  }

  statement() {
    const { lifetime, adjacency, worst, user, debits } = this.budget();
    const { clicks, open } = this.kept();
    const change = adjacency === "substitute" ? "replaced by another" : "there or not";
    const lines = [
      `Any one of your clicks may cost at most ε = ${lifetime} over its life (a click ${change}, against the server).`,
      `The most that one click has cost so far is ε = ${worst}; all of them together at most ε = ${user}.`,
      `${debits.length} releases were paid for. ${clicks} clicks are kept on this device.`,
    ];
    if (open) lines.push(`${open} of them are counted in clear, as you chose. Nothing protects these.`);
    const stopped = this.#stopped();
    if (stopped) lines.push(`Nothing more is released: ${stopped}.`);
    return lines;
  }

  settings(choices) {
    return choices === undefined ? { ...this.#choices } : this.#choose(choices);
  }

  async forget() {
    this.#requireModel();
    const gone = ["clicks", "slates", "sketches", "reports", "sent"];
    await this.#ledger.forget(gone, (stores) => Promise.all(gone.map((name) => answer(stores[name].clear()))));
    this.#clicks = [];
    await this.#server.load();
  }

  async #choose({ epsilon = this.#choices.epsilon, openCategories = this.#choices.openCategories }) {
    const most = this.model?.epsilon.lifetime ?? Infinity;
    if (epsilon !== null && !(epsilon >= 0 && epsilon <= most)) {
      throw new RangeError(`your ε may be from 0 to the publisher's ${most}, not ${epsilon}`);
    }
    this.#choices = { epsilon, openCategories: [...openCategories] };
    await this.#storage.keepMeta("choices", this.#choices);
    return this.settings();
  }

  async #begin(model) {
    this.model = model;
    await this.#ledger.open(model);
  }

  #stopped() {
    return this.model ? this.#ledger.conflict(this.model) : null;
  }

  #requireModel() {
    if (!this.model) throw new Error(this.#server.problem ?? "the server was never reached, so there is nothing to show");
  }

  async #recommendBody(limit, category) {
    const sketches = (await this.#sketches()).map(({ epoch, clicks, payload }) => ({
      epoch, clicks, release: toBase64(payload),
    }));
    const body = { space: this.model.space, sketches, limit: Math.min(500, Math.max(limit, this.model.shortlist_size)) };
    const open = this.#clicks.filter((click) => click.open);
    if (open.length) {
      body.open = new Array(this.model.topics).fill(0);
      for (const click of open) body.open[this.#topic(click)]++;
    }
    if (category !== null) body.category = [category];
    return JSON.stringify(body);
  }

  /** The server's slate as the reader sees it: re-ranked here, or in the server's order; never what was read. */
  async #slate({ slate, model, articles, signature }, limit) {
    const ids = articles.map((article) => article.id);
    const epoch = await this.#ledger.currentEpoch();
    await this.#storage.add("slates", { id: slate, model, articles: ids, signature, epoch });
    const known = ids.map((id) => this.#catalogue.articles.get(id) ?? { id, title: "", category: "", vector: "" });
    let ranked = this.#rank(known, articles.map((article) => article.base));
    if (this.model.ranking === "server") ranked = ranked.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id));
    const { ranking } = this.model;
    return { articles: ranked.slice(0, limit), slate, ranking, personal: this.#clicks.length > 0 };
  }

  #rank(candidates, bases) {
    const vectors = this.#clicks
      .map((click) => this.#catalogue.articles.get(click.article) ?? (click.space === this.model.space ? click : {}))
      .map((article) => article.vector)
      .filter(Boolean);
    const own = personalScores(candidates.map((article) => article.vector), vectors, this.model);
    const read = new Set(this.#clicks.map((click) => click.article));
    return candidates
      .map((article, i) => ({ ...shown(article, read.has(article.id)), score: bases[i] + own[i], personal: own[i] }))
      .filter((article) => !article.read)
      .sort((a, b) => b.score - a.score);
  }

  /** The topic of a click in the current space; 0 for an article that is known in an older space only. */
  #topic(click) {
    const article = this.#catalogue.articles.get(click.article) ?? (click.space === this.model?.space ? click : { topic: 0 });
    return article.topic >= 0 && article.topic < (this.model?.topics ?? 0) ? article.topic : 0;
  }

  #makesSketches() {
    const { sketch } = this.model.epsilon;
    return sketch > 0 && (this.#choices.epsilon === null || this.#choices.epsilon >= sketch);
  }

  #hidesLength() {
    return this.model.adjacency === "add/remove";
  }

  /** A sketch of each finished epoch, made when it is first asked for and then kept. */
  async #sketches() {
    if (!this.#makesSketches()) return [];
    const current = await this.#ledger.currentEpoch();
    const { created, forgottenThrough } = this.#ledger.header;
    const first = Math.max(this.#ledger.epochAt(created), forgottenThrough + 1, current - MOST_SKETCHES, 0);
    const plans = new Map((await this.#storage.all("sketches")).map((plan) => [plan.epoch, plan]));
    const made = [];
    for (let epoch = first; epoch < current; epoch++) {
      const sketch = await this.#sketch(epoch, plans.get(epoch));
      if (sketch) made.push(sketch);
    }
    return made;
  }

  async #sketch(epoch, plan) {
    const all = this.#clicks.filter((click) => click.epoch === epoch && !click.open);
    const clicks = this.#hidesLength() ? all : all.slice(-MOST_CLICKS);
    if (!plan) {
      if (this.#stopped() || (!clicks.length && !this.#hidesLength())) return null;
      plan = { epoch, space: this.model.space, clicks: clicks.length, pseudonym: this.#randomId(), reported: false };
      await this.#storage.add("sketches", plan);
    }
    if (plan.space !== this.model.space) return null;
    const topics = clicks.map((click) => this.#topic(click));
    const mechanism = sketchMechanism(topics, this.model.topics, this.model.epsilon.sketch, this.#hidesLength());
    const release = await this.#ledger.release("sketch", epoch, "", mechanism, clicks.length);
    return release && { epoch, clicks: this.#hidesLength() ? null : plan.clicks, ...release, plan };
  }

  async #reportSketch({ epoch, clicks, payload, epsilon, plan }) {
    if (plan.reported || epsilon !== this.model.epsilon.sketch) return;
    const fields = { id: this.#randomId(), kind: "sketch", space: plan.space, epoch, device: plan.pseudonym, clicks };
    const body = JSON.stringify({ ...fields, release: toBase64(payload) });
    await this.#storage.transaction(["sketches", "reports"], "readwrite", async ({ sketches, reports }) => {
      if ((await answer(sketches.get(epoch))).reported) return;
      sketches.put({ ...plan, reported: true });
      await answer(reports.add({ body }));
    });
  }

  /** Labels serve training alone, so only under the publisher's own ε; and never where the number of clicks is hidden. */
  #makesLabels() {
    const { sketch, label } = this.model.epsilon;
    const wanted = this.model.reports && label > 0 && !this.#hidesLength() && !this.#stopped();
    return wanted && (this.#choices.epsilon === null || this.#choices.epsilon >= sketch + label);
  }

  async #reportLabels() {
    const current = await this.#ledger.currentEpoch();
    const slates = await this.#storage.all("slates");
    const finished = slates.filter((slate, i) => i < slates.length - 1 || slate.epoch < current);
    for (const slate of finished) {
      const payload = await this.#label(slate);
      const body = payload && JSON.stringify({
        id: this.#randomId(), kind: "label", model: slate.model,
        slate: { id: slate.id, articles: slate.articles, signature: slate.signature }, release: toBase64(payload),
      });
      await this.#storage.transaction(["slates", "reports"], "readwrite", async (stores) => {
        await answer(stores.slates.delete(slate.number));
        if (body) await answer(stores.reports.add({ body }));
      });
    }
  }

  /** One of the clicks in the epoch of the slate's first one, drawn at random, for the slate as the server sent it. */
  async #label(slate) {
    const clicks = this.#clicks.filter((c) => c.slate === slate.id && slate.articles.includes(c.article));
    if (!clicks.length || slate.articles.length < 2 || !this.#makesLabels()) return null;
    const epoch = Math.min(...clicks.map((click) => click.epoch));
    const places = clicks.filter((c) => c.epoch === epoch).map((c) => slate.articles.indexOf(c.article));
    const distinct = [...new Set(places)].sort((a, b) => a - b);
    const mechanism = labelMechanism(distinct, slate.articles.length, this.model.epsilon.label);
    return (await this.#ledger.release("label", epoch, slate.id, mechanism, distinct.length))?.payload;
  }

  #randomId() {
    return [...this.#random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** An answer that makes no sense becomes a problem in `status()`, and what was there before stays in use. */
  async #understanding(work) {
    try {
      return await work();
    } catch (error) {
      this.#server.problem = `the server's answer cannot be used: ${error.message}`;
      return null;
    }
  }
}
