/** A report of DAP (dap-18): one message to the leader, with a sealed share for each aggregator in it. */

import { NotAsAgreed } from "../check.js";
import { KEY_SIZE, SUITE, seal } from "./hpke.js";
import { prio3Of } from "./task.js";

const ALGORITHMS = { Prio3Count: 1, Prio3Sum: 2, Prio3SumVec: 3, Prio3Histogram: 4, Prio3MultihotCountVec: 5 };
const CLIENT = 1, ROLES = [2, 3], TIME_INTERVAL = 1, TASK_INTERVAL = 1;
export const MEDIA = { reports: "application/ppm-dap;message=upload-req" };

/** The context of the task's Prio3. */
export function contextOf(task) {
  return joined(text("dap-18"), unhexed(task.id));
}

/** The address of a task's reports at its leader. */
export function reportsAt(task) {
  const name = btoa(String.fromCharCode(...unhexed(task.id))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${task.leader.replace(/\/$/, "")}/tasks/${name}/reports`;
}

/** The first key of an aggregator that can be used here: {id, key}. */
export function readKeys(bytes) {
  const list = new Reader(bytes);
  const configs = new Reader(list.lump(2));
  list.end();
  let found = null;
  while (configs.left) {
    const [id, kem, kdf, aead] = [1, 2, 2, 2].map((size) => configs.number(size));
    const key = configs.lump(2);
    const usable = kem === SUITE.kem && kdf === SUITE.kdf && aead === SUITE.aead && key.length === KEY_SIZE;
    if (usable && !found) found = { id, key };
  }
  if (!found) throw new NotAsAgreed("an aggregator has no key that this device can use");
  return found;
}

/**
 * The upload request for a window. `shares` is what the sharder made, whose nonce is the report's id; `keys` are those of
 * leader and helper. The time is the window's, whenever it is sent.
 */
export async function uploadRequest(task, window, { nonce, publicShare, inputShares }, keys, ephemerals = []) {
  const time = Math.floor(task.start / task.window_seconds) + window;
  const metadata = joined(nonce, uint(time, 8), lump(2));
  const aad = joined(unhexed(task.id), configurationOf(task), metadata, lump(4, publicShare));
  const sealed = await Promise.all(
    keys.map(async ({ id, key }, place) => {
      const info = joined(text("dap-18 input share"), Uint8Array.of(CLIENT, ROLES[place]));
      const plain = joined(lump(2), lump(4, inputShares[place]));
      const { enc, payload } = await seal(key, info, aad, plain, ephemerals[place]);
      return joined(uint(id, 1), lump(2, enc), lump(4, payload));
    }),
  );
  return joined(metadata, lump(4, publicShare), ...sealed);
}

/** DAP's description of a task, to which every share is bound. */
function configurationOf(task) {
  const { variant, parameters } = prio3Of(task);
  const { length, chunk_length: chunk, max_measurement: largest, max_weight: weight } = parameters;
  const configuration = {
    Prio3Count: () => [],
    Prio3Sum: () => [uint(largest, 8)],
    Prio3SumVec: () => [uint(length, 4), uint(largest, 8), uint(chunk, 4)],
    Prio3Histogram: () => [uint(length, 4), uint(chunk, 4)],
    Prio3MultihotCountVec: () => [uint(length, 4), uint(chunk, 4), uint(weight, 8)],
  }[variant]();
  const interval = joined(uint(Math.floor(task.start / task.window_seconds), 8), uint(task.windows, 8));
  const extension = joined(uint(TASK_INTERVAL, 2), lump(2, interval));
  return joined(
    lump(1, unhexed(task.id)), lump(2, text(task.leader)), lump(2, text(task.helper)), uint(task.window_seconds, 8), uint(task.min_batch, 8),
    uint(TIME_INTERVAL, 1), lump(2), uint(ALGORITHMS[variant], 4), lump(2, ...configuration), lump(2, extension),
  );
}

class Reader {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  get left() {
    return this.#bytes.length - this.#at;
  }

  number(size) {
    return this.#take(size).reduce((number, byte) => 256 * number + byte, 0);
  }

  lump(size) {
    return this.#take(this.number(size));
  }

  end() {
    if (this.left) throw new NotAsAgreed("an aggregator's keys are followed by something");
  }

  #take(size) {
    if (size > this.left) throw new NotAsAgreed("an aggregator's keys end too early");
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}

function uint(number, size) {
  return new Uint8Array(size).map((_, place) => Number((BigInt(number) >> BigInt(8 * (size - 1 - place))) & 255n));
}

/** Bytes with their length before them. */
function lump(size, ...parts) {
  const bytes = joined(...parts);
  return joined(uint(bytes.length, size), bytes);
}

function joined(...parts) {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function text(letters) {
  return new TextEncoder().encode(letters);
}

export function unhexed(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
