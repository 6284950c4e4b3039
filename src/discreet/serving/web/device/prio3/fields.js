/**
 * The two fields of Prio3, without BigInt: an element is some doubles of 24 bits each ("limbs"), the lowest first, and
 * a vector is a Float64Array of them. A product of two limbs has 48 bits, so a column of products stays below 2⁵³.
 *
 * Elements are below the modulus. Both moduli are 1 modulo 2²⁴ and have few non-zero limbs when these may be negative,
 * which makes Montgomery's reduction cheap: `multiply` gives a·b/R, R = 2^(24·limbs). Constants are therefore kept
 * multiplied by R, and a constant times a value is the true product. No branch depends on a value.
 */

const BASE = 2 ** 24;
const UNIT = 2 ** -24;

class Field {
  /** `sparse` are the modulus's limbs that are not 0, as [place, limb], the first [0, 1]. */
  constructor(name, modulus, encodedSize, limbs, orderBits, sparse) {
    Object.assign(this, { name, modulus, encodedSize, limbs, orderBits, sparse });
    this.columns = new Float64Array(2 * limbs);
    this.modulusLimbs = this.fromBigInts([modulus]);
    this.radix = 1n << BigInt(24 * limbs);
    this.square = this.fromBigInts([(this.radix * this.radix) % modulus]); // R², to multiply by R
    this.one = this.fromBigInts([1n]);
  }

  zeros(length) {
    return new Float64Array(length * this.limbs);
  }

  fromBigInts(numbers) {
    const out = this.zeros(numbers.length);
    numbers.forEach((number, place) => {
      for (let i = 0; i < this.limbs; i++) out[place * this.limbs + i] = Number((number >> BigInt(24 * i)) & 0xffffffn);
    });
    return out;
  }

  /** Constants for `multiply`: times R. */
  constants(numbers) {
    return this.fromBigInts(numbers.map((number) => (number * this.radix) % this.modulus));
  }

  power(base, exponent) {
    let result = 1n;
    for (let b = base % this.modulus, e = exponent; e; e >>= 1n, b = (b * b) % this.modulus) {
      if (e & 1n) result = (result * b) % this.modulus;
    }
    return result;
  }

  inverse(number) {
    return this.power(number, this.modulus - 2n);
  }

  /** The principal n-th root of unity. */
  nthRoot(n) {
    const generator = this.power(7n, (this.modulus - 1n) >> BigInt(this.orderBits));
    return this.power(generator, (1n << BigInt(this.orderBits)) / BigInt(n));
  }

  /** Write the element of columns[first…], each of any sign and below 2⁵³, their value from 0 to twice the modulus. */
  _settle(first, out, at) {
    const { columns, limbs, modulusLimbs } = this;
    let carry = 0, borrow = 0;
    for (let i = 0; i < limbs; i++) {
      const value = columns[first + i] + carry;
      carry = Math.floor(value * UNIT);
      out[at + i] = value - carry * BASE;
      const less = out[at + i] - modulusLimbs[i] + borrow;
      borrow = Math.floor(less * UNIT);
      columns[i] = less - borrow * BASE;
    }
    const keep = carry + borrow < 0 ? 1 : 0;
    for (let i = 0; i < limbs; i++) out[at + i] = keep * out[at + i] + (1 - keep) * columns[i];
  }

  /** out[k] = a[i] + b[j]; all places count elements. `out` may be one of the others. */
  add(a, i, b, j, out, k) {
    const { columns, limbs } = this;
    for (let l = 0; l < limbs; l++) columns[l] = a[i * limbs + l] + b[j * limbs + l];
    this._settle(0, out, k * limbs);
  }

  subtract(a, i, b, j, out, k) {
    const { columns, limbs, modulusLimbs } = this;
    for (let l = 0; l < limbs; l++) columns[l] = a[i * limbs + l] - b[j * limbs + l] + modulusLimbs[l];
    this._settle(0, out, k * limbs);
  }

  /** out[k] = a[i]·b[j]/R. */
  multiply(a, i, b, j, out, k) {
    const { columns, limbs, sparse } = this;
    columns.fill(0);
    for (let l = 0; l < limbs; l++) {
      const factor = a[i * limbs + l];
      for (let m = 0; m < limbs; m++) columns[l + m] += factor * b[j * limbs + m];
    }
    for (let l = 0; l < limbs; l++) {
      // Adding this multiple of the modulus makes the lowest column a multiple of 2²⁴; it moves up.
      const low = columns[l] - Math.floor(columns[l] * UNIT) * BASE;
      const multiple = low === 0 ? 0 : BASE - low;
      for (const [place, limb] of sparse) columns[l + place] += multiple * limb;
      columns[l + 1] += columns[l] * UNIT;
    }
    this._settle(limbs, out, k * limbs);
  }

  /** The elements' bytes, little-endian. */
  encode(vector) {
    const { limbs, encodedSize } = this;
    const out = new Uint8Array((vector.length / limbs) * encodedSize);
    for (let at = 0, element = 0; at < out.length; at += encodedSize, element += limbs) {
      for (let i = 0; i < encodedSize; i++) out[at + i] = vector[element + Math.floor(i / 3)] >>> (8 * (i % 3));
    }
    return out;
  }

  /** Put bytes as an element at a place; false if it is not below the modulus. */
  decodeInto(bytes, vector, place) {
    const { limbs, modulusLimbs } = this;
    let below = false;
    for (let i = 0; i < limbs; i++) {
      const limb = bytes[3 * i] | ((bytes[3 * i + 1] ?? 0) << 8) | ((bytes[3 * i + 2] ?? 0) << 16);
      vector[place * limbs + i] = limb;
      below = limb < modulusLimbs[i] || (limb === modulusLimbs[i] && below);
    }
    return below;
  }
}

export const FIELD64 = new Field("Field64", 2n ** 64n - 2n ** 32n + 1n, 8, 3, 32, [[0, 1], [1, -(2 ** 8)], [2, 2 ** 16]]);
export const FIELD128 = new Field("Field128", 2n ** 128n - 28n * 2n ** 64n + 1n, 16, 6, 66, [[0, 1], [2, -28 * 2 ** 16], [5, 2 ** 8]]);
