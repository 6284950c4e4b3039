/**
 * The reader's clicks and choices: private, and kept here. Each click is bound to what the device itself saw when it was
 * made: the slate, the article's topic and vector, and whether the reader had opened that very article.
 */

import { bind } from "./slates.js";

const CHOICES = { epsilon: null, open: new Map() };

export class Clicks {
  all = [];
  choices = CHOICES;
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  async load() {
    await this.#storage.transaction(["clicks", "meta"], "readonly", async ({ clicks, meta }) => {
      this.all = await clicks.all();
      this.choices = await choicesIn(meta);
    });
  }

  /** Remember a click on an article as it is shown. `slate` is the device's name of the slate it was shown in. */
  async add({ id, title, category, section, topic, vector }, { time, epoch, space, slate }) {
    await this.#storage.transaction(["clicks", "slates", "meta"], "readwrite", async ({ clicks, slates, meta }) => {
      const { open } = await choicesIn(meta);
      await clicks.add({
        time, epoch, article: id, title, category, section, space, topic, vector: vector.slice(), slate: await bind(slates, slate, id),
        open: open.get(category)?.get(id) === title,
      });
    });
    await this.load();
  }

  /** Change choices. A category that is opened now means the articles that are in it now, and no others. */
  async choose({ epsilon, openCategories }, articles) {
    await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const choices = await choicesIn(meta);
      if (epsilon !== undefined) choices.epsilon = epsilon;
      if (openCategories !== undefined) {
        choices.open = new Map(openCategories.map((category) => [category, choices.open.get(category) ?? titlesIn(category, articles)]));
      }
      await meta.put({ name: "choices", value: choices });
    });
    await this.load();
  }
}

/** The reader's choices as they are kept: a limit on ε or null, and of each open category the titles by id. */
export async function choicesIn(meta) {
  return { ...CHOICES, ...(await meta.get("choices"))?.value };
}

function titlesIn(category, articles) {
  return new Map(articles.filter((article) => article.category === category).map(({ id, title }) => [id, title]));
}
