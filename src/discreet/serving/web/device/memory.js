/** The same as `storage.js` without a database: one transaction after the other, all or nothing, until the page is closed. */

export class MemoryStorage {
  lasts = false;
  /** Why nothing lasts, in words for the reader. */
  problem;
  #stores;
  #before = Promise.resolve();

  constructor(stores, problem = "this browser lets the page keep nothing") {
    this.problem = problem;
    this.#stores = new Map(Object.entries(stores).map(([name, { keyPath }]) => [name, { keyPath, rows: new Map(), next: 1 }]));
  }

  transaction(names, mode, work) {
    const result = this.#before.then(() => this.#run(names, work));
    this.#before = result.catch(() => {});
    return result;
  }

  async #run(names, work) {
    const before = names.map((name) => ({ ...this.#stores.get(name), rows: new Map(this.#stores.get(name).rows) }));
    try {
      return await work(Object.fromEntries(names.map((name) => [name, promised(this.#stores.get(name))])));
    } catch (error) {
      names.forEach((name, place) => this.#stores.set(name, before[place]));
      throw error;
    }
  }
}

function promised(store) {
  const put = async (value) => {
    const key = value[store.keyPath] ?? store.next;
    if (typeof key === "number") store.next = Math.max(store.next, key + 1);
    store.rows.set(key, { ...value, [store.keyPath]: key });
    return key;
  };
  return {
    get: async (key) => copy(store.rows.get(key)),
    all: async () => [...store.rows.values()].map(copy),
    keys: async () => [...store.rows.keys()],
    put,
    add: put,
    delete: async (key) => void store.rows.delete(key),
    clear: async () => store.rows.clear(),
  };
}

/** Rows are never changed in place, so the first level is enough. */
function copy(row) {
  return row && { ...row };
}
