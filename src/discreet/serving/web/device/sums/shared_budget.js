/**
 * What all devices of one origin have paid for sums. A page that shows two servers, or one server under two names, has two
 * devices, but one reader with one budget.
 *
 * Each device's own ledger sees to it that a period is paid once; this one is asked before. It is in a database of its own,
 * so its debit stays if the page is closed before the device's own is written: that costs budget, and no privacy.
 *
 * A ledger that does not last limits nothing: each page would begin a new one. So both must be in a storage that lasts,
 * in a page with an origin of its own, and must have been found again on a later day (UTC) than the one they began on.
 */

import { LIMITS } from "../check.js";
import { openStorage } from "../storage.js";
import { spentEpsilon } from "./filter.js";
import { DAY } from "./task.js";

const NAME = "discreet sums", LEDGER = "sums ledger";

/** The budget of the device whose ledger is in `own`; `shared` is the storage of all devices. */
export async function openSharedBudget({ own, shared, now, random }) {
  shared ??= await openStorage(own.lasts ? NAME : null);
  const today = Math.floor(now() / DAY);
  const [mine, all] = [await lookAtLedger(own, today, random), await lookAtLedger(shared, today, random)];
  return new SharedBudget(shared, mine.id, obstacleOf([own, shared], [mine, all]));
}

/** The ledger in a storage. It begins when it is first looked at; a clock that was ahead then, and is right now, is believed. */
function lookAtLedger(storage, today, random) {
  const fresh = { id: Array.from(random(16), (byte) => byte.toString(16).padStart(2, "0")).join(""), day: today };
  return storage.transaction(["meta"], "readwrite", async ({ meta }) => {
    const kept = (await meta.get(LEDGER))?.value ?? fresh;
    const day = Math.min(kept.day, today);
    await meta.put({ name: LEDGER, value: { ...kept, day } });
    return { id: kept.id, isFoundAgain: day < today };
  });
}

function obstacleOf(storages, ledgers) {
  if (globalThis.origin === "null") return "this page has no origin of its own, so what it keeps may be lost";
  const lost = storages.find((storage) => !storage.lasts);
  if (lost) return lost.problem;
  if (!ledgers.every((ledger) => ledger.isFoundAgain)) return "the record of what you spent is new; you take part when it is found again on a later day (UTC)";
  return null;
}

export class SharedBudget {
  /** Why nothing may be paid, in words for the reader; null if it may. */
  obstacle;
  #storage;
  #device;

  /** `device` is the id of the device's own ledger: one that was lost is another's. */
  constructor(storage, device, obstacle) {
    this.#storage = storage;
    this.#device = device;
    this.obstacle = obstacle;
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
