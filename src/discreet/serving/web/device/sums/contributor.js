/**
 * Contributes to public tasks: once a window and task, paid first, whatever was clicked, at a time drawn at random. The twin
 * of `edge/reader/sums/contributor.py`; docs/reference/protocol.md has the rules.
 *
 * One transaction decides about a window: it pays, measures, and writes down that the window is done. What it gives is
 * sent when the transaction is on the disk, once, so several tabs contribute once and a closed page never twice.
 */

import { LIMITS, NotAsAgreed, read } from "../check.js";
import { sha256 } from "../sha256.js";
import { spentEpsilon } from "./filter.js";
import { isOneParty, refusal } from "./floors.js";
import { hmac } from "./hmac.js";
import { canSeal } from "./hpke.js";
import { MEASURES } from "./measures.js";
import { clickedViews } from "./quality.js";
import { fits } from "./shared_budget.js";
import { MEDIA, contextOf, readKeys, reportsAt, unhexed, uploadRequest } from "./report.js";
import { DAY, begins, isWithin, measurementOf, nothing, periodOf, prio3Of, readTask, sentUntil, sizeOf, windowAt } from "./task.js";

const DRAWN = 0.9, OUTDATED_CONFIG = 11, OF_EACH_WINDOW = "window";

export class Contributor {
  problem = null;
  refused = [];
  #storage;
  #server;
  #random;
  #now;
  #helpers;
  #sharder;
  #budget;
  #keys = new Map();

  /**
   * `helpers` are the addresses of second aggregators that the reader trusts; `sharder` is as of prio3/sharding.js, and
   * `budget` as of shared_budget.js.
   */
  constructor({ storage, server, random, now, helpers, sharder, budget }) {
    this.#storage = storage;
    this.#server = server;
    this.#random = random;
    this.#now = now;
    this.#helpers = helpers;
    this.#sharder = sharder;
    this.#budget = budget;
  }

  /** Fetch the announced tasks, and what their values stand for. */
  async refresh() {
    this.refused = [];
    this.problem = canSeal() ? null : "this page did not come over https, so it cannot take part in sums";
    const reply = this.problem ? null : await this.#server.ask("GET", "/v1/tasks");
    if (reply?.status !== 200) return;
    try {
      for (const terms of read("tasks", reply.bytes).tasks) await this.#take(terms);
    } catch (error) {
      this.problem = error.message;
    }
  }

  /** Why nothing is contributed from this page, whatever the tasks; null if it may be. */
  get obstacle() {
    return this.#budget.obstacle;
  }

