/** The proof that an encoded measurement is valid: wire seeds, and the gadget's polynomial by its values. */

const domains = new Map();

/**
 * Powers of the principal n-th root of unity and of its inverse, and sⁱ/n for the 2n-th root s, as constants for
 * `multiply`.
 */
function domain(field, size) {
  const key = `${field.name} ${size}`;
  if (!domains.has(key)) {
    const powers = (base, first = 1n) => {
      const out = [first];
      while (out.length < size) out.push((out[out.length - 1] * base) % field.modulus);
      return field.constants(out);
    };
    const root = field.nthRoot(size);
    domains.set(key, {
      size,
      roots: powers(root),
      inverseRoots: powers(field.inverse(root)),
      twist: powers(field.nthRoot(2 * size), field.inverse(BigInt(size))),
    });
  }
  return domains.get(key);
}

/** From coefficients to the values at the powers of the root, in place. */
function ntt(field, values, size, roots) {
  const { limbs } = field;
  for (let place = 1, reverse = 0; place < size; place++) {
    let bit = size >> 1;
    for (; reverse & bit; bit >>= 1) reverse ^= bit;
    reverse |= bit;
    if (place >= reverse) continue;
    for (let l = 0; l < limbs; l++) {
      const kept = values[place * limbs + l];
      values[place * limbs + l] = values[reverse * limbs + l];
      values[reverse * limbs + l] = kept;
    }
  }
  const odd = field.zeros(1);
  for (let half = 1; half < size; half *= 2) {
    const stride = size / (2 * half);
    for (let offset = 0; offset < half; offset++) {
      for (let place = offset; place < size; place += 2 * half) {
        if (offset === 0) for (let l = 0; l < limbs; l++) odd[l] = values[(place + half) * limbs + l]; // the root is 1
        else field.multiply(values, place + half, roots, offset * stride, odd, 0);
        field.subtract(values, place, odd, 0, values, place + half);
        field.add(values, place, odd, 0, values, place);
      }
    }
  }
}

/** A polynomial's values at the 2n points from those at n: these are the even ones, and p(s·x) has the odd ones. */
function doubled(field, values, { size, roots, inverseRoots, twist }) {
  const { limbs } = field;
  const odd = values.slice(), out = field.zeros(2 * size);
  ntt(field, odd, size, inverseRoots);
  for (let place = 0; place < size; place++) field.multiply(odd, place, twist, place, odd, place);
  ntt(field, odd, size, roots);
  for (let place = 0; place < size; place++) {
    for (let l = 0; l < limbs; l++) {
      out[2 * place * limbs + l] = values[place * limbs + l];
      out[(2 * place + 1) * limbs + l] = odd[place * limbs + l];
    }
  }
  return out;
}

export function prove(circuit, meas, proveRand, jointRand) {
  const { field, arity, gadgetLength } = circuit;
  const { limbs } = field;
  const points = domain(field, circuit.wireLength);
  const wires = circuit.wires(meas, jointRand).map((wire, number) => {
    wire.set(proveRand.subarray(number * limbs, (number + 1) * limbs));
    return doubled(field, wire, points);
  });
  const proof = field.zeros(arity + gadgetLength);
  proof.set(proveRand);
  const product = field.zeros(1), total = field.zeros(1);
  for (let place = 0; place < gadgetLength; place++) {
    total.fill(0);
    for (let wire = 0; wire < Math.max(1, arity / 2); wire++) {
      if (arity === 1) {
        field.subtract(wires[0], place, field.one, 0, product, 0);
        field.multiply(wires[0], place, product, 0, product, 0);
      } else field.multiply(wires[2 * wire], place, wires[2 * wire + 1], place, product, 0);
      field.add(total, 0, product, 0, total, 0);
    }
    field.multiply(total, 0, field.square, 0, proof, arity + place); // products of two values lack a factor R
  }
  return proof;
}
