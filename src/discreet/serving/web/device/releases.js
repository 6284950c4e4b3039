/**
 * The two releases of a click, bit for bit as Discreet's Python mechanisms make them from the same random bytes, and
 * the format in which they travel (`privacy/release_format.py` has it field by field).
 *
 * A mechanism here is {guarantee, apply(random) → integers}; `releaseBytes` joins both. Nobody calls it but the ledger,
 * after it debited that same guarantee.
 */

import { ONE, expWeight, fraction, fromDouble, roundedUp } from "./exact.js";
import { below, discreteLaplace } from "./noise.js";

const ADJACENCIES = ["substitute", "add/remove", "zero out"];

function proved(mechanism, epsilon, adjacency) {
  return {
    epsilon, delta: 0, unit: "click", adjacency, adversary: "server", scope: "one release", status: "proved",
    claimed_epsilon: null, mechanism, version: 1,
  };
}

/** Noised topic counts of the clicks of one epoch: ε-DP if a click is replaced, or with hideLength if one comes or goes. */
export function sketchMechanism(topicOfClicks, topics, epsilon, hideLength) {
  const counts = new Array(topics).fill(0);
  for (const topic of topicOfClicks) {
    if (!(Number.isInteger(topic) && topic >= 0 && topic < topics)) throw new RangeError(`no topic ${topic}`);
    counts[topic]++;
  }
  const [n, d] = fromDouble(epsilon);
  const scale = roundedUp(fraction((hideLength ? 1n : 2n) * d, n));
  return {
    guarantee: proved("topic counts", epsilon, ADJACENCIES[hideLength ? 1 : 0]),
    apply: (random) => discreteLaplace(random, scale, topics).map((noise, topic) => counts[topic] + noise),
  };
}

/** How many of C articles a label names: about C/(e^ε + 1), at least 1 and at most half. */
export function subsetSize(choices, epsilon) {
  const share = choices / (1 + Math.exp(Math.min(epsilon, 700)));
  const rounded = share % 1 === 0.5 ? 2 * Math.round(share / 2) : Math.round(share);
  return Math.max(1, Math.min(Math.floor(choices / 2), rounded));
}

/** A set of a slate's positions that more likely than not holds one of the clicked ones: ε-DP if a click is replaced. */
export function labelMechanism(clicked, choices, epsilon) {
  if (!clicked.length || choices < 2) throw new RangeError("a label needs a click and two articles");
  if (!clicked.every((place) => Number.isInteger(place) && place >= 0 && place < choices)) {
    throw new RangeError("a clicked position is outside the slate");
  }
  const size = subsetSize(choices, epsilon);
  const inside = BigInt(size) * expWeight(epsilon);
  return {
    guarantee: proved("subset selection", epsilon, ADJACENCIES[0]),
    apply: (random) => {
      const chosen = clicked[Number(below(random, BigInt(clicked.length)))];
      const holds = below(random, inside + BigInt(choices - size) * ONE) < inside;
      const others = [...Array(choices).keys()].filter((place) => place !== chosen);
      const subset = uniformSubset(others, size - (holds ? 1 : 0), random);
      return (holds ? [...subset, chosen] : subset).sort((a, b) => a - b);
    },
  };
}

function uniformSubset(items, size, random) {
  for (let place = 0; place < size; place++) {
    const chosen = place + Number(below(random, BigInt(items.length - place)));
    [items[place], items[chosen]] = [items[chosen], items[place]];
  }
  return items.slice(0, size);
}

/** Apply a mechanism, once: the bytes that may leave after its guarantee was debited. */
export function releaseBytes(mechanism, random) {
  return encode(mechanism.apply(random), mechanism.guarantee);
}

function encode(integers, guarantee) {
  const name = new TextEncoder().encode(guarantee.mechanism);
  const low = Math.min(0, ...integers), high = Math.max(0, ...integers);
  const width = [1, 2, 4, 8].find((bytes) => -(2 ** (8 * bytes - 1)) <= low && high < 2 ** (8 * bytes - 1));
  const view = new DataView(new ArrayBuffer(35 + name.length + 13 + width * integers.length + 4));
  const bytes = new Uint8Array(view.buffer);
  bytes.set([0x44, 0x72, 1, 0, ADJACENCIES.indexOf(guarantee.adjacency), 0, 0, 0]);
  view.setFloat64(8, guarantee.epsilon, true);
  view.setFloat64(16, guarantee.delta, true);
  bytes.set([0, 0, 0, 0, 0, 0, 0xf8, 0x7f], 24);
  view.setUint16(32, guarantee.version, true);
  view.setUint8(34, name.length);
  bytes.set(name, 35);
  let at = 35 + name.length;
  view.setFloat64(at, 1, true);
  view.setUint8(at + 8, width);
  view.setUint32(at + 9, integers.length, true);
  at += 13;
  for (const integer of integers) {
    if (width === 8) view.setBigInt64(at, BigInt(integer), true);
    else view[`setInt${8 * width}`](at, integer, true);
    at += width;
  }
  view.setUint32(at, crc32(bytes.subarray(0, at)), true);
  return bytes;
}

export function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
