/**
 * What each click has cost, written down in the same transaction in which a release is made (docs/explanation/ledger.md
 * has the theorem).
 *
 * A click of epoch k and slate p pays for every debit of epoch k whose part is p or empty. `release` is called inside a
 * transaction that the caller holds over "debits" and "meta": it looks for what was released before, checks the budget,
 * applies the mechanism and writes debit and bytes. The caller sends the bytes after the transaction is completed, so
 * nothing leaves that was not paid, also if the page is closed at any point; and because a browser lets one transaction
 * write at a time, several tabs make one release. An epoch has one sketch for ever, a slate one label.
 *
 * The first terms' lifetime ε, adjacency and schedule hold for life; the reader's own limit holds for each click, over
 * all terms. Limit: whoever clears the site's data clears the ledger with it.
 */

import { choicesIn } from "./clicks.js";
import { exactSum } from "./exact.js";
import { releaseBytes } from "./releases.js";
import { promiseOf } from "./terms.js";

export class Ledger {
  header = null;
  debits = [];
  #storage;
  #random;
  #now;

  constructor(storage, random, now) {
    this.#storage = storage;
    this.#random = random;
    this.#now = now;
  }

  /** What is kept, into memory, to be looked at. */
  async load() {
    await this.#storage.transaction(["debits", "meta"], "readonly", async ({ debits, meta }) => {
      this.debits = await debits.all();
      this.header = (await meta.get("ledger"))?.value ?? null;
    });
  }

  /** Begin with these terms, if it has not begun. A clock that was ahead when it did, and is right again, is believed. */
  async open(model) {
    await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const now = Math.floor(this.#now());
      const header = (await meta.get("ledger"))?.value ?? { ...promiseOf(model), created: now, forgottenThrough: -1 };
      header.created = Math.min(header.created, now);
      const epoch = Math.floor((now - header.start) / header.length);
      if (epoch < header.forgottenThrough) header.forgottenThrough = epoch - 1;
      await meta.put({ name: "ledger", value: header });
    });
    await this.load();
  }

  epochAt(seconds) {
    return Math.floor((seconds - this.header.start) / this.header.length);
  }

  /** The epoch of this moment, by the public schedule. */
  currentEpoch() {
    return this.epochAt(this.#now());
  }

  /** The first epoch that may still be sketched. */
  firstEpoch() {
    return Math.max(this.epochAt(this.header.created), this.header.forgottenThrough + 1, 0);
  }

  /**
   * The bytes of a mechanism for a purpose, an epoch and perhaps a part, made now and paid; null where that was
   * released before or may not be. This is the one place where a mechanism is applied, and it debits that mechanism's
   * guarantee. `about` is kept with the bytes: what is sent with them is decided now.
   */
  async release({ debits, meta }, { purpose, epoch, part = "", mechanism, clicks, about = {} }) {
    const all = await debits.all();
    const header = (await meta.get("ledger")).value;
    const { epsilon: limit } = await choicesIn(meta);
    const { epsilon, adjacency, mechanism: name, version } = mechanism.guarantee;
    const before = all.some((debit) => debit.purpose === purpose && (part ? debit.part === part : debit.epoch === epoch));
    if (before || adjacency !== header.adjacency || epoch > this.currentEpoch() || epoch <= header.forgottenThrough) return null;
    const debit = { time: Math.floor(this.#now()), purpose, part, epoch, epsilon, clicks, mechanism: name, version, ...about };
    if (maxPaid([...all, debit], epoch, part) > Math.min(header.lifetime, limit ?? Infinity)) return null;
    const payload = releaseBytes(mechanism, this.#random);
    await debits.add({ ...debit, state: "released", payload });
    return payload;
  }

  /** In the caller's transaction: drop what was released and the names of slates; the debits stay. */
  async forget({ debits, meta }) {
    const names = new Map();
    for (const debit of await debits.all()) {
      if (debit.part && !names.has(debit.part)) names.set(debit.part, `part ${debit.number}`);
      const state = debit.state === "released" ? "forgotten" : debit.state;
      const { space, pseudonym, told, reported, ...rest } = debit;
      await debits.put({ ...rest, part: debit.part && names.get(debit.part), payload: null, state });
    }
    const header = (await meta.get("ledger")).value;
    await meta.put({ name: "ledger", value: { ...header, forgottenThrough: this.currentEpoch() } });
  }

  /** What was spent: per purpose and by the click that paid most, and by all clicks together. */
  statement() {
    const { adjacency, lifetime, created, forgottenThrough } = this.header;
    const epochs = [...new Set(this.debits.map((debit) => debit.epoch))].sort((a, b) => a - b);
    const worst = (debits) => epochs.reduce((most, epoch) => Math.max(most, maxPaid(debits, epoch)), 0);
    const ofPurpose = (purpose) => [purpose, worst(this.debits.filter((debit) => debit.purpose === purpose))];
    return {
      unit: "click", adjacency, lifetime, since: created, forgottenThrough, worst: worst(this.debits),
      purposes: Object.fromEntries(["sketch", "label"].map(ofPurpose)),
      epochs: epochs.map((epoch) => ({ epoch, epsilon: maxPaid(this.debits, epoch) })),
      user: exactSum(this.debits.map((debit) => debit.clicks * debit.epsilon)),
      debits: this.debits.map(({ payload, ...debit }) => debit),
    };
  }
}

/** The most that a click of an epoch has paid; of one part of it, if a part is named. */
function maxPaid(debits, epoch, part = "") {
  const here = debits.filter((debit) => debit.epoch === epoch);
  const common = here.filter((debit) => debit.part === "").map((debit) => debit.epsilon);
  const parts = part ? [part] : new Set(here.map((debit) => debit.part));
  return [...parts].reduce((most, name) => {
    const own = here.filter((debit) => name && debit.part === name).map((debit) => debit.epsilon);
    return Math.max(most, exactSum([...common, ...own]));
  }, 0);
}
