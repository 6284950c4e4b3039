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
  constructor(name, modulus, encodedSize, limbs, orderBits) {
    Object.assign(this, { name, modulus, encodedSize, limbs, orderBits });
    this.modulusLimbs = this.fromBigInts([modulus]);
    this.radix = 1n << BigInt(24 * limbs);
    this.square = this.fromBigInts([(this.radix * this.radix) % modulus]); // R², to multiply by R
    this.one = this.fromBigInts([1n]);
  }

  /* add, subtract, multiply(a, i, b, j, out, k): out[k] from a[i] and b[j]; places count elements, `out` may be a or b. */

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

/* What follows is written out, without loops over limbs: a page shards once, before its code is compiled.
 *
 * `settle` writes the element of limbs of any sign, below 2⁵³, whose value is from 0 to twice the modulus: it carries,
 * subtracts the modulus, and keeps the difference unless it is negative. `multiply` adds to the columns of the product
 * multiples m of the modulus that make the lowest column a multiple q of B = 2²⁴, which moves up. */

/* 2⁶⁴ − 2³² + 1 = 2¹⁶·B² − 2⁸·B + 1 */
class Field64 extends Field {
  add(a, i, b, j, out, k) {
    const x = 3 * i, y = 3 * j;
    this._settle(out, 3 * k, a[x] + b[y], a[x + 1] + b[y + 1], a[x + 2] + b[y + 2]);
  }

  subtract(a, i, b, j, out, k) {
    const x = 3 * i, y = 3 * j;
    this._settle(out, 3 * k, a[x] - b[y] + 1, a[x + 1] - b[y + 1] - 256, a[x + 2] - b[y + 2] + 65536);
  }

  multiply(a, i, b, j, out, k) {
    const x = 3 * i, y = 3 * j;
    const a0 = a[x], a1 = a[x + 1], a2 = a[x + 2];
    const b0 = b[y], b1 = b[y + 1], b2 = b[y + 2];
    let c0 = a0 * b0;
    let c1 = a0 * b1 + a1 * b0;
    let c2 = a0 * b2 + a1 * b1 + a2 * b0;
    let c3 = a1 * b2 + a2 * b1;
    let c4 = a2 * b2;
    let q = Math.ceil(c0 * UNIT), m = q * BASE - c0;
    c1 += q - m * 256, c2 += m * 65536;
    q = Math.ceil(c1 * UNIT), m = q * BASE - c1, c2 += q - m * 256, c3 += m * 65536;
    q = Math.ceil(c2 * UNIT), m = q * BASE - c2, c3 += q - m * 256, c4 += m * 65536;
    this._settle(out, 3 * k, c3, c4, 0);
  }

  _settle(out, at, c0, c1, c2) {
    let q = Math.floor(c0 * UNIT);
    c0 -= q * BASE;
    c1 += q, q = Math.floor(c1 * UNIT), c1 -= q * BASE;
    c2 += q, q = Math.floor(c2 * UNIT), c2 -= q * BASE;
    const above = q;
    let d0 = c0 - 1;
    q = Math.floor(d0 * UNIT), d0 -= q * BASE;
    let d1 = c1 + 256 + q;
    q = Math.floor(d1 * UNIT), d1 -= q * BASE;
    let d2 = c2 - 65536 + q;
    q = Math.floor(d2 * UNIT), d2 -= q * BASE;
    const keep = above + q < 0 ? 1 : 0, take = 1 - keep;
    out[at] = keep * c0 + take * d0;
    out[at + 1] = keep * c1 + take * d1;
    out[at + 2] = keep * c2 + take * d2;
  }
}

const FOLD = 28 * 2 ** 16;

/* 2¹²⁸ − 28·2⁶⁴ + 1 = 2⁸·B⁵ − 28·2¹⁶·B² + 1 */
class Field128 extends Field {
  add(a, i, b, j, out, k) {
    const x = 6 * i, y = 6 * j;
    const c0 = a[x] + b[y], c1 = a[x + 1] + b[y + 1], c2 = a[x + 2] + b[y + 2];
    this._settle(out, 6 * k, c0, c1, c2, a[x + 3] + b[y + 3], a[x + 4] + b[y + 4], a[x + 5] + b[y + 5]);
  }

