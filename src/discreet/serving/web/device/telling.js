/**
 * What may be sent, and when. Whether a release is made depends on the terms, the catalogue, the debits and the reader's
 * limit: never on which article was clicked. What fails becomes a problem that is said, and the other messages go on.
 */

import { toBase64 } from "./ranking.js";
import { sendReports } from "./reports.js";
import { makeSketches, reportSketches, sketchesToSend } from "./sketches.js";
import { closeSlate, finishedSlates } from "./slates.js";
import { conflict } from "./terms.js";

export class Telling {
  #storage;
  #ledger;
  #catalogue;
  #clicks;
  #server;
  #random;
  #problems = new Map();

  constructor({ storage, ledger, catalogue, clicks, server, random }) {
    this.#storage = storage;
    this.#ledger = ledger;
    this.#catalogue = catalogue;
    this.#clicks = clicks;
    this.#server = server;
    this.#random = random;
  }

  /** Why nothing is released under these terms, or null. */
  stopped(model) {
    return model && conflict(this.#ledger.header, model);
  }

  makesSketches({ epsilon: { sketch } }) {
    const limit = this.#clicks.choices.epsilon;
    return sketch > 0 && (limit === null || limit >= sketch);
  }

  /** Labels serve training alone, so only under the publisher's own ε; and never where the number of clicks is hidden. */
  #makesLabels(model) {
    const { sketch, label } = model.epsilon, limit = this.#clicks.choices.epsilon;
    const isWanted = model.reports && label > 0 && this.#ledger.header.adjacency === "substitute" && !this.stopped(model);
    return isWanted && (limit === null || limit >= sketch + label);
  }

  /** Make the sketches that are due. */
  async sketch(model) {
    if (this.stopped(model) || !this.#topicsAreShared(model)) return;
    const topicOf = (click) => this.#catalogue.topicOf(click, model);
    await makeSketches({ storage: this.#storage, ledger: this.#ledger, terms: model, topicOf, newId: this.#newId });
    await this.#ledger.load();
  }

  /** A topic of one or two articles would name them: while there is one, or no catalogue, no sketch is made. */
  #topicsAreShared(model) {
    return this.#catalogue.space === model.space && this.#catalogue.allShared;
  }

  /** A request for news: sketches, counts that the reader declared open, and constants of the terms. */
  question(model) {
    const { space, shortlist_size: limit, topics } = model;
    const made = sketchesToSend(this.#ledger.debits, space, this.#clicks.choices.epsilon);
    const sketches = made.map(({ epoch, told, payload }) => ({ epoch, clicks: told, release: toBase64(payload) }));
    const body = { space, sketches, limit };
    const open = this.#clicks.all.filter((click) => click.open);
    if (open.length) {
      body.open = new Array(topics).fill(0);
      for (const click of open) body.open[this.#catalogue.topicOf(click, model)]++;
    }
    return JSON.stringify(body);
  }

  /** Make the releases that are due, and send what has not arrived yet. */
  async due(model) {
    const epsilon = this.#makesLabels(model) ? model.epsilon.label : null;
    for (const name of (await this.trying("slates", () => finishedSlates(this.#storage, this.#ledger.currentEpoch()))) ?? []) {
      await this.trying("labels", () => closeSlate(this.#storage, this.#ledger, name, epsilon, this.#newId));
    }
    if (model.reports && this.makesSketches(model)) {
      await this.trying("sketches", () => this.sketch(model));
      await this.trying("reports", () => reportSketches(this.#storage, model, this.#newId));
    }
    await this.trying("sending", () => sendReports(this.#storage, this.#server));
  }

  /** What cannot be done becomes a problem, until it can; what was there before stays in use, and the rest goes on. */
  async trying(what, work) {
    try {
      const result = await work();
      this.#problems.delete(what);
      return result;
    } catch (error) {
      this.#problems.set(what, error.message);
      return null;
    }
  }

  /** One sentence about what could not be done, or null. */
  get problem() {
    return this.#problems.values().next().value ?? null;
  }

  #newId = () => [...this.#random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
