/**
 * Taking part in sums for as long as a page is open: the tasks are fetched, each window is contributed to when its drawn
 * time comes, whatever the reader does, and the reader can stop it. That she stopped is remembered, and nothing is sent or
 * asked then.
 */

const CHOICE = "sums choice", REFRESH_SECONDS = 3600, RETRY_SECONDS = 30;

export class TakingPart {
  isStopped = false;
  #contributor;
  #storage;
  #now;
  #sent;
  #due = null;
  #fetchAt = -Infinity;
  #isBusy = false;

  /** `sent()` is the log of what left the device. */
  constructor({ contributor, storage, now, sent }) {
    this.#contributor = contributor;
    this.#storage = storage;
    this.#now = now;
    this.#sent = sent;
  }

  async load() {
    const kept = await this.#storage.transaction(["meta"], "readonly", ({ meta }) => meta.get(CHOICE));
    this.isStopped = kept?.value.isStopped ?? false;
  }

  /** To be called about once a second. Whether there is something new to show. */
  async tick() {
    if (this.isStopped || this.#isBusy) return false;
    this.#isBusy = true;
    try {
      return (await this.#fetchTasks()) || (await this.#contribute());
    } finally {
      this.#isBusy = false;
    }
  }

  stop() {
    return this.#choose(true);
  }

  resume() {
    this.#fetchAt = -Infinity;
    return this.#choose(false);
  }

  /** All that a reader may want to know of it. `counted` are the articles that count in the present period. */
  async state() {
    const { problem, refused, obstacle } = this.#contributor;
    const tasks = await this.#contributor.tasks();
    const contributions = this.#sent().filter(({ method, url }) => method === "POST" && isReport(url));
    return {
      isStopped: this.isStopped, problem, refused, obstacle, tasks, contributions, next: this.#due,
      counted: await this.#contributor.counted(), ...(await this.#contributor.statement()),
    };
  }

  async #fetchTasks() {
    if (this.#now() < this.#fetchAt) return false;
    await this.#contributor.refresh();
    this.#fetchAt = this.#now() + (this.#contributor.problem ? RETRY_SECONDS : REFRESH_SECONDS);
    this.#due = await this.#contributor.nextDue();
    return true;
  }

  async #contribute() {
    if (this.#due === null || this.#now() < this.#due) return false;
    await this.#contributor.contributeDue();
    this.#due = await this.#contributor.nextDue();
    return true;
  }

  async #choose(isStopped) {
    await this.#storage.transaction(["meta"], "readwrite", ({ meta }) => meta.put({ name: CHOICE, value: { isStopped } }));
    this.isStopped = isStopped;
  }
}

/** Whether an address is that of a task's reports at a leader. */
export function isReport(url) {
  return /\/tasks\/[\w-]{43}\/reports$/.test(url);
}
