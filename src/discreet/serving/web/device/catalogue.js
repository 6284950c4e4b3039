/**
 * The publisher's articles: public, the same bytes for every device, taken whole or not at all.
 *
 * The catalogue is a list of pages that are named by their SHA-256. What it shows first comes with it (`front`); the
 * pages that are not here yet follow, the newest first, each kept as it comes, so that a broken connection costs
 * nothing. When all are there and fit together, the new catalogue takes the old one's place.
 */

import { canonical } from "./addresses.js";
import { LIMITS, NotAsAgreed, read } from "./check.js";
import { Polled } from "./polled.js";
import { fromBase64 } from "./ranking.js";
import { sha256 } from "./sha256.js";

const NOTHING = { model: null, space: null, articles: [], byId: new Map() };
const MAX_BASE = 1e6;

export class Catalogue {
  #storage;
  #whole = NOTHING;
  #coming = null;
  #front = NOTHING;
  #together = null;
  #pages = new Map();
  #list = new Polled("/v1/catalogue");

  constructor(storage) {
    this.#storage = storage;
  }

  /** What was kept, into memory. */
  async load() {
    const [whole, coming] = await this.#storage.transaction(["meta"], "readonly", async ({ meta }) =>
      [(await meta.get("catalogue"))?.value, (await meta.get("coming"))?.value]);
    this.#whole = NOTHING;
    this.#list.drop();
    this.#coming = coming ?? null;
    this.#front = coming?.front ?? NOTHING;
    this.#together = null;
    this.#pages = await this.#kept(whole?.pages ?? []);
    if (whole && this.#pages.size === whole.pages.length) this.#whole = assembled(whole, this.#pages);
  }

  get model() {
    return this.#known().model;
  }

  /** The space of these articles' topics. */
  get space() {
    return this.#known().space;
  }

  /** Every article that is known here, in the catalogue's order. */
  get articles() {
    return this.#known().articles;
  }

  get(id) {
    return this.#known().byId.get(id);
  }

  /** The article with this id or at this address. */
  find(name) {
    const address = canonical(name);
    return this.get(name) ?? this.articles.find(({ url }) => url && canonical(url) === address);
  }

  /** Whether so many articles are on a topic that it names none of them. */
  isShared(topic) {
    return (this.#topicSizes().get(topic) ?? 0) >= LIMITS.min_topic_articles;
  }

  /** Whether all topics that have articles are shared; not without a catalogue. */
  get allShared() {
    const topics = [...this.#topicSizes().keys()];
    return topics.length > 0 && topics.every((topic) => this.isShared(topic));
  }

  /** The topic of a click in the terms' space; 0 for an article that is known in another space only. */
  topicOf(click, terms) {
    const article = this.space === terms.space ? this.get(click.article) : undefined;
    const topic = article?.topic ?? (click.space === terms.space ? click.topic : 0);
    return Number.isInteger(topic) && topic >= 0 && topic < terms.topics ? topic : 0;
  }

  /** The article of a click as it is listed, or as it was: {vector, category, section}; no vector if that is of another space. */
  asRead(click, terms) {
    const article = this.space === terms.space ? this.get(click.article) : undefined;
    if (article) return article;
    return { vector: click.space === terms.space ? click.vector : null, category: click.category, section: click.section };
  }

  /** Whether pages are still to come. */
  get isComing() {
    return this.#coming !== null;
  }

  /** Ask for the list of pages. What comes with it is shown until the pages are there. `isAnew` asks whatever is here. */
  async refresh(server, terms, isAnew) {
    const bytes = await this.#list.ask(server, isAnew);
    if (!bytes) return;
    const coming = comingFrom(bytes, terms);
    await this.#storage.transaction(["meta", "pages"], "readwrite", async ({ meta, pages }) => {
      const wanted = new Set([...coming.pages, ...((await meta.get("catalogue"))?.value.pages ?? [])].map((page) => page.name));
      for (const name of await pages.keys()) if (!wanted.has(name)) await pages.delete(name);
      await meta.put({ name: "coming", value: coming });
    });
    this.#coming = coming;
    this.#front = coming.front;
    this.#together = null;
    this.#list.hold(bytes);
  }

