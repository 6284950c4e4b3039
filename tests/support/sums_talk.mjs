/*
 * A conversation about sums with a whole device, in a browser or in node: what it sent, and what it gave. The twin of
 * sums_talk.py. `load(name)` imports a module of the device; `own` and `shared` are storages, or `own` a database's name.
 */

/** A storage in memory that passes for one that lasts. */
export async function lasting(load) {
  const { openStorage } = await load("storage.js");
  return Object.assign(await openStorage(null), { lasts: true });
}

export class Talk {
  seen = [];
  given = [];
  thrown = [];
  #load;
  #conversation;
  #clicks;
  #now;
  #announced = [];
  #fails = false;
  #measurements = new Map();
  #parts;
  #lost = 0;

  constructor(load, conversation, clicks, parts) {
    this.#load = load;
    this.#conversation = conversation;
    this.#clicks = [...clicks];
    this.#now = conversation.now;
    this.#parts = parts;
  }

  async run() {
    for (const [step, ...given] of this.#conversation.steps) {
      try {
        await this[step](...given);
      } catch (error) {
        this.thrown.push(`${step}: ${error.stack}`);
      }
    }
    const { seen, given, thrown } = this;
    const { today, life, debits } = await this.sums.statement();
    const { obstacle, refused, problem } = this.sums;
    const [tasks, ranked] = [await this.sums.tasks(), this.device.model ? this.device.here(5).articles : []];
    const isTrial = debits.some(({ isOneParty }) => isOneParty);
    const counts = { isTrial, debits: debits.length, tasks: tasks.length, ranked: ranked.length };
    return { seen, given, thrown, today, life, obstacle, refused, problem, ...counts };
  }

  /** The page is opened, or opened again. */
  async open() {
    Object.assign((await this.#load("check.js")).LIMITS, this.#conversation.limits);
    const { openDevice } = await this.#load("device.js");
    const random = (count) => new Uint8Array(count).fill(this.#parts.seed + this.#lost);
    this.device = await openDevice({ url: "https://news.test", fetch: this.#fetch, random, now: () => this.#now, database: this.#parts.own });
    await this.device.refresh();
    this.sums = await this.device.joinSums({ helpers: this.#conversation.helpers, sharder: await this.#sharder(), shared: this.#parts.shared });
    await this.sums.refresh();
  }

  async announce(names) {
    this.#announced = this.#conversation.tasks.filter(({ name }, place) => names === null || names.includes(place) || names.includes(name));
    await this.sums?.refresh();
  }

  async clock(now) {
    this.#now = now;
    await this.#click();
  }

  /** Time passes, and the device wakes whenever something is due. */
  async until(end) {
    for (let due; (due = await this.sums.nextDue()) !== null && due < end; ) {
      this.#now = Math.max(this.#now, due) + 0.001;
      await this.#click();
      await this.sums.contributeDue();
    }
    this.#now = Math.max(this.#now, end);
    await this.contribute();
  }

  async contribute() {
    await this.#click();
    await this.sums.contributeDue();
  }

  /** The reader stops her part. */
  async stop() {
    await (await this.#part()).stop();
  }

  /** A page is open until then, with ticks that come too seldom to be busy. */
  async tick(end) {
    const part = await this.#part();
    for (; this.#now < end; this.#now += 50) await part.tick();
  }

  async fail(fails) {
    this.#fails = fails;
  }

  /** What the device knew of its tasks' windows is lost; its ledger stays. */
  async lose() {
    await this.#parts.own.transaction(["tasks"], "readwrite", async ({ tasks }) => {
      for (const row of await tasks.all()) await tasks.put({ ...row, window: -1, period: -1, given: 0, counted: [] });
    });
  }

  /** The device's own database is lost, the shared one stays. */
  async renew() {
    this.#lost = 100; // what is drawn afterwards is different
    this.#parts.own = await lasting(this.#load);
  }

  /** A bug in a measure: it throws if something was clicked, gives much too much, or gives the total again and again. */
  async break(how) {
    const { MEASURES } = await this.#load("sums/measures.js");
    MEASURES["clicks by cell"].values = (task, { clicked }) => {
      if (how === "throws" && clicked.length) throw new Error("a bug");
      return Array.from({ length: task.length }, (_, i) => (how === "throws" || (how === "again" && i) ? 0 : task.max_value));
    };
  }

  async forget() {
    await this.device.forget();
    await this.device.refresh();
    await this.sums.refresh();
  }

  async #click() {
    const now = this.#now;
    for (; this.device && this.#clicks.length && this.#clicks[0][0] <= now; this.#clicks.shift()) {
      this.#now = this.#clicks[0][0];
      await this.device.clicked(this.#clicks[0][1]);
    }
    this.#now = now;
  }

  async #part() {
    const { TakingPart } = await this.#load("sums/taking_part.js");
    const part = new TakingPart({ contributor: this.sums, storage: this.#parts.own, now: () => this.#now, sent: () => [] });
    await part.load();
    return part;
  }

  async #sharder() {
    const { unhexed } = await this.#load("sums/report.js");
    return {
      shard: async ({ measurement }) => {
        const nonce = unhexed((this.#measurements.size + 1).toString(16).padStart(32, "0"));
        this.#measurements.set(nonce.join(), measurement);
        return { nonce, publicShare: new Uint8Array(0), inputShares: [new Uint8Array(1), new Uint8Array(1)] };
      },
    };
  }

  #fetch = async (url, { method, headers, body = null }) => {
    this.seen.push([this.#now, method, url, headers, body?.length ?? null]);
    const isReport = method === "POST" && url.endsWith("/reports");
    if (isReport) this.#take(url, body);
    if (isReport && this.#fails) throw new Error("no way there");
    const found = this.#answer(new URL(url).pathname);
    return new Response(found ?? "{}", { status: found === null ? 404 : 200 });
  };

  #answer(path) {
    const { model, catalogue, cells, keys } = this.#conversation;
    if (path === "/v1/model") return JSON.stringify(model);
    if (path === "/v1/catalogue") return JSON.stringify(catalogue);
    if (path === "/v1/tasks") return JSON.stringify({ tasks: this.#announced });
    if (path.startsWith("/v1/cells/")) return cells[path.slice(10)] ?? cells[path.slice(10).split("/")[1]] ?? null;
    if (path.endsWith("/hpke_config")) return Uint8Array.from(keys.match(/../g), (pair) => parseInt(pair, 16));
    return path.endsWith("/reports") ? "" : null;
  }

  /** A report: of which task and window, and with which values. Its time stands after the 16 bytes of its id. */
  #take(url, body) {
    const name = url.split("/").at(-2).replaceAll("-", "+").replaceAll("_", "/");
    const id = Array.from(atob(name), (letter) => letter.charCodeAt(0).toString(16).padStart(2, "0")).join("");
    const time = body.slice(16, 24).reduce((number, byte) => 256 * number + byte, 0);
    this.given.push([this.#now, id, time, this.#measurements.get(Uint8Array.from(body.slice(0, 16)).join())]);
  }
}
