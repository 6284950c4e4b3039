/**
 * Exact arithmetic: fractions of BigInts, and e^x to as many digits as are asked for. No float takes part in what is
 * drawn, because a float64 sample betrays the value under it.
 *
 * A fraction is a pair [numerator, denominator] in lowest terms, the denominator above 0.
 */

export const bitLength = (n) => (n === 0n ? 0 : n.toString(2).length);

export function fraction(numerator, denominator) {
  let a = numerator, b = denominator;
  while (b) [a, b] = [b, a % b];
  return [numerator / a, denominator / a];
}

/** The exact value of a positive double. */
export function fromDouble(value) {
  if (!(Number.isFinite(value) && value > 0)) throw new RangeError(`a number above 0 is needed, not ${value}`);
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const exponent = Number(word >> 52n);
  const mantissa = (word & ((1n << 52n) - 1n)) | (exponent ? 1n << 52n : 0n);
  const shift = BigInt((exponent || 1) - 1075);
  return shift < 0n ? fraction(mantissa, 1n << -shift) : [mantissa << shift, 1n];
}

/** The least m/2^r that is not below the fraction, m of about 32 bits: noise is rounded towards privacy. */
export function roundedUp([numerator, denominator], bits = 32) {
  const shift = BigInt(bits - 1 - (bitLength(numerator) - bitLength(denominator)));
  const [n, d] = shift < 0n ? [numerator, denominator << -shift] : [numerator << shift, denominator];
  const whole = (n + d - 1n) / d;
  return shift < 0n ? [whole << -shift, 1n] : fraction(whole, 1n << shift);
}

/**
 * e^{−n/d}·2^bits for n/d ≥ 0, off by less than 1.
 *
 * The exponent is halved until it is below 1/2, the series summed, and the result squared back. Each squaring doubles
 * the error and adds one unit of the last place, so 64 + 2·(halvings) places more than asked for are carried.
 */
export function expMinus([n, d], bits) {
  const halvings = Math.max(0, bitLength(n / d) + 1);
  const places = BigInt(bits + 64 + 2 * halvings);
  const x = (n << places) / (d << BigInt(halvings));
  let term = 1n << places, sum = term;
  for (let i = 1n; term; i++) {
    term = ((term * x) >> places) / i;
    sum += i & 1n ? -term : term;
  }
  for (let i = 0; i < halvings; i++) sum = (sum * sum) >> places;
  return sum >> (places - BigInt(bits));
}

/** ⌊e^ε·2⁴⁰ − 10⁻⁶⌋, and at least 2⁴⁰: the weight of a choice that is e^ε times as likely as one of weight 2⁴⁰. */
export function expWeight(epsilon) {
  const [n, d] = fromDouble(epsilon);
  const bits = 200 + 6 * Math.ceil(epsilon);
  const inverse = expMinus([n, d], bits);
  const scale = 160n;
  const product = (1n << (BigInt(bits) + 40n + scale)) / inverse;
  const weight = (product - (1n << scale) / 1000000n) >> scale;
  return weight > ONE ? weight : ONE;
}

export const ONE = 1n << 40n;

/** The sum of doubles, exact and then rounded once. */
export function exactSum(values) {
  let total = 0n;
  for (const value of values) {
    if (value === Infinity) return Infinity;
    if (value > 0) {
      const [n, d] = fromDouble(value);
      total += (n << 300n) / d;
    }
  }
  return Number(total) / 2 ** 300;
}
