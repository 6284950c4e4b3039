/** The publisher's articles: public, kept by id, and fetched only as far as they are new. */

import { answer } from "./storage.js";

const PAGE = 500;

export class Catalogue {
  articles = new Map();
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  async load() {
    this.articles = new Map((await this.#storage.all("articles")).map((article) => [article.id, article]));
  }

  /** Page by page, each kept all or nothing. Another model's vectors and topics begin a new catalogue. */
  async fetch(server, model) {
    for (;;) {
      const place = await this.#storage.meta("place");
      const since = place?.model === model ? place.cursor : "";
      const query = since ? `since=${encodeURIComponent(since)}&limit=${PAGE}` : `limit=${PAGE}`;
      const reply = await server.ask("GET", `/v1/articles?${query}`, null, since ? place.etag : "");
      if (reply?.status !== 200) return;
      const page = JSON.parse(reply.text);
      const etag = page.more || page.cursor !== since ? "" : reply.etag;
      await this.#keep(page, { model, cursor: page.cursor, etag }, place?.model !== model);
      if (!page.more) return;
    }
  }

  async #keep(page, place, anew) {
    await this.#storage.transaction(["articles", "meta"], "readwrite", ({ articles, meta }) => {
      if (anew) articles.clear();
      for (const id of page.removed) articles.delete(id);
      for (const article of page.articles) articles.put(article);
      return answer(meta.put({ name: "place", value: place }));
    });
    if (anew) this.articles.clear();
    for (const id of page.removed) this.articles.delete(id);
    for (const article of page.articles) this.articles.set(article.id, article);
  }
}

/** An article as a page gets it, with whether it was read here. */
export function shown({ id, title, abstract, category, published, topic, base }, read) {
  return { id, title, abstract, category, published, topic, base, read };
}
