"""What training on many rounds costs one user, who takes part in some of them.

A user joins each of R rounds by a secret coin of probability q, and no more than K times in life: the device stops by
itself. Each round releases the sum of the participants' vectors, each of norm at most Δ, with Gaussian noise of σ = zΔ.
Neighbours differ in whether one user's vectors are in the sums or zero. Later rounds may depend on all earlier sums,
and so may the user's vectors, on these and on private coins. The noise may be that of a lattice, at its price.

**Seen.** An adversary that sees who takes part finds K Gaussian mechanisms, each chosen from the results of those
before; what happens in rounds without the user is the same for both neighbours. They compose to exactly one of
multiplier z/√K (Dong, Roth, Su 2022), and its ε is the analytic Gaussian's. That a user takes part is not hidden.

**Hidden.** An adversary that does not see it finds no more than R Poisson-sampled Gaussians of rate q, cap or no cap.
Proof. The coins of the others are the same for both neighbours, so fix them (every hockey-stick divergence is jointly
convex): their sum s is then a function of the earlier outputs o. Fix these too. Given them, the user is in some private
state h (coins, how often it took part) with a probability that depends on o. The round's output, with the user, is the
mixture over h of
A_h = (1 − q_h)·N(s, σ²) + q_h·N(s + v_h, σ²), where q_h = q until K is reached and 0 afterwards, since the coin is
fresh; and without, it is B = N(s, σ²). Again by joint convexity, the hockey-stick divergences of (mixture, B) and
(B, mixture) are at most the largest of (A_h, B) and (B, A_h). These are at most those for q_h = q, since a mixture with
B brings A_h nearer to B; and at most those for a shift of exactly Δ in one dimension, since a shift by less comes from
it by scaling and adding independent noise. So for every o the pair P = (1 − q)·N(0, z²) + q·N(1, z²), Q = N(0, z²)
dominates the round, in both orders. If a pair dominates each round whatever came before, products of it dominate the
whole course (Zhu, Dong, Wang 2022, adaptive composition); their proof uses no more than this. dp-accounting composes
the pairs. An adversary who sees less learns less, so the smaller of both figures is true. ∎

A round that was begun and given up counts: the user's vector was sent, whatever the server says of the sum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import accounting
from discreet.privacy.accounting.lattice_price import EPSILON_RESERVE, NO_LATTICE, RESERVE, LatticePrice
from discreet.privacy.accounting.zcdp import gaussian_rho
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.checks import check_count, check_delta, check_epsilon, check_positive
from discreet.privacy.mechanisms.gaussian import analytic_multiplier, gaussian_delta
from discreet.privacy.noise import Noise


def epsilon_seen(multiplier: float, delta: float, participations: int, *, price: LatticePrice = NO_LATTICE) -> float:
    """ε at `delta` for life, against an adversary that sees who takes part, of at most so many participations."""
    check_positive("multiplier", multiplier)
    check_delta(delta)
    together = _one_for_all(multiplier, participations)
    return price.epsilon(lambda left: gaussian_epsilon(together, left), delta, gaussian_rho(together))


def epsilon_hidden(
    multiplier: float,
    delta: float,
    rate: float,
    rounds: int,
    participations: int,
    *,
    price: LatticePrice = NO_LATTICE,
) -> float:
    """ε at `delta` for life, against an adversary that does not see who joins by a coin of probability `rate`."""
    check_positive("multiplier", multiplier)
    check_delta(delta)
    together = _one_for_all(multiplier, min(participations, rounds))
    sampled = accounting.compose(
        [accounting.sampled_rounds(accounting.GaussianDpEvent(multiplier), rate=rate, rounds=rounds)]
    )
    return price.epsilon(lambda left: min(gaussian_epsilon(together, left), sampled.epsilon(left)), delta)


@lru_cache(maxsize=64)
def multiplier_for(
    epsilon: float,
    delta: float,
    participations: int,
    *,
    hidden: bool = False,
    rate: float = 1.0,
    rounds: int | None = None,
) -> float:
    """The least noise multiplier z with which a life costs at most `epsilon`; rounded up, with room for a lattice.

    `RESERVE` of δ and `EPSILON_RESERVE` of ε are left for the price of a lattice: `epsilon_seen` or `epsilon_hidden`
    with that price then says whether it is enough. `rate` and `rounds` matter to a `hidden` participation only.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_count("participations", participations)
    target, left = epsilon * (1 - EPSILON_RESERVE), delta * (1 - RESERVE)
    if not hidden:
        return analytic_multiplier(target, left) * math.sqrt(participations) * (1 + 1e-9)
    if rounds is None:
        raise ValueError("hidden participation needs the number of rounds")
    held = rounds

    def course(noise: float) -> accounting.DpEvent:
        return accounting.sampled_rounds(accounting.GaussianDpEvent(noise), rate=rate, rounds=held)

    seen = analytic_multiplier(target, left) * math.sqrt(min(participations, held)) * (1 + 1e-9)
    return min(seen, accounting.calibrate(course, target, left))


def user_guarantee(epsilon: float, delta: float, *, hidden: bool, mechanism: str) -> Guarantee:
    """What a user is promised for life."""
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        unit=Unit.USER,
        adjacency=Adjacency.ZERO_OUT,
        adversary=Adversary.BLIND_SERVER if hidden else Adversary.SERVER,
        scope=Scope.LIFETIME,
        status=Status.PROVED,
        mechanism=mechanism,
    )


def joining(noise: Noise, rate: float, joined: NDArray[np.int64], participations: int) -> NDArray[np.bool_]:
    """Which users take part in a round: those whose coin says so, and who have `joined` fewer than so many before."""
    return np.asarray(noise.coins(Fraction(rate), len(joined)) & (joined < participations))


def _one_for_all(multiplier: float, participations: int) -> float:
    """The multiplier of the one Gaussian that so many of them compose to, rounded down."""
    check_count("participations", participations)
    return multiplier / math.sqrt(participations) * (1 - 1e-12)


def gaussian_epsilon(multiplier: float, delta: float) -> float:
    """ε at `delta` of Gaussian noise of so many sensitivities: the inverse of `gaussian_delta`, rounded up.

    Without noise it is infinite.
    """
    if multiplier <= 0:
        return math.inf
    if gaussian_delta(0.0, multiplier) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, multiplier) > delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, multiplier) > delta else (low, middle)
    return high * (1 + 1e-9)
