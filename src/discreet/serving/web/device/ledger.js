/**
 * What each click has cost, written down before anything is released (docs/explanation/ledger.md has the theorem).
 *
 * A click of epoch k and slate p pays for every debit of epoch k whose part is p or empty. A debit is one transaction
 * that checks the budget and writes; only when it is completed is the mechanism applied, and its bytes are kept, so
 * that asking again costs nothing. A debit without bytes (the page was closed in between) stays paid. Budget, adjacency
 * and schedule are those of the first terms, for life.
 *
 * Limit: whoever clears the site's data clears the ledger with it, and a copied browser profile has a copied ledger.
 */

import { exactSum } from "./exact.js";
import { releaseBytes } from "./releases.js";
import { answer } from "./storage.js";

export class Ledger {
  #storage;
  #random;
  #now;
  header;
  debits = [];

  constructor(storage, random, now) {
    this.#storage = storage;
    this.#random = random;
    this.#now = now;
  }

  /** Open the ledger, or begin it with these terms. */
  async open({ epsilon, adjacency, schedule }) {
    this.header = await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const kept = await answer(meta.get("ledger"));
      if (kept) return kept.value;
      const value = {
        lifetime: epsilon.lifetime, adjacency, start: Date.parse(schedule.start) / 1000,
        length: schedule.length_seconds, created: Math.floor(this.#now()), latest: Math.floor(this.#now()),
        forgottenThrough: -1,
      };
      await answer(meta.put({ name: "ledger", value }));
      return value;
    });
    await this.reload();
  }

  async reload() {
    this.debits = await this.#storage.all("debits");
    this.header = await this.#storage.meta("ledger");
  }

  /** Why nothing may be released under these terms, or null if it may. */
  conflict({ adjacency, schedule }) {
    const changed = [];
    const { start, length } = this.header;
    if (start !== Date.parse(schedule.start) / 1000 || length !== schedule.length_seconds) changed.push("schedule");
    if (this.header.adjacency !== adjacency) changed.push("adjacency");
    return changed.length ? `the publisher changed its ${changed.join(" and ")}, which were to hold for life` : null;
  }

  epochAt(seconds) {
    return Math.floor((seconds - this.header.start) / this.header.length);
  }

  /** The epoch of this moment; it never goes back, even if the clock does. */
  async currentEpoch() {
    const now = Math.floor(this.#now());
    if (this.epochAt(now) > this.epochAt(this.header.latest)) await this.#advance(now);
    return this.epochAt(Math.max(now, this.header.latest));
  }

  /**
   * The bytes for a purpose, an epoch and perhaps a part: kept from before, or made now and paid first; null where the
   * budget does not allow it. This is the one place where a mechanism is applied, and it debits that mechanism's guarantee.
   */
  release(purpose, epoch, part, mechanism, clicks) {
    return alone(async () => {
      const { kept, debit } = await this.#debit(purpose, epoch, part, mechanism.guarantee, clicks);
      if (kept || !debit) {
        await this.reload();
        return kept ?? null;
      }
      debit.payload = releaseBytes(mechanism, this.#random);
      debit.state = "released";
      await this.#storage.transaction(["debits"], "readwrite", ({ debits }) => answer(debits.put(debit)));
      await this.reload();
      return { payload: debit.payload, epsilon: debit.epsilon };
    });
  }

  #debit(purpose, epoch, part, guarantee, clicks) {
    return this.#storage.transaction(["debits", "meta"], "readwrite", async ({ debits, meta }) => {
      const header = (await answer(meta.get("ledger"))).value;
      const all = await answer(debits.getAll());
      const kept = all.find((d) => d.purpose === purpose && d.epoch === epoch && d.part === part && d.payload);
      if (kept) return { kept: { payload: kept.payload, epsilon: kept.epsilon } };
      if (guarantee.adjacency !== header.adjacency) throw new Error("this guarantee does not add up with the ledger's");
      const time = Math.max(Math.floor(this.#now()), header.latest);
      const debit = {
        time, purpose, part, epoch, epsilon: guarantee.epsilon, clicks, state: "never finished",
        mechanism: guarantee.mechanism, version: guarantee.version, payload: null,
      };
      const begun = epoch <= Math.floor((time - header.start) / header.length);
      if (!begun || epoch <= header.forgottenThrough) return {};
      if (mostPaid([...all, debit], epoch, part) > header.lifetime) return {};
      debit.number = await answer(debits.add(debit));
      await answer(meta.put({ name: "ledger", value: { ...header, latest: time } }));
      return { debit };
    });
  }

  /** Drop what was released and the names of slates; nothing is ever released again from epochs up to this one. */
  async forget(alsoIn, work) {
    const through = await this.currentEpoch();
    await this.#storage.transaction(["debits", "meta", ...alsoIn], "readwrite", async (stores) => {
      const { debits, meta } = stores;
      const names = new Map();
      for (const debit of await answer(debits.getAll())) {
        const key = `${debit.epoch} ${debit.part}`;
        if (debit.part && !names.has(key)) names.set(key, `part ${debit.number}`);
        const state = debit.state === "released" ? "forgotten" : debit.state;
        await answer(debits.put({ ...debit, part: debit.part && names.get(key), payload: null, state }));
      }
      const header = (await answer(meta.get("ledger"))).value;
      await answer(meta.put({ name: "ledger", value: { ...header, forgottenThrough: through } }));
      await work(stores);
    });
    await this.reload();
  }

  /** What was spent: per purpose and by the click that paid most, and by all clicks together. */
  statement() {
    const epochs = [...new Set(this.debits.map((debit) => debit.epoch))].sort((a, b) => a - b);
    const of = (debits) => Math.max(0, ...epochs.map((epoch) => mostPaid(debits, epoch)));
    const purposes = Object.fromEntries(
      ["sketch", "label"].map((purpose) => [purpose, of(this.debits.filter((d) => d.purpose === purpose))]),
    );
    return {
      unit: "click", adjacency: this.header.adjacency, lifetime: this.header.lifetime, since: this.header.created,
      forgottenThrough: this.header.forgottenThrough, worst: of(this.debits), purposes,
      epochs: epochs.map((epoch) => ({ epoch, epsilon: mostPaid(this.debits, epoch) })),
      user: exactSum(this.debits.map((debit) => debit.clicks * debit.epsilon)),
      debits: this.debits.map(({ payload, ...debit }) => debit),
    };
  }

  async #advance(latest) {
    await this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const { value } = await answer(meta.get("ledger"));
      this.header = { ...value, latest: Math.max(value.latest, latest) };
      await answer(meta.put({ name: "ledger", value: this.header }));
    });
  }
}

/** The most that a click of an epoch has paid; of one part of it, if a part is named. */
function mostPaid(debits, epoch, part = "") {
  const here = debits.filter((debit) => debit.epoch === epoch);
  const parts = part ? [part] : [...new Set(here.map((debit) => debit.part))].filter(Boolean);
  const sums = (parts.length ? parts : [""]).map((name) =>
    exactSum(here.filter((debit) => debit.part === "" || debit.part === name).map((debit) => debit.epsilon)),
  );
  return Math.max(...sums);
}

/** One release at a time, also among several pages of the same reader. */
function alone(work) {
  return globalThis.navigator?.locks ? navigator.locks.request("discreet ledger", work) : work();
}
