/* The hostile-publisher audit: whole devices in conversation with a liar, two at a time, with different clicks and the
   same releases. Everything that leaves them must be equal, and nothing may break a promise. */

import { openStorage } from "/web/device/storage.js";
import { openDevice } from "/web/device/device.js";
import { LIMITS } from "/web/device/check.js";
import { scripted } from "/support/device_vectors.mjs";
import { START } from "/support/mock_publisher.mjs";
import { Liar, chance, pick } from "/support/liar.mjs";

/** Run conversations by seed until one shows something; {conversations, requests, releases, clicks, found}. */
export async function audit({ first, count }) {
  const total = { conversations: 0, requests: 0, releases: 0, clicks: 0, found: null };
  for (let seed = first; seed < first + count && !total.found; seed++) {
    const [one, other] = [await conversation(seed, 0), await conversation(seed, 1)];
    const difference = differs(one.liar.sent, other.liar.sent);
    const found = difference ?? one.problem ?? other.problem;
    if (found) total.found = `seed ${seed}: ${found}`;
    total.conversations++;
    total.requests += one.liar.sent.length;
    total.clicks += one.clicks;
    total.releases += one.liar.sent.filter(({ body }) => body.includes('"release"')).length;
  }
  return total;
}

function differs(one, other) {
  for (let place = 0; place < Math.max(one.length, other.length); place++) {
    const [a, b] = [one[place], other[place]].map((request) => JSON.stringify(request));
    if (a !== b) return `request ${place} differs with the clicks: ${a?.slice(0, 300)} against ${b?.slice(0, 300)}`;
  }
  return null;
}

async function conversation(seed, who) {
  const reader = new Reader(seed, who);
  try {
    await reader.begin();
    for (let steps = 3 + Math.floor(reader.draw() * 5); steps > 0 && !reader.problem; steps--) await reader.step();
    await reader.end();
  } catch (error) {
    reader.problem ??= `${error.stack}`.slice(0, 400);
  }
  reader.judge();
  return reader;
}

/** A reader who does the same things as another, but clicks other articles. */
class Reader {
  problem = null;
  clicks = 0;
  opened = new Set();
  limit = null;
  sketched = 0;
  slate = null;
  slateIds = [];

  constructor(seed, who) {
    this.who = who;
    this.draw = chance(seed + 1e6);
    this.liar = new Liar(seed);
    this.now = START + 30 * 86400 + 3600;
    this.random = scripted("", seed + 1);
  }

  async begin() {
    this.storage = await openStorage(null);
    await this.open();
    await this.fetchAll();
    if (this.draw() < 0.4) {
      this.limit = pick(this.draw, [0.5, 0.4, 0.7]);
      await this.device.settings({ epsilon: this.limit }).catch(() => (this.limit = null));
    }
  }

  async open() {
    const { storage: database, random } = this;
    this.device = await openDevice({ database, random, now: () => this.now, fetch: (...request) => this.liar.fetch(...request) });
  }

  async fetchAll() {
    await this.device.refresh();
    await this.device.complete();
  }

  async step() {
    const way = this.draw();
    if (way < 0.15) await this.fetchAll();
    else if (way < 0.5) await this.visit();
    else if (way < 0.6) await this.click(false);
    else if (way < 0.68) await this.due();
    else if (way < 0.82) this.now += this.draw() * 10 * 86400;
    else if (way < 0.85) this.now -= this.draw() * 5 * 86400;
    else if (way < 0.92) await this.openCategory();
    else if (way < 0.95) await this.open();
    else await this.forget();
  }

  async visit() {
    await this.front();
    for (let times = 1 + Math.floor(this.draw() * 2); times > 0; times--) await this.click(true);
    if (this.draw() < 0.5) return;
    await this.front();
    await this.due();
  }

  async end() {
    for (let times = 0; times < 3 && !this.problem; times++) {
      await this.visit();
      await this.due();
      this.now += 8 * 86400;
      await this.fetchAll();
    }
    await this.front();
    await this.due();
  }

  async front() {
    if (!this.device.model) return;
    const { slate } = await this.watched(() => this.device.front(14));
    this.slate = slate;
    this.slateIds = slate === null ? [] : this.liar.lastSlate;
  }

  async due() {
    if (this.device.model) await this.watched(() => this.device.releaseDue());
  }

