/* A publisher in the page itself, that speaks the protocol through a mock of fetch, honestly; and devices that use it. */

import { sha256 } from "/web/device/sha256.js";
import { scripted } from "/support/device_vectors.mjs";

export const WEEK = 604800, START = Date.parse("2026-01-01T00:00:00+00:00") / 1000;
export const CATEGORIES = ["sports", "health", "politics", "food"];
const DIMENSION = 8;

export function base64(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer ?? bytes)));
}

export function terms(changes = {}) {
  return {
    api: 3, model: "model-1", space: "space-1", topics: 6, epsilon: { sketch: 0.7, label: 0.3, lifetime: 1 }, unit: "click",
    adjacency: "substitute", schedule: { start: "2026-01-01T00:00:00+00:00", length_seconds: WEEK }, ranking: "shortlist",
    shortlist_size: 30, diversity: 0, weights: { interest: 2, mean: 0, nearest: 0, category: 0 }, categories: [], reports: true, words: [], rankings: [],
    vectors: { dimension: DIMENSION, scale: 0.01, unit: 1, centre: Array.from({ length: DIMENSION }, (_, i) => 0.01 * i) }, ...changes,
  };
}

export class Publisher {
  sent = [];
  reports = new Map();
  offline = false;
  pageSize = 16;
  slates = 0;

  constructor({ articles = 40, topics = 6, seed = 7, ...changes } = {}) {
    const random = scripted("", seed);
    this.model = terms({ topics, ...changes });
    this.articles = Array.from({ length: articles }, (_, n) => ({
      id: `N${n}`, title: `Title of N${n}`, category: CATEGORIES[n % 4], topic: n % topics, published: START,
      vector: base64(Int8Array.from(random(DIMENSION), (byte) => (byte % 180) - 90)), base: Math.fround(1 - n / articles),
    }));
  }

  pages() {
    const pages = [];
    for (let from = 0; from < this.articles.length; from += this.pageSize) {
      const articles = this.articles.slice(from, from + this.pageSize).map(({ base, ...article }) => article);
      const text = JSON.stringify({ articles });
      pages.push({ name: sha256(new TextEncoder().encode(text)), articles: articles.length, text });
    }
    return pages;
  }

  /** The honest answer to a request: [status, value or text]. */
  answer(method, path, body) {
    if (path === "/v1/model") return [200, this.model];
    if (path === "/v1/catalogue") return [200, this.catalogue()];
    if (path.startsWith("/v1/catalogue/")) {
      const page = this.pages().find(({ name }) => path.endsWith(name));
      return page ? [200, page.text] : [404, { error: "no such page" }];
    }
    if (path === "/v1/recommend") return [200, this.recommend(body)];
    if (path === "/v1/reports") return this.report(body);
    return [404, { error: "there is nothing here" }];
  }

  catalogue() {
    const best = this.best().slice(0, 12);
    return {
      model: this.model.model, space: this.model.space, pages: this.pages().map(({ name, articles }) => ({ name, articles })),
      bases: base64(Float32Array.from(this.articles, (article) => article.base)),
      front: best.map(({ base, ...article }) => article), front_bases: best.map((article) => article.base),
    };
  }

  best() {
    return [...this.articles].sort((a, b) => b.base - a.base);
  }

  recommend({ limit }) {
    this.slates++;
    const articles = this.best().slice(0, limit).map(({ id, base }) => ({ id, base, score: base }));
    return { model: this.model.model, slate: this.slates.toString(16).padStart(32, "0"), signature: `signed-${this.slates}`, articles };
  }

  report(body) {
    if (this.reports.has(body.id)) return [200, { id: body.id }];
    this.reports.set(body.id, body);
    return [201, { id: body.id }];
  }

  fetch = async (url, { method, headers, body }) => {
    this.sent.push({ method, url, headers: { ...headers }, body: body ?? "" });
    if (this.offline) throw new TypeError("Failed to fetch");
    const [status, value] = this.answer(method, new URL(url, "http://discreet.test").pathname, body ? JSON.parse(body) : null);
    return new Response(typeof value === "string" ? value : JSON.stringify(value), { status, headers: { ETag: '"tracked"' } });
  };

  bodies(path) {
    return this.sent.filter(({ url }) => url === path).map(({ body }) => JSON.parse(body));
  }
}

/** A device of the publisher in this page, at window.device; the time is window.now. */
export async function open({ database = "test", seed = 0, epoch = 10, whole = true, firstPage, ...changes } = {}) {
  const { openDevice } = await import("/web/device/device.js");
  window.publisher ??= new Publisher(changes);
  window.now ??= START + epoch * WEEK + 3600;
  const random = seed ? scripted("", seed) : undefined;
  const fetch = (...request) => window.publisher.fetch(...request);
  window.device = await openDevice({ database, random, now: () => window.now, fetch, firstPage });
  await window.device.refresh();
  if (whole) await window.device.complete();
}
