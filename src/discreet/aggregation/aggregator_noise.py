"""The noise that each aggregator adds to its aggregate share, and what it proves.

**Setting.** Reader i has a vector x_i of whole numbers within the bounds of a task, and splits it into two shares over
a field of prime order p: x_i = a_i + b_i mod p, each share uniform by itself. Aggregators A and B verify reports and
add up their shares over a batch S. Before its share of a window leaves it, each adds noise of its own, drawn by
`share_noise` from its own secret randomness: B tells Σ_S b_i + N_B mod p. The publisher adds what both tell.

**Theorem.** Let B be honest: it draws N_B afresh and secretly, tells one share of a window only, and counts no report
in two windows. Then for each reader and each window, what the publisher and A together see is (ε, δ)-differentially
private, where neighbours differ in that one reader's contribution counts as zero (that there is a report is public).
It holds whatever A does: if A adds no noise, or noise that the publisher knows, leaves reports out, puts in reports of
its own, or tells any other share. The same holds with A and B exchanged.

**Proof.** (1) *What is seen is a function of Σ_S x_i + N_B mod p and of things that do not depend on x.* The shares a_i
are uniform and independent of x. What is exchanged in order to verify a valid report can be simulated without x_i,
against one aggregator that deviates at will (this is the privacy of Prio3, draft-irtf-cfrg-vdaf, "Security
Considerations"), and so can B's decision: an honest reader's report is accepted, or dropped because of what A sent.
So S does not depend on x, given what was seen before. B's input shares are sealed to B. What is left is
Σ_S b_i + N_B = (Σ_S x_i + N_B) − Σ_S a_i mod p, and A knows the last sum. The simulations are perfect or
computational, so the promise is against adversaries who cannot break Prio3's hash function or HPKE.

(2) *A sum moves little.* Let the reader be in S, or there is nothing to prove. With its contribution as zero, the sum
over the integers moves by x_i, with ‖x_i‖₁ ≤ Δ₁ = `max_total`, and ‖x_i‖₂ ≤ Δ₂ (`Task.sensitivity`). For `sumvec` and
`signedvec` the reader's own device keeps to `max_total`; every other bound is proved too, so that no reader moves a sum
by more. In `signedvec` x_i + m is shared, with m = `max_value` in each entry. Then the sum over S is Σ_S x_i + |S|·m,
and |S| is public: what is seen is a function of Σ_S x_i + N_B as before.

(3) *Discrete Laplace, P(N = k) ∝ e^{−‖k‖₁/t} with t ≥ Δ₁/ε.* P(N = k)/P(N = k + x_i) ≤ e^{‖x_i‖₁/t} ≤ e^ε for all k:
the sum plus N_B is ε-DP with δ = 0. *Discrete Gaussian, P(N = k) ∝ e^{−‖k‖₂²/2σ²}.* The sum plus N_B is ρ-zCDP with
ρ = Δ₂²/2σ² (Canonne, Kamath, Steinke 2020, Theorem 4 and its multivariate form), and σ is the least for which that
implies (ε, δ) (their Proposition 12), rounded up. The vectors are whole numbers, so the lattice costs nothing more; the
Gaussian's account is the discrete one's, not the analytic one of real numbers.

(4) *The rest is post-processing*: the remainder mod p, A's known shares and noise, and the addition of both shares. ∎

Both aggregators add all of the noise, because neither can know that the other does. When both are honest, the sum has
twice the variance, and a publisher alone sees less than ε allows. That is not claimed: `Task.event`, which the
accountant composes, has the noise of one share.

**Per day.** Where a task is paid per day, the reader's device keeps the sum over all values of all windows of a day to
`max_total`, and the theorem holds for the whole day with the same noise in every window. Proof: let x_w be what the
reader contributes to window w; it may depend on what the earlier windows showed. Given all earlier outputs, the output
of window w is at most e^{‖x_w‖₁/t} times likelier with the reader than without, or less likely by that factor. Along
every course of the day these exponents add up to at most Σ_w ‖x_w‖₁/t ≤ Δ₁/t ≤ ε. With discrete Gaussian noise, the
values of all windows together are bounded like those of one, so Σ_w ‖x_w‖₂²/2σ² ≤ Δ₂²/2σ² = ρ along every course, and
then the day is ρ-zCDP (Feldman, Zrnic 2021, Theorem 3.1, on individual Rényi filters).

**Over windows, days and tasks** contributions of one reader compose adaptively (`privacy.accounting.compose`; on the
device, where tasks come one after the other, a filter): A and the publisher may choose later tasks by what they saw.
**Minimum batch sizes are no part of the proof**: a batch of one
honest reader among a thousand invented ones is a batch of a thousand. They keep a result from being all noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.prio3.fields import Field
from discreet.aggregation.task import Kind, NoiseKind, Task
from discreet.errors import DiscreetError
from discreet.privacy.noise import Noise

AGGREGATORS = 2
MAX_FALSE_ALARM = 1e-12
"""The chance that noise alone makes a true sum look impossible."""

Words = NDArray[np.uint64]


class ImpossibleSumError(DiscreetError):
    """A sum that no contributions and no noise could have made: a share is damaged, or false."""


def share_noise(task: Task, noise: Noise) -> NDArray[np.int64]:
    """What one aggregator adds to its aggregate share of one window, drawn once and never again."""
    draw = noise.discrete_laplace if task.noise is NoiseKind.LAPLACE else noise.discrete_gaussian
    return draw(task.noise_scale, task.length)


def noise_deviation(task: Task) -> float:
    """The standard deviation of a value of a collected sum, which has the noise of both aggregators in it."""
    scale = float(task.noise_scale)
    if task.noise is NoiseKind.GAUSSIAN:
        return math.sqrt(AGGREGATORS) * scale
    return math.sqrt(AGGREGATORS * 2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)


def noise_bound(task: Task, values: int, chance: float) -> float:
    """Return what the noise of both aggregators in so many values together exceeds, upwards, with at most a chance.

    It is Chernoff's bound: for every s > 0, P(N ≥ b) ≤ E[e^{sN}]·e^{−sb}. For one draw of discrete Laplace noise with
    a = e^{−1/t} and s < 1/t, E[e^{sN}] = (1 − a)²/((1 − a·e^s)(1 − a·e^{−s})); each s gives a bound, and the least is
    taken. For one draw of discrete Gaussian noise it is at most e^{s²σ²/2} (Canonne, Kamath, Steinke 2020, Corollary
    17). The noise is symmetric, so the same holds downwards.
    """
    draws, scale = AGGREGATORS * values, float(task.noise_scale)
    if task.noise is NoiseKind.GAUSSIAN:
        return scale * math.sqrt(-2 * draws * math.log(chance))
    part = np.arange(1, 1000) / 1000  # s in units of 1/t
    log_moment = 2 * np.log(-np.expm1(-1 / scale)) - sum(np.log(-np.expm1((u - 1) / scale)) for u in (part, -part))
    return float(np.min((draws * log_moment - math.log(chance)) / (part / scale)))


def require_possible(task: Task, values: NDArray[np.int64], contributions: int) -> None:
    """An error if so many contributions, and the noise of both aggregators, could not have this sum.

    Each value is bounded by what Prio3 proves of one contribution. So are all values together for a multihot and a
    histogram; that a sumvec or a signedvec keeps to `max_total` is not proved, and one false device must not be able to
    spoil a window.
    """
    chance = MAX_FALSE_ALARM / (2 * task.length + 2)
    checks = [(values, task.min_value, task.max_value, noise_bound(task, 1, chance))]
    if task.kind in (Kind.MULTIHOT, Kind.HISTOGRAM):
        least = task.total if task.kind is Kind.HISTOGRAM else 0
        total = np.array([sum(values.tolist())])
        checks.append((total, least, task.total, noise_bound(task, task.length, chance)))
    for found, low, high, noise in checks:
        if np.any((found < contributions * low - noise) | (found > contributions * high + noise)):
            raise ImpossibleSumError(f"{contributions} contributions cannot have this sum; an aggregate share is wrong")


def add_to_share(field: Field, share: Words, values: NDArray[np.int64]) -> Words:
    """An aggregate share with whole numbers, such as noise, added to it; below 0 they count from the modulus down."""
    size = field.from_small(np.abs(values).astype(np.uint64))
    return np.where(
        (values < 0).reshape(-1, *([1] * len(field.element))), field.sub(share, size), field.add(share, size)
    )


def signed(field: Field, total: Words) -> NDArray[np.int64]:
    """A sum in the field as whole numbers around 0: what is above half the modulus is below 0."""
    half = field.modulus // 2
    numbers = [number - field.modulus if number > half else number for number in field.to_ints(total)]
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        raise ImpossibleSumError("the sum is out of range; an aggregate share is wrong")
    return np.array(numbers, np.int64)
