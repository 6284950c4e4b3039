/**
 * Prio3's client (draft-irtf-cfrg-vdaf, version 18): a measurement becomes one share for each aggregator, none of which
 * says anything about it, with a proof that it is within its bounds. Byte for byte what Python makes of the same bytes.
 */
import { Count, Histogram, MultihotCountVec, Sum, SumVec } from "./circuits.js";
import { prove } from "./proof.js";
import { SEED_SIZE, deriveSeed, expandIntoVec } from "./xof.js";

export const NONCE_SIZE = 16;
const VERSION = 18;
const PROOFS = 1;
const USAGE = { measShare: 1, proofShare: 2, jointRandomness: 3, proveRandomness: 4, jointRandSeed: 6, jointRandPart: 7 };
const VARIANTS = {
  Prio3Count: Count,
  Prio3Sum: Sum,
  Prio3SumVec: SumVec,
  Prio3Histogram: Histogram,
  Prio3MultihotCountVec: MultihotCountVec,
};

function subtracted(field, a, b) {
  const out = new Float64Array(a.length);
  for (let place = 0; place < a.length / field.limbs; place++) field.subtract(a, place, b, place, out, place);
  return out;
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

export class Prio3 {
  /** `parameters` have the draft's names: shares, length, chunk_length, max_measurement, max_weight. */
  constructor(variant, { shares = 2, ...parameters } = {}) {
    if (!Object.hasOwn(VARIANTS, variant)) throw new RangeError(`variants are ${Object.keys(VARIANTS).join(", ")}`);
    if (!(Number.isInteger(shares) && shares >= 2 && shares <= 255)) throw new RangeError("Prio3 takes 2 to 255 aggregators");
    this.shares = shares;
    this.circuit = new VARIANTS[variant](parameters);
    this.randSize = SEED_SIZE * shares * (this.circuit.jointRandLength ? 2 : 1);
  }

  /** The report of a measurement: `nonce` is public and unique, `rand` secret and used once. All are Uint8Arrays. */
  shard(ctx, measurement, nonce, rand) {
    if (nonce.length !== NONCE_SIZE) throw new RangeError(`the nonce has ${NONCE_SIZE} bytes, not ${nonce.length}`);
    if (rand.length !== this.randSize) throw new RangeError(`the randomness has ${this.randSize} bytes, not ${rand.length}`);
    const { circuit, shares } = this;
    const { field } = circuit;
    const seeds = Array.from({ length: rand.length / SEED_SIZE }, (_, i) => rand.subarray(i * SEED_SIZE, (i + 1) * SEED_SIZE));
    const proveSeed = seeds[seeds.length - 1];
    const joint = circuit.jointRandLength > 0;
    const helperSeed = (helper) => seeds[joint ? 2 * (helper - 1) : helper - 1];
    const blind = (aggregator) => seeds[aggregator ? 2 * aggregator - 1 : seeds.length - 2];
    const tag = (usage) => this._tag(usage, ctx);

    const meas = circuit.encode(measurement);
    const parts = [];
    const part = (aggregator, share) =>
      deriveSeed(blind(aggregator), tag(USAGE.jointRandPart), [aggregator], nonce, field.encode(share));
    let leaderMeas = meas;
    for (let helper = 1; helper < shares; helper++) {
      const share = expandIntoVec(field, circuit.measLength, helperSeed(helper), tag(USAGE.measShare), [helper]);
      leaderMeas = subtracted(field, leaderMeas, share);
      if (joint) parts[helper] = part(helper, share);
    }
    let jointRand = null;
    if (joint) {
      parts[0] = part(0, leaderMeas);
      const seed = deriveSeed(new Uint8Array(SEED_SIZE), tag(USAGE.jointRandSeed), ...parts);
      jointRand = expandIntoVec(field, circuit.jointRandLength, seed, tag(USAGE.jointRandomness), [PROOFS]);
    }
    const proveRand = expandIntoVec(field, circuit.arity, proveSeed, tag(USAGE.proveRandomness), [PROOFS]);
    let proof = prove(circuit, meas, proveRand, jointRand);
    const proofLength = circuit.arity + circuit.gadgetLength;
    for (let helper = 1; helper < shares; helper++) {
      const share = expandIntoVec(field, proofLength, helperSeed(helper), tag(USAGE.proofShare), [PROOFS, helper]);
      proof = subtracted(field, proof, share);
    }
    const inputShares = [joined(field.encode(leaderMeas), field.encode(proof), joint ? blind(0) : [])];
    for (let helper = 1; helper < shares; helper++) inputShares.push(joined(helperSeed(helper), joint ? blind(helper) : []));
    return { publicShare: joined(...parts), inputShares };
  }

  _tag(usage, ctx) {
    const { algorithm } = this.circuit;
    return joined([VERSION, 0, 0, 0, 0, algorithm, 0, usage], ctx);
  }
}
