"""Privacy loss distributions, composed: what events cost together.

They are composed by dp-accounting, and always rounded to the side of more loss: every ε and δ
returned here is an **upper bound** that holds, tight to about a thousandth. An event that is not understood is
refused, never guessed, and so is a list whose parts are meant for different adjacencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias, runtime_checkable

import dp_accounting as dp
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution, identity

from discreet.errors import DiscreetError
from discreet.privacy.accounting.events import ApproximateDpEvent, PaddedDpEvent
from discreet.privacy.accounting.losses import loss_maker, pure_epsilon, required_adjacency
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Unit

_GRID_POINTS = 5e5
_COARSEST = 1e-3
_LARGE_EPSILON = 100.0
_MAX_NOISE = 2.0**40


@runtime_checkable
class Accountable(Protocol):
    """A mechanism that can say what one use of it was, and between which neighbours."""

    @property
    def adjacency(self) -> Adjacency:
        """Between which neighbours its sensitivity is measured."""

    @property
    def unit(self) -> Unit:
        """What neighbours differ in."""

    @property
    def adversary(self) -> Adversary:
        """Who must not notice."""

    def event(self) -> dp.DpEvent:
        """What one release was."""


Part: TypeAlias = dp.DpEvent | Accountable


def compose(parts: Iterable[Part], *, adjacency: Adjacency | None = None) -> Composition:
    """The cost of all `parts` together, each run once, later ones free to depend on what earlier ones released.

    Args:
        parts: events of dp-accounting (nested as deep as you like), or mechanisms.
        adjacency: in which sense inputs are neighbours. Without it, the parts decide; most fit either.

    Raises:
        DiscreetError: a part is of no known kind, or is meant for another adjacency, unit or adversary than the rest:
            costs of different things do not add up.
    """
    promises: set[tuple[Unit, Adversary]] = set()
    leaves: list[tuple[dp.DpEvent, int]] = []
    for part in parts:
        event = part
        if isinstance(part, Accountable):
            adjacency = _agreed(adjacency, part.adjacency, part)
            promises.add((part.unit, part.adversary))
            if len(promises) > 1:
                named = " and ".join(sorted(f"per {unit} against the {adversary}" for unit, adversary in promises))
                raise DiscreetError(f"costs {named} do not add up; compose each by itself")
            event = part.event()
        for leaf, count in _leaves(event):
            adjacency = _agreed(adjacency, required_adjacency(leaf), leaf)
            leaves.append((leaf, count))
    return Composition(tuple(leaves), adjacency)


def supports(event: dp.DpEvent) -> bool:
    """Whether `event` is understood."""
    try:
        compose([event])
    except DiscreetError:
        return False
    return True


def rounds(event: dp.DpEvent, *, participations: int) -> dp.DpEvent:
    """`event` in each of the rounds that one unit takes part in, at most `participations` in its whole life.

    Who takes part is taken as known to the adversary (a server picks its participants, or sees them), so nothing is
    gained by sampling. The device must enforce the cap.
    """
    return dp.SelfComposedDpEvent(event, _positive("participations", participations))


def sampled_rounds(event: dp.DpEvent, *, rate: float, rounds: int) -> dp.DpEvent:
    """`event` in each of `rounds` rounds, which every unit joins by its own secret coin with probability `rate`.

    Valid only where the adversary never learns who took part, and for add/remove.
    """
    if not 0 < rate <= 1:
        raise ValueError(f"rate must be above 0 and at most 1, not {rate}")
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(rate, event), _positive("rounds", rounds))


def calibrate(
    make: Callable[[float], Part], target_epsilon: float, delta: float, *, relative_tolerance: float = 1e-4
) -> float:
    """The least noise, to `relative_tolerance`, with which `make(noise)` costs at most `target_epsilon` at `delta`.

    `make` must cost less the larger the noise is.
    """
    if not target_epsilon > 0:
        raise ValueError(f"target_epsilon must be above 0, not {target_epsilon}")

    def too_little(noise: float) -> bool:
        return compose([make(noise)]).epsilon(delta) > target_epsilon

    high = 1.0
    while too_little(high):
        high *= 2
        if high > _MAX_NOISE:
            raise DiscreetError(f"no amount of noise reaches ε = {target_epsilon} at δ = {delta}")
    low = high / 2
    while not too_little(low):
        low, high = low / 2, low
        if high < 1 / _MAX_NOISE:
            return high
    while high / low > 1 + relative_tolerance:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if too_little(middle) else (low, middle)
    return high


def all_clicks(guarantee: Guarantee, clicks: int) -> Guarantee:
    """Group privacy: what the guarantee of one click is worth for a history of at most `clicks` of them.

    ε becomes k·ε, and δ becomes k·e^{(k−1)ε}·δ. Where that reaches 1 nothing is left, and ε is infinite. The adjacency
    stays: what a substituted click leaves in the open (that it was made, when, on which slate), so does the history.
    Hence this is no guarantee of a user, of whom all of that would be hidden.
    """
    if guarantee.unit is not Unit.CLICK:
        raise ValueError(f"the guarantee is of a {guarantee.unit}, not of one click")
    epsilon, delta = group_privacy(guarantee.epsilon, guarantee.delta, clicks)
    claimed = guarantee.claimed_epsilon
    return replace(
        guarantee,
        epsilon=epsilon,
        delta=delta,
        unit=Unit.CLICKS,
        claimed_epsilon=None if claimed is None else claimed * clicks,
    )


def group_privacy(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """(k·ε, k·e^{(k−1)ε}·δ) for a group of `size` = k units; (∞, 0) where that δ is no probability below 1."""
    _positive("size", size)
    if delta == 0 or size == 1:
        return epsilon * size, delta
    log_delta = math.log(size) + (size - 1) * epsilon + math.log(delta)
    return (epsilon * size, math.exp(log_delta)) if log_delta < 0 else (math.inf, 0.0)


@dataclass(frozen=True)
class Composition:
    """Events that happened to the same unit, with how often, and what they cost together. Made by `compose`."""

    events: tuple[tuple[dp.DpEvent, int], ...]
    adjacency: Adjacency | None

    def epsilon(self, delta: float) -> float:
        """An ε such that everything together is (ε, `delta`)-DP; infinity if there is none."""
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, not {delta}")
        pure = self._pure_total
        if delta == 0 or math.isinf(self._outside):
            return pure
        return min(pure, self._outside + float(self._distribution.get_epsilon_for_delta(delta)))

    def delta(self, epsilon: float) -> float:
        """A δ such that everything together is (`epsilon`, δ)-DP."""
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be at least 0, not {epsilon}")
        if epsilon >= self._pure_total:
            return 0.0
        if epsilon < self._outside:
            return 1.0
        return min(1.0, float(self._distribution.get_delta_for_epsilon(epsilon - self._outside)))

    @property
    def _pure_total(self) -> float:
        return math.fsum(count * pure_epsilon(event) for event, count in self.events)

    @cached_property
    def _outside(self) -> float:
        """Σε of the parts that are added by basic composition, since their losses would not fit a grid.

        Gaussian noise of less than a thousandth of the sensitivity counts as none: ε would be above 500,000.
        """
        gaussians = ((event, count) for event, count in self.events if isinstance(event, dp.GaussianDpEvent))
        if sum(count / event.noise_multiplier**2 for event, count in gaussians) > 1e6:
            return math.inf
        return math.fsum(count * pure_epsilon(event) for event, count in self.events if _is_outside(event, count))

    @cached_property
    def _distribution(self) -> PrivacyLossDistribution:
        inside = _merged((event, count) for event, count in self.events if not _is_outside(event, count))
        interval = _interval(inside)
        total = identity(interval)
        for event, count in inside:
            make = loss_maker(event)
            assert make is not None, "compose refused what is not understood"
            total = total.compose(make(interval).self_compose(count))
        return total


def _leaves(event: dp.DpEvent) -> Iterator[tuple[dp.DpEvent, int]]:
    """The simple events that `event` is made of, with how often each happened."""
    match event:
        case dp.NoOpDpEvent():
            return
        case dp.ComposedDpEvent(events=events):
            for inner in events:
                yield from _leaves(inner)
        case dp.SelfComposedDpEvent(event=inner, count=count):
            yield from ((leaf, _positive("count", count) * times) for leaf, times in _leaves(inner))
        case dp.NonPrivateDpEvent():
            yield event, 1
        case _ if loss_maker(event) is not None:
            yield event, 1
        case _:
            raise DiscreetError(f"no account is known of {event}; its cost is not guessed")


def _is_outside(event: dp.DpEvent, count: int) -> bool:
    """Whether to add ε·count by basic composition: from ε = 3 on nothing better is known that is worth having."""
    epsilon = pure_epsilon(event)
    large = epsilon > _LARGE_EPSILON or (epsilon > 3 and count * epsilon > 10 * _LARGE_EPSILON)
    return isinstance(event, dp.NonPrivateDpEvent) or (large and math.isfinite(epsilon))


def _merged(leaves: Iterable[tuple[dp.DpEvent, int]]) -> list[tuple[dp.DpEvent, int]]:
    """The same events with fewer parts: Gaussians add up in 1/σ², zCDP in ρ, equal events in their counts."""
    precision = rho = 0.0
    counts: dict[dp.DpEvent, int] = {}
    for event, count in leaves:
        if isinstance(event, dp.GaussianDpEvent):
            precision += count / event.noise_multiplier**2
        elif isinstance(event, dp.ZCDpEvent):
            rho += count * event.rho
        else:
            counts[event] = counts.get(event, 0) + count
    merged = list(counts.items())
    if precision:
        merged.append((dp.GaussianDpEvent(1 / math.sqrt(precision)), 1))
    if rho:
        merged.append((dp.ZCDpEvent(rho), 1))
    return merged


def _interval(leaves: list[tuple[dp.DpEvent, int]]) -> float:
    """A step of the grid: fine against the losses of one event, coarse enough for mean and tails of their sum."""
    spreads = [(_spread(event), count) for event, count in leaves]
    width = sum(count * spread**2 / 2 + 12 * spread * math.sqrt(count) for spread, count in spreads)
    finest = min((spread / 20 for spread, _ in spreads if spread > 0), default=_COARSEST)
    return max(width / _GRID_POINTS, min(_COARSEST, finest))


def _spread(event: dp.DpEvent) -> float:
    """About how much one event's loss varies."""
    match event:
        case dp.GaussianDpEvent(noise_multiplier=noise) if noise > 0:
            return 1 / float(noise)
        case dp.ZCDpEvent(rho=rho):
            return math.sqrt(2 * rho)
        case ApproximateDpEvent(epsilon=epsilon):
            return min(epsilon, _LARGE_EPSILON)
        case PaddedDpEvent(event=inner):
            return _spread(inner)
        case dp.PoissonSampledDpEvent(sampling_probability=rate, event=inner):
            whole = _spread(inner)
            small = rate * math.sqrt(math.expm1(min(whole**2, 100.0)))
            return float(min(small, math.sqrt(rate) * (whole**2 / 2 + whole)))
    return min(pure_epsilon(event), _LARGE_EPSILON)


def _agreed(known: Adjacency | None, new: Adjacency | None, part: object) -> Adjacency | None:
    if known is not None and new is not None and known is not new:
        raise DiscreetError(f"{part} is meant for {new} neighbours and cannot be composed with {known} ones")
    return new if known is None else known


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be at least 1, not {value}")
    return int(value)