  async tasks() {
    return (await this.#rows()).map((row) => row.task);
  }

  /** The ids of the articles that count in the present window, or day where that is paid. */
  async counted() {
    const now = this.#now();
    const articles = (await this.#rows()).filter(({ task }) => task.measure === "clicks by cell");
    const current = articles.filter(({ task, period }) => period === periodOf(task, windowAt(task, now) - 1));
    return [...new Set(current.flatMap(({ counted }) => counted))];
  }

  /** When there is something to contribute next, in seconds since 1970; null if nothing is to come. */
  async nextDue() {
    if (this.obstacle) return null;
    const now = this.#now(), times = [];
    for (const { task, since, window } of await this.#rows()) {
      const first = Math.max(window + 1, windowAt(task, now) - 1, 0);
      for (let next = first; next < Math.min(first + 3, task.windows); next++) {
        if (since > begins(task, next) || now >= sentUntil(task, next)) continue;
        times.push(Math.max(dueAt(await this.#drawingSecret(), task, next), now));
        break;
      }
    }
    return times.length ? Math.min(...times) : null;
  }

  /** Contribute to each window whose drawn time has come; how many contributions were delivered. */
  async contributeDue() {
    if (this.obstacle) return 0;
    const now = this.#now(), secret = await this.#drawingSecret();
    let delivered = 0;
    for (const { name, task, since, window: done, period } of await this.#rows()) {
      const window = windowAt(task, now) - 1;
      if (window <= done || window >= task.windows || since > begins(task, window)) continue;
      if (dueAt(secret, task, window) > now || now >= sentUntil(task, window)) continue;
      const cells = await this.#cellsOf(task, window);
      const mayPay = period === periodOf(task, window) || (await this.#isWithinBudget(task, window));
      const values = await this.#decide(name, window, cells, mayPay);
      if (values) delivered += (await this.#send(task, window, values)) ? 1 : 0;
    }
    await this.#dropEnded(now);
    return delivered;
  }

  /** What it has cost. */
  async statement() {
    const debits = await this.#budget.debits(await this.#own());
    const last = Math.max(0, ...debits.map((debit) => debit.day));
    const delta = LIMITS.max_task_delta;
    return {
      today: spentEpsilon(debits.filter((debit) => debit.day === last), delta), life: spentEpsilon(debits, delta), delta,
      maxDay: LIMITS.max_day_epsilon, maxLife: LIMITS.max_life_epsilon, debits,
    };
  }

  async #take(terms) {
    try {
      const task = readTask(terms);
      const reason = refusal(task, this.#helpers) ?? (await this.#changed(task));
      if (reason) throw new NotAsAgreed(reason);
      if (this.#now() >= sentUntil(task, task.windows - 1) || (await this.#rows()).some((row) => row.id === task.id)) return;
      const cells = task.cells && task.cells !== OF_EACH_WINDOW ? await this.#cells(task) : [];
      const row = { name: task.name, id: task.id, task, cells, since: Math.floor(this.#now()), window: -1, period: -1, given: 0, counted: [] };
      await this.#storage.transaction(["tasks"], "readwrite", async ({ tasks }) => {
        if (!(await tasks.get(task.name))) await tasks.put(row);
      });
    } catch (error) {
      this.refused.push(`task ${terms.name} is refused: ${error.message}`);
    }
  }

  /** Other terms under a name that is known, or too many names; null if neither. */
  async #changed(task) {
    const { known, count } = await this.#storage.transaction(["tasks"], "readonly", async ({ tasks }) => ({
      known: await tasks.get(task.name), count: (await tasks.keys()).length,
    }));
    if (known && known.id !== task.id) return "its terms are not those that were published under its name";
    return !known && count >= LIMITS.max_task_names ? "this device has seen too many tasks" : null;
  }

  async #cells(task) {
    const reply = await this.#server.ask("GET", `/v1/cells/${task.cells}`);
    if (reply?.status !== 200) throw new NotAsAgreed("its list of cells could not be fetched");
    if (sha256(reply.bytes) !== task.cells) throw new NotAsAgreed("its list of cells is not the one that it names");
    const { cells } = read("cells", reply.bytes);
    if (cells.length !== task.length || new Set(cells).size !== cells.length) throw new NotAsAgreed("its list of cells does not fit it");
    return cells;
  }

  /** What the values of this window stand for, if each has a list of its own; else null. It is asked whatever was clicked. */
  async #cellsOf(task, window) {
    if (task.cells !== OF_EACH_WINDOW) return null;
    try {
      const reply = await this.#server.ask("GET", `/v1/cells/${task.id}/${window}`);
      const { cells } = reply?.status === 200 ? read("cells", reply.bytes) : { cells: [] };
      return cells.length <= task.length && new Set(cells).size === cells.length ? cells : [];
    } catch {
      return [];
    }
  }

  async #rows() {
    const rows = await this.#storage.transaction(["tasks"], "readonly", ({ tasks }) => tasks.all());
    return rows.filter((row) => row.task).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Pay for a window, measure it and write both down; null if it was done, or may not be paid. */
  #decide(name, window, ofWindow, mayPay) {
    return this.#storage.transaction(["tasks", "paid", "clicks", "views"], "readwrite", async ({ tasks, paid, clicks, views }) => {
      const row = await tasks.get(name);
      if (!row?.task || row.window >= window || row.since > begins(row.task, window)) return null;
      const { task } = row, period = periodOf(task, window), isSame = row.period === period;
      if (!isSame && !(mayPay && (await this.#pay(paid, task, window)))) {
        await tasks.put({ ...row, window });
        return null;
      }
      const { given, counted } = isSame && task.per === "day" ? row : { given: 0, counted: [] };
      const cells = ofWindow ?? row.cells;
      const seen = { clicks: await clicks.all(), views: await views.all() };
      const values = measured({ task, cells, since: row.since }, window, seen, task.max_total - given, new Set(counted));
      const now = given + sizeOf(values);
      const added = cells.filter((_, cell) => values[cell] !== 0);
      await tasks.put({ ...row, window, period, given: now, counted: [...new Set([...counted, ...added])] });
      return values;
    });
  }

  /**
   * Whether a period is paid now. Where it was paid before, and the task's row does not know, something was lost: more may
   * have been given than is known, so nothing is.
   */
  async #pay(paid, task, window) {
    const debit = this.#debit(task, window), before = await paid.all();
    if (before.some((other) => other.task === debit.task && other.part === debit.part) || !fits(before, debit)) return false;
    await paid.add(debit);
    return true;
  }

