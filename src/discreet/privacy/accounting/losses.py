"""From one event to its privacy loss distribution, always rounded to the side of more loss.

A mechanism is worst-case when its hockey-stick divergence δ(ε) is as large as it can be, and δ is convex in e^ε.
Joining points of that curve by straight lines gives a distribution that loses at least as much: "Connect the Dots"
(Doroshenko and others 2022). dp-accounting does it for Gaussian and Laplace noise; here it is done for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import dp_accounting as dp
import numpy as np
from dp_accounting.dp_event import DiscreteLaplaceDpEvent
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import (
    PrivacyLossDistribution,
    from_gaussian_mechanism,
    from_laplace_mechanism,
)
from numpy.typing import NDArray

from discreet.privacy.accounting.events import ApproximateDpEvent, PaddedDpEvent
from discreet.privacy.accounting.zcdp import zcdp_delta
from discreet.privacy.guarantee import Adjacency

_DOTS = 4000
_TAIL = 1e-15

_WITHOUT_ATOM_AT_INFINITY = (dp.GaussianDpEvent, dp.ZCDpEvent)

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]
LossMaker = Callable[[float], PrivacyLossDistribution]


def pure_epsilon(event: dp.DpEvent) -> float:
    """The ε that `event` has at δ = 0, infinity where it has none."""
    match event:
        case dp.NoOpDpEvent():
            return 0.0
        case ApproximateDpEvent(epsilon=epsilon, delta=0.0):
            return epsilon
        case dp.LaplaceDpEvent(noise_multiplier=scale):
            return 1 / scale if scale > 0 else math.inf
        case DiscreteLaplaceDpEvent(noise_parameter=rate, sensitivity=steps):
            return float(rate * steps)
        case dp.RandomizedResponseDpEvent(noise_parameter=noise, num_buckets=buckets):
            return math.log1p((1 - noise) * buckets / noise) if noise > 0 else math.inf
        case PaddedDpEvent(padding=padding, event=inner):
            return _amplified(pure_epsilon(inner), 1 - padding)
        case dp.PoissonSampledDpEvent(sampling_probability=rate, event=inner):
            return _amplified(pure_epsilon(inner), rate)
    return math.inf


def required_adjacency(event: dp.DpEvent) -> Adjacency | None:
    """The one adjacency in which `event` has a meaning, or none where its own sensitivity has settled the matter."""
    match event:
        case dp.RandomizedResponseDpEvent() | PaddedDpEvent():
            return Adjacency.SUBSTITUTE
        case dp.PoissonSampledDpEvent():
            return Adjacency.ADD_REMOVE
    return None


def loss_maker(event: dp.DpEvent) -> LossMaker | None:
    """What makes the distribution of `event` on a grid of a given step, or none if this kind of event is not known."""
    match event:
        case dp.GaussianDpEvent(noise_multiplier=noise) if noise > 0:
            return lambda interval: from_gaussian_mechanism(noise, value_discretization_interval=interval)
        case dp.LaplaceDpEvent(noise_multiplier=noise) if noise > 0:
            return lambda interval: from_laplace_mechanism(noise, value_discretization_interval=interval)
        case dp.PoissonSampledDpEvent(sampling_probability=rate, event=dp.GaussianDpEvent(noise_multiplier=noise)) if (
            0 < rate <= 1 and noise > 0
        ):
            return lambda interval: from_gaussian_mechanism(
                noise, value_discretization_interval=interval, sampling_prob=rate
            )
        case dp.PoissonSampledDpEvent(sampling_probability=rate, event=dp.LaplaceDpEvent(noise_multiplier=noise)) if (
            0 < rate <= 1 and noise > 0
        ):
            return lambda interval: from_laplace_mechanism(
                noise, value_discretization_interval=interval, sampling_prob=rate
            )
        case DiscreteLaplaceDpEvent(noise_parameter=rate, sensitivity=steps) if rate > 0 and steps >= 1:
            breaks = rate * np.arange(steps % 2, steps + 1, 2) if steps <= _DOTS else None
            return _maker(lambda e: _discrete_laplace_delta(rate, steps, e), rate * steps, breaks)
        case dp.RandomizedResponseDpEvent(noise_parameter=noise, num_buckets=buckets) if 0 < noise <= 1 < buckets:
            truth, lie, epsilon = 1 - noise + noise / buckets, noise / buckets, pure_epsilon(event)
            return _maker(lambda e: np.maximum(0.0, truth - np.exp(e) * lie), epsilon, np.array([0.0, epsilon]))
        case ApproximateDpEvent(epsilon=epsilon, delta=delta) if math.isfinite(epsilon):
            top = (1 - delta) / (1 + math.exp(-epsilon))
            bends = np.array([0.0, epsilon])
            return _maker(lambda e: delta + np.maximum(0.0, top - np.exp(e - epsilon) * top), epsilon, bends)
        case dp.ZCDpEvent(rho=rho, xi=0.0) if 0 < rho < math.inf:
            return _maker(lambda e: zcdp_delta(rho, e), rho + 2 * math.sqrt(-rho * math.log(_TAIL)))
        case PaddedDpEvent(padding=padding, event=inner):
            return _padded(padding, inner)
    return None


def _amplified(epsilon: float, rate: float) -> float:
    """ε of a mechanism that runs with probability `rate`: ln(1 + rate·(e^ε − 1))."""
    if epsilon > 500:
        return epsilon + math.log(rate) if rate > 0 else 0.0
    return math.log1p(rate * math.expm1(epsilon))


def _discrete_laplace_delta(rate: float, steps: int, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """δ(ε) between noise P(x) ∝ e^{−rate·|x|} on the integers and the same noise moved by `steps`.

    The best test accepts all x up to ⌊(steps − ε/rate)/2⌋, where the loss is still above ε.
    """

    def at_most(x: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = np.exp(-rate * np.where(x >= 0, x + 1, -x)) / (1 + math.exp(-rate))
        return np.where(x >= 0, 1 - tail, tail)

    last = np.floor((steps - epsilons / rate) / 2)
    with np.errstate(over="ignore"):
        deltas = at_most(last) - np.exp(epsilons) * at_most(last - steps)
    return np.where(epsilons < rate * steps, np.maximum(0.0, deltas), 0.0)


def _padded(padding: float, inner: dp.DpEvent) -> LossMaker | None:
    """Advanced joint convexity: δ(ε) = (1−p)·δ_inner(ln(1 + (e^ε − 1)/(1−p))) (Balle, Barthe, Gaboardi 2018)."""
    make_inside = loss_maker(inner)
    if make_inside is None or not (math.isfinite(pure_epsilon(inner)) or isinstance(inner, _WITHOUT_ATOM_AT_INFINITY)):
        return None

    def make(interval: float) -> PrivacyLossDistribution:
        inside = make_inside(interval)

        def curve(epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
            shifted = epsilons + np.log1p(-padding * np.exp(-epsilons)) - math.log1p(-padding)
            return (1 - padding) * np.asarray(inside.get_delta_for_epsilon(shifted), dtype=np.float64)

        rounded = 2 * interval  # what `inside` may have added to the largest loss
        top = min(pure_epsilon(inner) + rounded, float(inside.get_epsilon_for_delta(10 * _TAIL)))
        return _distribution(curve, _amplified(top, 1 - padding), interval)

    return make


def _maker(curve: Curve, top: float, breaks: NDArray[np.float64] | None = None) -> LossMaker:
    return lambda interval: _distribution(curve, top, interval, breaks)


def _distribution(
    curve: Curve, top: float, interval: float, breaks: NDArray[np.float64] | None = None
) -> PrivacyLossDistribution:
    """Connect the dots of `curve` (δ at each ε ≥ 0, the same for both orders of the pair) from −`top` to `top`.

    `breaks` are the ε at which a curve bends that is straight between them; without, the dots are spread evenly.
    """
    last = max(1, math.ceil(top / interval))
    if breaks is None:
        places = np.append(np.arange(0, last, max(1, last // _DOTS)), last)
    else:
        on_grid = breaks / interval
        places = np.concatenate([[0, last], np.floor(on_grid), np.ceil(on_grid)])
    places = np.unique(places.astype(np.int64))
    deltas = np.clip(curve(places * interval), 0.0, 1.0)
    shrink = np.exp(-interval * places[:0:-1])
    places = np.concatenate([-places[:0:-1], places])
    deltas = np.concatenate([1 - shrink * (1 - deltas[:0:-1]), deltas])
    kept = _convex_minorant(np.exp(places * interval), deltas)
    return PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(interval, places[kept], np.minimum.accumulate(deltas[kept]))
    )


def _convex_minorant(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    """Indices of the lower convex hull of the points. A convex curve under the points is under their hull as well."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) <= (y[i] - y[b]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull
