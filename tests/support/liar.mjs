/* A publisher that lies: an honest one whose answers are changed in any field, replaced, repeated, refused or lost, and
   whose terms, articles and slates change as suits it. All of it follows from a seed and from what it is asked. */

import { sha256 } from "/web/device/sha256.js";
import { CATEGORIES, Publisher } from "/support/mock_publisher.mjs";

/** Numbers in [0, 1) from a seed (mulberry32). */
export function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const pick = (draw, list) => list[Math.floor(draw() * list.length)];

const NASTY = [null, true, false, -1, 0, 1, 1.5, 1e30, -1e7, 2 ** 53, "", "x", "\u0000", "\ud800", "é".repeat(2100), [], {}, [[[]]], "__proto__"];
const STATUSES = [201, 204, 304, 400, 401, 403, 404, 409, 413, 422, 429, 500, 503];
const BROKEN = ["", "null", "[]", "{", "\ufeff{}", "<html>", "NaN", "1e999"];
const EPSILONS = [[0.7, 0.3], [0.3, 0.7], [0.1, 0.4], [0.4, 0.1], [0.1, 0.4], [0.4, 0.1], [0.5, 0.5], [0.5, 0], [0, 0.5], [1, 0]];
const DAY = 86400;

/** How often a liar lies in what; each prefers something, so that the rest of the conversation goes on. */
const LIARS = [
  { answers: 0.15 }, { answers: 0.4 }, { terms: 0.6 }, { terms: 0.3, slates: 0.2 }, { articles: 0.7 }, { slates: 0.6 }, { slates: 0.6 },
  { answers: 0.05, terms: 0.15, articles: 0.3, slates: 0.3 }, {},
];

export class Liar extends Publisher {
  names = new Set();
  lastSlate = [];

  constructor(seed) {
    const draw = chance(seed);
    const [sketch, label] = pick(draw, EPSILONS);
    super({
      articles: 26, topics: 4, shortlist_size: 14, epsilon: { sketch, label, lifetime: 1 },
      adjacency: draw() < 0.7 ? "substitute" : "add/remove", ranking: pick(draw, ["shortlist", "shortlist", "server", "local"]),
    });
    this.pageSize = 9;
    this.draw = draw;
    this.rates = { answers: 0, terms: 0, articles: 0, slates: 0, ...pick(draw, LIARS) };
    this.answers = [];
    this.known = new Set(this.articles.map((article) => article.id));
    this.made = 0;
    this.honest = { model: this.model, articles: this.articles };
    if (draw() < 0.1) this.lieInTerms();
  }

  fetch = async (asked, { method, headers, body }) => {
    this.sent.push({ method, url: asked, headers: { ...headers }, body: body ?? "" });
    const url = asked.split("?")[0];
    const does = (what) => this.draw() < this.rates[what];
    if (url === "/v1/model" && does("terms")) this.lieInTerms();
    if (url === "/v1/catalogue" && does("articles")) this.lieInArticles();
    let [status, value] = this.answer(method, url, body ? JSON.parse(body) : null);
    if (url === "/v1/recommend" && does("slates")) value = this.lieInSlates(value);
    let text = typeof value === "string" ? value : JSON.stringify(value);
    if (does("answers")) [status, text] = this.lie(url, status, text);
    this.answers.push({ url, text });
    this.remember(url, status, text);
    const bare = status === 204 || status === 304;
    return new Response(bare ? null : text, { status, headers: { ETag: `"${this.answers.length}"` } });
  };

  /** Another answer to this request. */
  lie(url, status, text) {
    const way = this.draw();
    if (way < 0.08) throw new TypeError("Failed to fetch");
    if (way < 0.2) return [pick(this.draw, STATUSES), this.draw() < 0.5 ? text : '{"error":"no"}'];
    if (way < 0.27) return [200, pick(this.draw, BROKEN)];
    if (way < 0.32) return [200, text.slice(0, Math.floor(this.draw() * text.length))];
    if (way < 0.42) return [200, pick(this.draw, this.answers.filter((old) => old.url === url))?.text ?? text];
    if (way < 0.46) return [200, pick(this.draw, this.answers)?.text ?? text];
    const value = JSON.parse(text);
    for (let times = 1 + Math.floor(this.draw() * 2); times > 0; times--) this.mutate(value);
    return [status, JSON.stringify(value)];
  }

