/** What contributions cost together, however the next is chosen: the twin of `privacy/filter.py`, which has the theorem. */

import { exactSum } from "../exact.js";

const ORDERS = Float64Array.from({ length: 4000 }, (_, i) => 1 + 10 ** (-4 + (9 * i) / 3999));

/** The ε, at `delta`, of contributions with these {epsilon, delta}. */
export function spentEpsilon(costs, delta) {
  const pure = costs.some((cost) => cost.delta) ? Infinity : exactSum(costs.map((cost) => cost.epsilon));
  const rho = exactSum(costs.map((cost) => (cost.delta ? gaussianRho(cost.epsilon, cost.delta) : cost.epsilon ** 2 / 2)));
  return rho && delta ? Math.min(pure, zcdpEpsilon(rho, delta)) : pure;
}

/** The least ε that ρ-zCDP implies at δ (Canonne, Kamath, Steinke 2020, Proposition 12). */
function zcdpEpsilon(rho, delta) {
  let least = Infinity;
  for (const order of ORDERS) {
    const multiplier = order * Math.log1p(-1 / order) - Math.log(order - 1);
    least = Math.min(least, order * rho + (multiplier - Math.log(delta)) / (order - 1));
  }
  return Math.max(0, least);
}

const rhos = new Map();

/** ρ of the discrete Gaussian noise that (ε, δ) demands. */
function gaussianRho(epsilon, delta) {
  const key = `${epsilon} ${delta}`;
  if (!rhos.has(key)) {
    let low = 0, high = 1;
    while (zcdpEpsilon(high, delta) < epsilon) high *= 2;
    for (let i = 0; i < 100; i++) {
      const middle = (low + high) / 2;
      if (zcdpEpsilon(middle, delta) > epsilon) high = middle;
      else low = middle;
    }
    rhos.set(key, high);
  }
  return rhos.get(key);
}
