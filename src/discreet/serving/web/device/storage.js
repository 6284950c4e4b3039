/** One IndexedDB database: opened once, read and written in transactions that are over when the promise is. */

const STORES = {
  meta: { keyPath: "name" },
  clicks: { keyPath: "number", autoIncrement: true },
  slates: { keyPath: "number", autoIncrement: true },
  sketches: { keyPath: "epoch" },
  reports: { keyPath: "number", autoIncrement: true },
  debits: { keyPath: "number", autoIncrement: true },
  sent: { keyPath: "number", autoIncrement: true },
  articles: { keyPath: "id" },
};

export async function openStorage(name) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => {
    for (const [store, options] of Object.entries(STORES)) request.result.createObjectStore(store, options);
  };
  const database = await answer(request);
  database.onversionchange = () => database.close();
  return new Storage(database);
}

class Storage {
  constructor(database) {
    this.database = database;
  }

  /**
   * Run `work(stores)` in one transaction and wait until that is completed, and for writes until the browser says that
   * it is on the disk. An error in `work` undoes all of it.
   */
  async transaction(names, mode, work) {
    const options = mode === "readwrite" ? { durability: "strict" } : {};
    const transaction = this.database.transaction(names, mode, options);
    const over = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser did not keep what was written"));
    });
    const stores = Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)]));
    try {
      const result = await work(stores);
      await over;
      return result;
    } catch (error) {
      over.catch(() => {});
      try {
        transaction.abort();
      } catch {
        // it was over already
      }
      throw error;
    }
  }

  all(name) {
    return this.transaction([name], "readonly", (stores) => answer(stores[name].getAll()));
  }

  async meta(name) {
    return (await this.transaction(["meta"], "readonly", ({ meta }) => answer(meta.get(name))))?.value;
  }

  keepMeta(name, value) {
    return this.transaction(["meta"], "readwrite", ({ meta }) => answer(meta.put({ name, value })));
  }

  add(name, value) {
    return this.transaction([name], "readwrite", (stores) => answer(stores[name].add(value)));
  }
}

/** The result of an IndexedDB request as a promise. */
export function answer(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another page holds an older version of the database; close it"));
  });
}