  /** Change one place of a value: another value, nothing, one more, another order, less. */
  mutate(value) {
    const places = [];
    const walk = (part) => Object.keys(part).forEach((key) => {
      places.push([part, key]);
      if (part[key] && typeof part[key] === "object") walk(part[key]);
    });
    if (!value || typeof value !== "object") return;
    walk(value);
    if (!places.length) return;
    const [part, key] = pick(this.draw, places), way = this.draw();
    if (way < 0.2) Array.isArray(part) ? part.splice(Number(key), 1) : delete part[key];
    else if (way < 0.3 && Array.isArray(part)) part.push(part[key]);
    else if (way < 0.4 && Array.isArray(part)) part.reverse();
    else if (way < 0.5) part[key] = pick(this.draw, places)[0];
    else if (way < 0.6 && typeof part[key] === "number") part[key] += pick(this.draw, [-1, 1, 0.5, -0.5]);
    else part[key] = pick(this.draw, NASTY);
    try {
      JSON.stringify(value);
    } catch {
      part[key] = null; // it had come to hold itself
    }
  }

  /** Terms that are well formed, and perhaps not what was promised. */
  lieInTerms() {
    const { draw } = this;
    const model = draw() < 0.5 ? this.honest.model : this.model;
    const [sketch, label] = pick(draw, EPSILONS);
    const changes = [
      { adjacency: model.adjacency === "substitute" ? "add/remove" : "substitute" }, { epsilon: { sketch, label, lifetime: 1 } },
      { adjacency: model.adjacency === "substitute" ? "add/remove" : "substitute" }, { epsilon: { sketch, label, lifetime: 1 } },
      { epsilon: { sketch, label, lifetime: pick(draw, [1, 2, 10, 0.5, 100]) } }, { reports: draw() < 0.7 }, { diversity: draw() },
      { schedule: { ...model.schedule, length_seconds: pick(draw, [DAY, 3600, 7 * DAY, 60, 1]) } }, { topics: pick(draw, [4, 5, 3, 1, 1024]) },
      { ranking: pick(draw, ["local", "shortlist", "server"]) }, { shortlist_size: pick(draw, [1, 5, 14, 26, 500]) },
      { space: `space-${++this.made}` }, { model: `model-${++this.made}`, space: `space-${this.made}` }, { weights: { interest: 1e6, mean: 1e6, nearest: -1e6, category: 1e6 } },
    ];
    this.model = { ...model, ...pick(draw, changes) };
  }

  /** Articles that change, come and go; pages are named by what is in them, so their names hold. */
  lieInArticles() {
    const { draw } = this;
    this.articles = [...(draw() < 0.6 ? this.honest.articles : this.articles)];
    const article = pick(draw, this.articles), way = draw();
    const place = this.articles.indexOf(article);
    const free = { ...article };
    if (way < 0.3) free.category = pick(draw, CATEGORIES);
    else if (way < 0.4) free.title = `Title ${draw()}`;
    else if (way < 0.5) free.topic = pick(draw, [0, 1, 2, 3]);
    else if (way < 0.53) free.topic = pick(draw, [1.5, -1, 4, 1e30, "1", null]);
    else if (way < 0.6) this.articles.forEach((other, n) => n % 5 === 0 && (this.articles[n] = { ...other, topic: pick(draw, [1.5, 3.5, 2]) }));
    else if (way < 0.7) this.articles.forEach((other, n) => (this.articles[n] = { ...other, topic: other === article ? 3 : n % 3 }));
    else if (way < 0.8) free[pick(draw, ["id", "title", "category", "vector", "url", "published"])] = pick(draw, NASTY);
    if (way < 0.53 || way >= 0.7) this.articles[place] = free;
    if (way >= 0.8 && way < 0.9 && this.articles.length > 12) this.articles.splice(place, 1);
    if (way >= 0.9) this.articles.push({ ...article, id: `N${100 + ++this.made}` });
    this.articles.forEach(({ id }) => this.known.add(id));
  }

  /** A slate's name with other articles, the same slate again, articles that do not exist, the same one twice. */
  lieInSlates(honest) {
    const { draw } = this;
    const old = pick(draw, this.answers.filter(({ url }) => url === "/v1/recommend"));
    let before = null;
    try {
      before = old && JSON.parse(old.text);
    } catch {
      // that one was broken
    }
    const way = draw(), some = this.articles.filter(() => draw() < 0.5).map(({ id, base }) => ({ id, base }));
    if (way < 0.45 && before?.slate) return { ...honest, slate: before.slate, signature: before.signature, articles: some };
    if (way < 0.6 && before) return before;
    const made = Array.from({ length: 12 }, (_, n) => ({ id: `fake-${n}`, base: 1 }));
    if (way < 0.8) return { ...honest, articles: [...made, ...some.slice(0, 1 + Math.floor(draw() * 4))] };
    return { ...honest, articles: [...honest.articles, honest.articles[0]] };
  }

  /** What of this answer a device may use later: names that it may send back, and the ids of the latest slate. */
  remember(url, status, text) {
    try {
      this.names.add(sha256(new TextEncoder().encode(text)));
      const value = JSON.parse(text);
      if (typeof value?.space === "string") this.names.add(value.space);
      if (url === "/v1/recommend") this.lastSlate = value.articles.map((article) => article.id);
    } catch {
      // nothing to remember
    }
  }
}
