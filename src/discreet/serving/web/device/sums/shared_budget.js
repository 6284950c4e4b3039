/**
 * What all devices of one origin have paid for sums. A page that shows two servers, or one server under two names, has two
 * devices, but one reader with one budget.
 *
 * Each device's own ledger sees to it that a period is paid once; this one is asked before. It is in a database of its own,
 * so its debit stays if the page is closed before the device's own is written: that costs budget, and no privacy.
 */

import { LIMITS } from "../check.js";
import { openStorage } from "../storage.js";
import { spentEpsilon } from "./filter.js";

const NAME = "discreet sums";

/** The budget of a device whose database has this name; null for one that keeps nothing. */
export async function openSharedBudget(device) {
  return typeof device === "string" ? new SharedBudget(await openStorage(NAME), device) : null;
}

export class SharedBudget {
  #storage;
  #device;

  constructor(storage, device) {
    this.#storage = storage;
    this.#device = device;
  }

  /** Whether a period may be paid; it is written down then. `own` are the debits in the device's own ledger. */
  pay(debit, own) {
    return this.#storage.transaction(["paid"], "readwrite", async ({ paid }) => {
      const kept = await paid.all();
      for (const missing of this.#missing(kept, own)) {
        await paid.add(missing);
        kept.push(missing);
      }
      const [fresh] = this.#missing(kept, [debit]);
      if (!fresh) return true;
      if (!fits(kept, fresh)) return false;
      await paid.add(fresh);
      return true;
    });
  }

  /** The debits of all devices, with those of this one that are in its own ledger alone. */
  async debits(own) {
    const kept = await this.#storage.transaction(["paid"], "readonly", ({ paid }) => paid.all());
    return [...kept, ...this.#missing(kept, own)];
  }

  #missing(kept, own) {
    const isHere = ({ task, part }) => kept.some((other) => other.device === this.#device && other.task === task && other.part === part);
    return own.filter((debit) => !isHere(debit)).map(({ number, ...debit }) => ({ ...debit, device: this.#device }));
  }
}

/** Whether one more debit keeps to the most that a day, and a life, may cost. */
export function fits(debits, debit) {
  const all = [...debits, debit], delta = LIMITS.max_task_delta;
  const day = spentEpsilon(all.filter((other) => other.day === debit.day), delta);
  return day <= LIMITS.max_day_epsilon && spentEpsilon(all, delta) <= LIMITS.max_life_epsilon;
}