  /** Both readers draw the same numbers; each takes the article that is meant for it. Neither is one they declared open. */
  async click(wantsSlate) {
    const places = [this.draw(), this.draw()], inSlate = wantsSlate && this.slate !== null, isSilent = this.draw() < 0.5;
    const wanted = new Set(this.slateIds);
    const shown = this.device.articles().filter(({ id }) => !this.opened.has(id) && wanted.has(id) === inSlate).map(({ id }) => id).sort();
    if (!shown.length) return;
    const hidden = this.adjacency() === "add/remove";
    if (this.who === 1 && hidden && isSilent) return; // where the number is a secret, neighbours have fewer clicks
    this.clicks++;
    await this.device.clicked(shown[Math.floor(places[this.who] * shown.length)], inSlate ? this.slate : null);
  }

  async openCategory() {
    const category = pick(this.draw, this.device.categories().map((entry) => entry.category).sort());
    if (category === undefined) return;
    for (const article of this.device.articles()) if (article.category === category) this.opened.add(article.id);
    await this.device.settings({ openCategories: [...new Set([...this.device.settings().openCategories, category])] });
  }

  async forget() {
    await this.device.forget();
    this.liar.names.clear();
    this.slate = null;
    this.sketched = 0;
    await this.front();
    await this.fetchAll();
  }

  adjacency() {
    try {
      return this.device.budget().adjacency;
    } catch {
      return null; // nothing was promised yet
    }
  }

  /** Whatever is sketched, is sketched over topics that several articles share; and no name outlives forgetting. */
  async watched(work) {
    const from = this.liar.sent.length, names = new Set(this.liar.names);
    const result = await work();
    const made = this.device.budget().debits.filter((debit) => debit.purpose === "sketch" && debit.state === "released").length;
    if (made > this.sketched) {
      const sizes = new Map();
      for (const { topic } of this.device.articles()) sizes.set(topic, (sizes.get(topic) ?? 0) + 1);
      if ([...sizes.values()].some((size) => size < 3)) this.problem ??= "a sketch over a topic of one or two articles";
    }
    this.sketched = made;
    for (const { url, body } of this.liar.sent.slice(from)) {
      const held = url.split("?holds=")[1], isOld = url === "/v1/recommend" ? !names.has(JSON.parse(body).space) : held && !this.liar.names.has(held);
      if (isOld) this.problem ??= "a name from before forgetting was sent";
    }
    return result;
  }

  /** The promises that do not compare two readers. */
  judge() {
    const { sent, known } = this.liar;
    const fail = (words) => (this.problem ??= words);
    for (const { url, headers, body } of sent) {
      if (Object.keys(headers).some((name) => name !== "Content-Type")) fail(`a header goes with ${url}: ${JSON.stringify(headers)}`);
      if (!/^\/v1\/((model|catalogue)(\?holds=[0-9a-f]{64})?|catalogue\/[0-9a-f]{64}|recommend|reports)$/.test(url)) fail(`${url} was asked for`);
      const report = url === "/v1/reports" ? JSON.parse(body) : {};
      if (report.kind === "label" && report.slate.articles.filter((id) => known.has(id)).length < 10) fail("a label of a slate with few articles");
    }
    if (this.device?.model && this.device.model.schedule.length_seconds < 86400) fail("an epoch shorter than a day was accepted");
    if (this.device?.model && this.device.model.epsilon.lifetime > LIMITS.max_epsilon) fail("an ε that protects nothing was accepted");
    if (this.adjacency() === null) return;
    const { debits, lifetime } = this.device.budget();
    const parts = debits.filter((debit) => debit.part).map((debit) => debit.part);
    const epochs = debits.filter((debit) => debit.purpose === "sketch").map((debit) => debit.epoch);
    if (new Set(parts).size !== parts.length) fail("a slate has two labels");
    if (new Set(epochs).size !== epochs.length) fail("an epoch has two sketches");
    for (const { epoch, epsilon } of debits.filter((debit) => debit.purpose === "label")) {
      const sketch = debits.find((debit) => debit.purpose === "sketch" && debit.epoch === epoch)?.epsilon ?? 0;
      if (sketch + epsilon > Math.min(this.limit ?? Infinity, lifetime) + 1e-9) fail(`a click paid ${sketch} + ${epsilon}`);
    }
    if (debits.some((debit) => debit.epsilon > (this.limit ?? lifetime))) fail("a release above the reader's limit");
  }
}
