/**
 * What a measurement may be and how it is encoded. A circuit has the same shape of work for every measurement.
 *
 * `wires(meas, jointRand)` gives what the gadget is fed: for each wire its values in each call, the first place left
 * free for the wire's seed. The gadget sums the products of pairs of wires, or is x·(x − 1) where there is one wire.
 */
import { FIELD64, FIELD128 } from "./fields.js";

const nextPowerOf2 = (number) => 2 ** (32 - Math.clz32(number - 1));
const bitLength = (number) => number.toString(2).length;

function wholeNumber(name, value, least = 1) {
  if (!Number.isSafeInteger(value) || value < least) throw new RangeError(`${name} is an integer from ${least} on`);
  return value;
}

/** A bound on numbers, of any size: what JSON could not hold exactly is given as a BigInt. */
function bound(name, value, field) {
  const whole = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value) : 0n;
  if (whole < 1n || whole >= field.modulus) throw new RangeError(`${name} is an integer from 1 to ${field.modulus - 1n}`);
  return whole;
}

/** The measurement's numbers; an error, without them in it, if one is not from 0 to `largest`. */
function checked(values, largest, length) {
  const problem = `a measurement has integers from 0 to ${largest}, ${length} of them`;
  if (!Array.isArray(values) && !ArrayBuffer.isView(values)) throw new RangeError(problem);
  if (values.length !== length) throw new RangeError(problem);
  return Array.from(values, (value) => {
    const whole = typeof value === "bigint" || typeof value === "boolean" || Number.isSafeInteger(value);
    if (!whole || value < 0 || value > largest) throw new RangeError(problem);
    return BigInt(value);
  });
}

/** The bits of a number from 0 to `largest`: powers of two, but the last counts for what is missing to `largest`. */
function rangeChecked(number, largest) {
  const bits = bitLength(largest);
  const rest = (1n << BigInt(bits - 1)) - 1n;
  const last = BigInt(number > rest);
  const low = number - last * (largest - rest);
  return [...Array.from({ length: bits - 1 }, (_, place) => Number((low >> BigInt(place)) & 1n)), Number(last)];
}

class Circuit {
  jointRandLength = 0;

  get wireLength() {
    return nextPowerOf2(1 + this.calls);
  }

  get gadgetLength() {
    return 2 * (this.wireLength - 1) + 1;
  }

  /** A vector of zeros and ones. */
  _small(numbers) {
    const out = this.field.zeros(numbers.length);
    numbers.forEach((number, place) => {
      out[place * this.field.limbs] = number;
    });
    return out;
  }

  _emptyWires() {
    return Array.from({ length: this.arity }, () => this.field.zeros(this.wireLength));
  }

  _place(meas, place, wire, call) {
    const { limbs } = this.field;
    wire.set(meas.subarray(place * limbs, (place + 1) * limbs), (call + 1) * limbs);
  }
}

export class Count extends Circuit {
  field = FIELD64;
  algorithm = 1;
  measLength = 1;
  calls = 1;
  arity = 2;

  encode(measurement) {
    return this._small(checked([measurement], 1, 1).map(Number));
  }

  wires(meas) {
    const wires = this._emptyWires();
    for (const wire of wires) this._place(meas, 0, wire, 0);
    return wires;
  }
}

export class Sum extends Circuit {
  field = FIELD64;
  algorithm = 2;
  arity = 1;

  constructor({ max_measurement }) {
    super();
    this.largest = bound("max_measurement", max_measurement, this.field);
    this.measLength = this.calls = bitLength(this.largest);
  }

  encode(measurement) {
    return this._small(rangeChecked(checked([measurement], this.largest, 1)[0], this.largest));
  }

  wires(meas) {
    const wires = this._emptyWires();
    for (let call = 0; call < this.calls; call++) this._place(meas, call, wires[0], call);
    return wires;
  }
}

/** Elements that must be 0 or 1, checked chunk by chunk: Σ rʲ·xⱼ·(xⱼ − 1). */
class Chunked extends Circuit {
  field = FIELD128;

  _setChunks(measLength, chunkLength) {
    this.chunkLength = wholeNumber("chunk_length", chunkLength);
    this.measLength = measLength;
    this.arity = 2 * chunkLength;
    this.calls = this.jointRandLength = Math.ceil(measLength / chunkLength);
  }

  wires(meas, jointRand) {
    const { field, chunkLength } = this;
    const wires = this._emptyWires();
    const padded = field.zeros(this.calls * chunkLength);
    padded.set(meas);
    const base = field.zeros(1), power = field.zeros(1);
    for (let call = 0; call < this.calls; call++) {
      field.multiply(jointRand, call, field.square, 0, base, 0); // times R: it multiplies from here on
      power.set(base);
      for (let term = 0; term < chunkLength; term++) {
        const place = call * chunkLength + term;
        field.multiply(power, 0, padded, place, wires[2 * term], call + 1);
        field.subtract(padded, place, field.one, 0, wires[2 * term + 1], call + 1);
        field.multiply(power, 0, base, 0, power, 0);
      }
    }
    return wires;
  }
}

export class SumVec extends Chunked {
  algorithm = 3;

  constructor({ length, max_measurement, chunk_length }) {
    super();
    this.length = wholeNumber("length", length);
    this.largest = bound("max_measurement", max_measurement, this.field);
    this._setChunks(length * bitLength(this.largest), chunk_length);
  }

  encode(measurement) {
    return this._small(checked(measurement, this.largest, this.length).flatMap((number) => rangeChecked(number, this.largest)));
  }
}

export class Histogram extends Chunked {
  algorithm = 4;

  constructor({ length, chunk_length }) {
    super();
    this._setChunks(wholeNumber("length", length), chunk_length);
  }

  encode(measurement) {
    const bucket = Number(checked([measurement], this.measLength - 1, 1)[0]);
    return this._small(Array.from({ length: this.measLength }, (_, place) => Number(place === bucket)));
  }
}

export class MultihotCountVec extends Chunked {
  algorithm = 5;

  constructor({ length, max_weight, chunk_length }) {
    super();
    this.length = wholeNumber("length", length);
    if (wholeNumber("max_weight", max_weight) > length) throw new RangeError(`max_weight is an integer from 1 to ${length}`);
    this.largest = BigInt(max_weight);
    this._setChunks(length + bitLength(this.largest), chunk_length);
  }

  encode(measurement) {
    const entries = checked(measurement, 1, this.length).map(Number);
    const weight = checked([entries.reduce((sum, entry) => sum + entry, 0)], this.largest, 1)[0];
    return this._small([...entries, ...rangeChecked(weight, this.largest)]);
  }
}