  /** Whether all devices of this origin together may pay for the period of a window. */
  async #isWithinBudget(task, window) {
    return this.#budget.pay(this.#debit(task, window), await this.#own());
  }

  #debit(task, window) {
    const part = `${task.per} ${periodOf(task, window)}`, day = Math.floor(begins(task, window) / DAY);
    const { id, name, epsilon, delta } = task;
    return { time: Math.floor(this.#now()), task: id, name, part, day, epsilon, delta, isOneParty: isOneParty(task) };
  }

  #own() {
    return this.#storage.transaction(["paid"], "readonly", ({ paid }) => paid.all());
  }

  /** Seal one report and send it, once: a leader that says it did not take it may have kept it. */
  async #send(task, window, values) {
    try {
      const keys = await this.#keysOf(task);
      const request = { ...prio3Of(task), ctx: contextOf(task), measurement: measurementOf(task, values) };
      const body = await uploadRequest(task, window, await this.#sharder.shard(request), keys);
      const reply = await this.#server.ask("POST", reportsAt(task), body, MEDIA.reports);
      const taken = reply?.status === 200 && reply.bytes.length === 0;
      if (!taken && reply?.bytes.at(-1) === OUTDATED_CONFIG) this.#keys.delete(task.id);
      this.problem = taken ? null : `the leader of task ${task.name} did not take a report`;
      return taken;
    } catch (error) {
      this.problem = `task ${task.name}: ${error.message}`;
      return false;
    }
  }

  async #keysOf(task) {
    if (!this.#keys.has(task.id)) {
      const keys = [];
      for (const address of [task.leader, task.helper]) {
        const reply = await this.#server.ask("GET", `${address.replace(/\/$/, "")}/hpke_config`);
        if (reply?.status !== 200) throw new NotAsAgreed("an aggregator's key could not be fetched");
        keys.push(readKeys(reply.bytes));
      }
      this.#keys.set(task.id, keys);
    }
    return this.#keys.get(task.id);
  }

  /** The device's secret from which times are drawn, the same until the reader makes the device forget. */
  async #drawingSecret() {
    const fresh = Array.from(this.#random(32));
    return this.#storage.transaction(["meta"], "readwrite", async ({ meta }) => {
      const kept = await meta.get("sums secret");
      if (!kept) await meta.put({ name: "sums secret", value: fresh });
      return Uint8Array.from(kept?.value ?? fresh);
    });
  }

  /** Of tasks that are over, name and id stay: they are taken for ever. */
  async #dropEnded(now) {
    const over = (await this.#rows()).filter(({ task }) => now >= sentUntil(task, task.windows - 1));
    if (!over.length) return;
    await this.#storage.transaction(["tasks"], "readwrite", async ({ tasks }) => {
      for (const { name, id, window } of over) await tasks.put({ name, id, window, task: null });
    });
  }
}

/** The drawn time of a window's contribution. */
export function dueAt(secret, task, window) {
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, BigInt(window));
  const drawn = parseInt(hmac(secret, [...unhexed(task.id), ...number]).slice(0, 8), 16) / 2 ** 32;
  return begins(task, window + 1) + DRAWN * drawn * task.send_seconds;
}

/**
 * The values of a window; nothing, where they cannot be had: what goes wrong here may depend on clicks. Where a day is paid,
 * the first clicks of the day count, and each is kept until a window has a cell for it.
 */
export function measured({ task, cells, since = 0 }, window, { clicks, views }, left, counted) {
  try {
    const places = new Map(cells.map((article, cell) => [article, cell]));
    const begin = begins(task, window), end = begins(task, window + 1);
    const isKept = task.per === "day" && task.cells !== "";
    const from = isKept ? Math.max(Math.floor(begin / DAY) * DAY, since) : begin;
    const clicked = [...new Set(clicks.filter(({ time }) => time >= from && time < end).map((click) => click.article))];
    const first = isKept ? clicked.slice(0, task.max_total) : clicked;
    const articles = first.filter((article) => !counted.has(article));
    const found = articles.map((article, number) => (task.cells ? places.get(article) ?? -1 : number));
    const observed = { clicked: found, views: clickedViews(views, clicks, begin, end), places };
    const values = MEASURES[task.measure].values(task, observed, left);
    return isWithin(task, values) && sizeOf(values) <= Math.max(left, task.kind === "histogram" ? 1 : 0) ? values : nothing(task);
  } catch {
    return nothing(task);
  }
}
