/**
 * Exact random integers from random bytes: the same bytes give the same integers as Discreet's Python sampler
 * (`privacy/noise.py`, `noise_tables.py`, `noise_kernels.py`), which has the proofs.
 *
 * "Is a uniform real below x?" is decided by comparing digits in base 256, one random byte after the other. |y| is cut
 * into cells of w = 2^bits integers: a cell is drawn by its cumulative probability 1 − e^{−(c+1)·w/t}, a place j in it
 * uniformly, and kept with probability e^{−(j/w)·κ}, κ = w/t, by von Neumann's runs.
 */

import { bitLength, expMinus } from "./exact.js";

const DONE = 0, MORE_BYTES = 1, MORE_DIGITS = 2;

/** A uniform BigInt of {0, …, bound − 1}. */
export function below(random, bound) {
  const bits = bitLength(bound - 1n);
  const width = Math.ceil(bits / 8);
  for (;;) {
    let drawn = 0n;
    random(width).forEach((byte, place) => (drawn |= BigInt(byte) << BigInt(8 * place)));
    drawn >>= BigInt(8 * width - bits);
    if (drawn < bound) return drawn;
  }
}

/** `size` independent integers with P(y) ∝ e^{−|y|/scale}; scale is a fraction from 2⁻²⁰ to 2⁴⁰. */
export function discreteLaplace(random, scale, size) {
  const [n, d] = scale;
  if (n << 20n < d || n > d << 40n) throw new RangeError("the noise's scale must be from 2^-20 to 2^40");
  const out = new Array(size);
  const bytesEach = 4 + Math.floor((2 * bitLength(n / d)) / 8);
  let digits = 8, done = 0, used = 0, wanting = MORE_BYTES, source = new Uint8Array(0);
  while (wanting !== DONE) {
    source = source.subarray(used);
    if (wanting === MORE_BYTES) {
      const fresh = random((size - done) * bytesEach + 64);
      const joined = new Uint8Array(source.length + fresh.length);
      joined.set(source);
      joined.set(fresh, source.length);
      source = joined;
    } else {
      digits *= 2;
    }
    [done, used, wanting] = fill(laplaceTables(scale, digits), source, out, done);
  }
  return out;
}

const kept = new Map();

/** Digits in base 256, rounded down and certain, of the cells' cumulative probabilities and of κ. */
export function laplaceTables(scale, digits) {
  const name = `${scale[0]}/${scale[1]}/${digits}`;
  if (!kept.has(name)) {
    if (kept.size > 64) kept.clear();
    kept.set(name, makeTables(scale, digits));
  }
  return kept.get(name);
}

function makeTables([n, d], digits) {
  const bits = n < 8n * d ? 0 : bitLength(n / (4n * d)) - 1;
  const rate = [d << BigInt(bits), n];
  const cumulative = cumulativeDigits(rate, digits);
  const kappa = bits ? toDigits((rate[0] << BigInt(8 * digits)) / rate[1], digits) : new Uint8Array(digits);
  const guide = Array.from({ length: 256 }, (_, byte) => {
    const first = cumulative.findIndex((row) => row[0] >= byte);
    return first < 0 ? cumulative.length : first;
  });
  return { bits, cumulative, kappa, guide };
}

/** Digits of 1 − e^{−rate·(c+1)} for c = 0, 1, … until they are all 255; again with more precision if one is open. */
function cumulativeDigits(rate, digits) {
  const last = (1n << BigInt(8 * digits)) - 1n;
  for (let extra = 64; ; extra *= 2) {
    const places = 8 * digits + extra;
    const one = 1n << BigInt(places), ratio = expMinus(rate, places), rows = [];
    let power = ratio, slack = 2n;
    for (;;) {
      const low = (one - power - slack) >> BigInt(extra);
      let high = (one - power + slack) >> BigInt(extra);
      if (high > last) high = last;
      if (low !== high) break;
      rows.push(toDigits(low, digits));
      if (low === last) return rows;
      power = (power * ratio) >> BigInt(places);
      slack += 3n;
    }
  }
}

function toDigits(value, digits) {
  const row = new Uint8Array(digits);
  for (let place = digits - 1; place >= 0; place--, value >>= 8n) row[place] = Number(value & 255n);
  return row;
}

function belowDigits(digits, source, state) {
  for (const digit of digits) {
    if (state.at >= source.length) {
      state.wanting = MORE_BYTES;
      return false;
    }
    const byte = source[state.at++];
    if (byte !== digit) return byte < digit;
  }
  state.wanting = MORE_DIGITS;
  return false;
}

function uniformBits(count, source, state) {
  let drawn = 0;
  for (let i = 0; i < Math.ceil(count / 8); i++) {
    if (state.at >= source.length) {
      state.wanting = MORE_BYTES;
      return 0;
    }
    drawn = drawn * 256 + source[state.at++];
  }
  return drawn % 2 ** count;
}

function uniformBelow(bound, source, state) {
  let count = 0;
  while (bound - 1 >= 2 ** count) count++;
  let drawn = bound;
  while (drawn >= bound && state.wanting === DONE) drawn = uniformBits(count, source, state);
  return drawn;
}

function drawCell({ cumulative, guide }, source, state) {
  const start = state.at;
  if (start >= source.length) {
    state.wanting = MORE_BYTES;
    return 0;
  }
  let furthest = start + 1;
  for (let cell = guide[source[start]]; cell < cumulative.length; cell++) {
    const row = cumulative[cell];
    let equal = true;
    for (let place = 0; place < row.length; place++) {
      if (start + place >= source.length) {
        state.wanting = MORE_BYTES;
        return 0;
      }
      furthest = Math.max(furthest, start + place + 1);
      const byte = source[start + place];
      if (byte < row[place]) {
        state.at = furthest;
        return cell;
      }
      if (byte > row[place]) {
        equal = false;
        break;
      }
    }
    if (equal) break;
  }
  state.wanting = MORE_DIGITS;
  return 0;
}

/** True with probability e^{−(j/w)·κ}. */
function coin({ kappa, bits }, j, source, state) {
  let length = 0;
  while (belowDigits(kappa, source, state)) {
    if (uniformBits(bits, source, state) >= j) break;
    if (length > 0 && uniformBelow(length + 1, source, state) > 0) break;
    length++;
  }
  return length % 2 === 0;
}

/** Fill out[done…]; what is wanting is answered by running the unfinished sample again with the same bytes and more. */
function fill(tables, source, out, done) {
  const state = { at: 0, wanting: DONE };
  for (; done < out.length; done++) {
    const start = state.at;
    for (;;) {
      const cell = drawCell(tables, source, state);
      const j = tables.bits ? uniformBits(tables.bits, source, state) : 0;
      const keep = j > 0 ? coin(tables, j, source, state) : true;
      if (!keep && state.wanting === DONE) continue;
      const size = cell * 2 ** tables.bits + j;
      const negative = uniformBits(1, source, state) === 1;
      if (state.wanting !== DONE) return [done, start, state.wanting];
      if (!(negative && size === 0)) {
        out[done] = negative ? -size : size;
        break;
      }
    }
  }
  return [done, state.at, DONE];
}