  subtract(a, i, b, j, out, k) {
    const x = 6 * i, y = 6 * j;
    const c0 = a[x] - b[y] + 1, c1 = a[x + 1] - b[y + 1], c2 = a[x + 2] - b[y + 2] - FOLD;
    this._settle(out, 6 * k, c0, c1, c2, a[x + 3] - b[y + 3], a[x + 4] - b[y + 4], a[x + 5] - b[y + 5] + 256);
  }

  multiply(a, i, b, j, out, k) {
    const x = 6 * i, y = 6 * j;
    const a0 = a[x], a1 = a[x + 1], a2 = a[x + 2], a3 = a[x + 3], a4 = a[x + 4], a5 = a[x + 5];
    const b0 = b[y], b1 = b[y + 1], b2 = b[y + 2], b3 = b[y + 3], b4 = b[y + 4], b5 = b[y + 5];
    let c0 = a0 * b0;
    let c1 = a0 * b1 + a1 * b0;
    let c2 = a0 * b2 + a1 * b1 + a2 * b0;
    let c3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0;
    let c4 = a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0;
    let c5 = a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0;
    let c6 = a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1;
    let c7 = a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2;
    let c8 = a3 * b5 + a4 * b4 + a5 * b3;
    let c9 = a4 * b5 + a5 * b4;
    let c10 = a5 * b5;
    let q = Math.ceil(c0 * UNIT), m = q * BASE - c0;
    c1 += q, c2 -= m * FOLD, c5 += m * 256;
    q = Math.ceil(c1 * UNIT), m = q * BASE - c1, c2 += q, c3 -= m * FOLD, c6 += m * 256;
    q = Math.ceil(c2 * UNIT), m = q * BASE - c2, c3 += q, c4 -= m * FOLD, c7 += m * 256;
    q = Math.ceil(c3 * UNIT), m = q * BASE - c3, c4 += q, c5 -= m * FOLD, c8 += m * 256;
    q = Math.ceil(c4 * UNIT), m = q * BASE - c4, c5 += q, c6 -= m * FOLD, c9 += m * 256;
    q = Math.ceil(c5 * UNIT), m = q * BASE - c5, c6 += q, c7 -= m * FOLD, c10 += m * 256;
    this._settle(out, 6 * k, c6, c7, c8, c9, c10, 0);
  }

  _settle(out, at, c0, c1, c2, c3, c4, c5) {
    let q = Math.floor(c0 * UNIT);
    c0 -= q * BASE;
    c1 += q, q = Math.floor(c1 * UNIT), c1 -= q * BASE;
    c2 += q, q = Math.floor(c2 * UNIT), c2 -= q * BASE;
    c3 += q, q = Math.floor(c3 * UNIT), c3 -= q * BASE;
    c4 += q, q = Math.floor(c4 * UNIT), c4 -= q * BASE;
    c5 += q, q = Math.floor(c5 * UNIT), c5 -= q * BASE;
    const above = q;
    let d0 = c0 - 1;
    q = Math.floor(d0 * UNIT), d0 -= q * BASE;
    let d1 = c1 + q;
    q = Math.floor(d1 * UNIT), d1 -= q * BASE;
    let d2 = c2 + FOLD + q;
    q = Math.floor(d2 * UNIT), d2 -= q * BASE;
    let d3 = c3 + q;
    q = Math.floor(d3 * UNIT), d3 -= q * BASE;
    let d4 = c4 + q;
    q = Math.floor(d4 * UNIT), d4 -= q * BASE;
    let d5 = c5 - 256 + q;
    q = Math.floor(d5 * UNIT), d5 -= q * BASE;
    const keep = above + q < 0 ? 1 : 0, take = 1 - keep;
    out[at] = keep * c0 + take * d0;
    out[at + 1] = keep * c1 + take * d1;
    out[at + 2] = keep * c2 + take * d2;
    out[at + 3] = keep * c3 + take * d3;
    out[at + 4] = keep * c4 + take * d4;
    out[at + 5] = keep * c5 + take * d5;
  }
}

export const FIELD64 = new Field64("Field64", 2n ** 64n - 2n ** 32n + 1n, 8, 3, 32);
export const FIELD128 = new Field128("Field128", 2n ** 128n - 28n * 2n ** 64n + 1n, 16, 6, 66);