  /** Fetch the pages that are not here; when all are, they are the catalogue. */
  async complete(server, terms) {
    const coming = this.#coming;
    if (!coming || coming.model !== terms.model) return;
    const pages = await this.#kept(coming.pages);
    for (const page of pages.values()) if (!fits(page, terms)) pages.delete(page.name);
    for (const wanted of [...coming.pages].reverse()) {
      if (pages.has(wanted.name)) continue;
      const reply = await server.ask("GET", `/v1/catalogue/${wanted.name}`);
      if (reply?.status !== 200) return;
      const page = pageFrom(reply.bytes, wanted, terms);
      await this.#storage.transaction(["pages"], "readwrite", (stores) => stores.pages.put(page));
      pages.set(page.name, page);
    }
    const whole = assembled(coming, pages);
    if (this.#coming !== coming) return;
    const { front, ...value } = coming;
    await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      await meta.put({ name: "catalogue", value });
      await meta.delete("coming");
    });
    this.#whole = whole;
    this.#pages = pages;
    this.#coming = null;
    this.#front = NOTHING;
    this.#together = null;
  }

  #topicSizes() {
    const known = this.#known();
    return (known.topicSizes ??= sizesOf(known.articles));
  }

  #kept(wanted) {
    return this.#storage.transaction(["pages"], "readonly", async ({ pages }) => {
      const found = await Promise.all(wanted.map(({ name }) => this.#pages.get(name) ?? pages.get(name)));
      return new Map(found.filter(Boolean).map((page) => [page.name, page]));
    });
  }

  /** The whole catalogue, and what came with the next one; of another model, that alone. */
  #known() {
    if (this.#together) return this.#together;
    const { model, space, articles, byId } = this.#front;
    if (!articles.length) return (this.#together = this.#whole);
    if (this.#whole.model !== model) return (this.#together = this.#front);
    const older = this.#whole.articles.filter((article) => !byId.has(article.id));
    return (this.#together = indexed({ model, space, articles: [...articles, ...older] }));
  }
}

function indexed({ model, space, articles }) {
  return { model, space, articles, byId: new Map(articles.map((article) => [article.id, article])) };
}

function sizesOf(articles) {
  const sizes = new Map();
  for (const { topic } of articles) sizes.set(topic, (sizes.get(topic) ?? 0) + 1);
  return sizes;
}

/** A checked list of pages, with the articles to show first. */
function comingFrom(bytes, terms) {
  const { model, space, pages, bases, popularity, front, front_bases: frontBases, front_popularity: frontPopularity } = read("catalogue", bytes);
  if (model !== terms.model || space !== terms.space) refuse("it is of another model");
  const size = pages.reduce((sum, page) => sum + page.articles, 0);
  if (size > LIMITS.max_articles) refuse("it has too many articles");
  if (new Set(pages.map((page) => page.name)).size !== pages.length) refuse("a page is named twice");
  if (frontBases.length !== front.length || (frontPopularity ?? front).length !== front.length) refuse("its first articles and their scores do not fit together");
  const { articles, vectors } = unpacked(front, terms);
  const shown = withVectors(articles, vectors, frontBases, frontPopularity);
  const scores = { bases: floats(bases, size), popularity: popularity === undefined ? null : floats(popularity, size) };
  return { model, space, pages, ...scores, front: indexed({ model, space, articles: distinct(shown) }) };
}

/** A checked page: its articles, and their vectors one after the other. */
function pageFrom(bytes, { name, articles: size }, terms) {
  if (sha256(bytes) !== name) refuse("a page is not what its name says");
  const page = read("page", bytes).articles;
  if (page.length !== size) refuse("a page has another number of articles");
  return { name, ...unpacked(page, terms) };
}

function unpacked(articles, { topics, vectors: { dimension } }) {
  const vectors = new Int8Array(articles.length * dimension);
  articles.forEach(({ topic, vector }, place) => {
    if (topic >= topics) refuse("an article has a topic that there is not");
    const bytes = vector.length % 4 ? null : fromBase64(vector);
    if (bytes?.length !== dimension) refuse("an article's vector has another length");
    vectors.set(new Int8Array(bytes.buffer), place * dimension);
  });
  return { articles: articles.map(({ vector, ...article }) => article), vectors, topics, dimension };
}

/** Whether a page was checked under terms like these. */
function fits({ dimension, topics }, terms) {
  return dimension === terms.vectors.dimension && topics === terms.topics;
}

function assembled({ model, space, pages: wanted, bases, popularity }, pages) {
  const articles = [];
  for (const { name } of wanted) {
    const page = pages.get(name);
    const from = articles.length, to = from + page.articles.length;
    articles.push(...withVectors(page.articles, page.vectors, bases.subarray(from, to), popularity?.subarray(from, to)));
  }
  return indexed({ model, space, articles: distinct(articles) });
}

function withVectors(articles, vectors, bases, popularity) {
  const dimension = vectors.length / articles.length;
  return articles.map((article, place) => ({
    ...article, base: bases[place], popularity: popularity?.[place] ?? 0, vector: vectors.subarray(place * dimension, (place + 1) * dimension),
  }));
}

function distinct(articles) {
  if (new Set(articles.map((article) => article.id)).size !== articles.length) refuse("an article is in it twice");
  return articles;
}

/** Base scores from base64 of little-endian float32. */
function floats(text, size) {
  const bytes = text.length % 4 ? null : fromBase64(text);
  if (bytes?.length !== 4 * size) refuse("its scores do not fit its pages");
  const view = new DataView(bytes.buffer);
  const values = Float64Array.from({ length: size }, (_, place) => view.getFloat32(4 * place, true));
  if (!values.every((value) => Math.abs(value) <= MAX_BASE)) refuse("a score is out of range");
  return values;
}

function refuse(why) {
  throw new NotAsAgreed(`the publisher's catalogue cannot be used: ${why}`);
}

/** An article as a page gets it, with whether it was read here. */
export function shown({ vector, ...article }, read) {
  return { ...article, read };
}
