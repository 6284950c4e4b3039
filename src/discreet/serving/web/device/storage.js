/**
 * One IndexedDB database: read and written in transactions that are over when the promise is, one after the other also
 * among several tabs, because the browser lets only one of them write to a store at a time.
 *
 * A transaction gets its stores by name, each with get, all, put, add, delete and clear, which are promises. Where the
 * browser has no database, or does not give it now, `memory.js` serves for as long as the page is open: to rank, and never
 * to pay for sums (sums/shared_budget.js), because a ledger that is lost with the page limits nothing.
 */

import { MemoryStorage } from "./memory.js";

export const STORES = {
  meta: { keyPath: "name" },
  clicks: { keyPath: "number", autoIncrement: true },
  views: { keyPath: "number", autoIncrement: true },
  slates: { keyPath: "name" },
  spent: { keyPath: "name" },
  debits: { keyPath: "number", autoIncrement: true },
  reports: { keyPath: "number", autoIncrement: true },
  sent: { keyPath: "number", autoIncrement: true },
  pages: { keyPath: "name" },
  tasks: { keyPath: "name" },
  paid: { keyPath: "number", autoIncrement: true },
};
const KEPT_FROM_BEFORE = ["clicks", "debits"], VERSION = 4, TIMEOUT = 5000;
const NOT_PRECIOUS = new Set(["pages", "sent"]);

/** The storage of this name; null, or a browser that refuses, for one in memory. */
export async function openStorage(name) {
  if (name === null) return new MemoryStorage(STORES);
  try {
    return new Storage(await opened(name));
  } catch (error) {
    return new MemoryStorage(STORES, error instanceof NotNow ? error.message : undefined);
  }
}

/** The database is there, and is not given now. */
class NotNow extends Error {}

/** What comes too late is closed again: it would be in the way of the next page. */
function opened(name) {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const request = indexedDB.open(name, VERSION);
    const giveUp = (message) => {
      isLate = true;
      reject(new NotNow(message));
    };
    const late = setTimeout(() => giveUp("the browser's database does not answer"), TIMEOUT);
    request.onblocked = () => giveUp("another tab of this site is of an older version; close it, and load this page again");
    request.onupgradeneeded = ({ oldVersion }) => upgrade(request.result, request.transaction, oldVersion);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      clearTimeout(late);
      request.result.onversionchange = () => request.result.close();
      if (isLate) request.result.close();
      resolve(request.result);
    };
  });
}

/**
 * Clicks and debits of the first version stay, and so does the ledger's head; the rest begins again. What a server chose
 * and the first version kept with a click unchecked goes: the name of a slate, a topic, a vector.
 */
function upgrade(database, transaction, oldVersion) {
  if (oldVersion < 2) cleanFirstVersion(database, transaction);
  for (const [store, options] of Object.entries(STORES)) {
    if (!database.objectStoreNames.contains(store)) database.createObjectStore(store, options);
  }
}

function cleanFirstVersion(database, transaction) {
  for (const store of database.objectStoreNames) {
    if (store === "meta") for (const name of ["model", "place", "choices"]) transaction.objectStore(store).delete(name);
    else if (!KEPT_FROM_BEFORE.includes(store)) database.deleteObjectStore(store);
  }
  if (database.objectStoreNames.contains("clicks")) cleanClicks(transaction.objectStore("clicks"));
}

function cleanClicks(clicks) {
  clicks.openCursor().onsuccess = ({ target: { result: cursor } }) => {
    if (!cursor) return;
    cursor.update({ ...cursor.value, slate: null, space: null, topic: 0, vector: new Int8Array(0) });
    cursor.continue();
  };
}

class Storage {
  lasts = true;
  #database;

  constructor(database) {
    this.#database = database;
  }

  /**
   * Run `work(stores)` in one transaction and wait until that is completed, and for writes until the browser says that
   * it is on the disk. An error in `work` undoes all of it. `work` may wait for its stores alone.
   */
  async transaction(names, mode, work) {
    const durability = mode === "readwrite" && !names.every((name) => NOT_PRECIOUS.has(name)) ? "strict" : "relaxed";
    const transaction = this.#database.transaction(names, mode, { durability });
    const over = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser did not keep what was written"));
    });
    try {
      const result = await work(Object.fromEntries(names.map((name) => [name, promised(transaction.objectStore(name))])));
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
}

function promised(store) {
  return {
    get: (key) => answer(store.get(key)),
    all: () => answer(store.getAll()),
    keys: () => answer(store.getAllKeys()),
    put: (value) => answer(store.put(value)),
    add: (value) => answer(store.add(value)),
    delete: (key) => answer(store.delete(key)),
    clear: () => answer(store.clear()),
  };
}

function answer(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
