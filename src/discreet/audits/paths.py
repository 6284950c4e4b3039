"""The exact distribution of what the shipped code does with its random integers, by following every path.

A mechanism that draws integers with `Noise.below` and coins with `Noise.coins` is a tree: each draw has a number of
branches, a coin has two, and each leaf is an output. Draws from huge ranges are compared with a few thresholds only, so
their branches are intervals, found by halving wherever the two ends of an interval lead to different outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.noise import Noise

Tree = dict[Hashable, Fraction]

_FIRST_PROBES = 64


def exact_distribution(run: Callable[[Noise], Hashable]) -> dict[Hashable, Fraction]:
    """The probability of each result of `run`, which may draw with `below` and `coins` only.

    An interval of draws counts as one branch if its ends and its middle lead to the same outcomes; each whole range is
    cut into 64 such intervals to begin with.
    """
    return _explore(run, ())


class _Scripted(Noise):
    """Gives back the integers of a script, and stops the run at the first draw beyond it."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = iter(script)

    def random_bytes(self, count: int) -> bytes:
        """Refused: bytes have too many paths."""
        raise TypeError("this mechanism draws bytes, whose paths cannot be followed; sample it instead")

    def below(self, bound: int) -> int:
        """The next integer of the script."""
        if bound == 1:
            return 0
        for value in self._script:
            return value
        raise _OneMoreDrawError(bound)

    def coins(self, probability: Fraction, size: int) -> NDArray[np.bool_]:
        """Each coin from one integer of the script, which is 0 or 1."""
        return np.array([self._coin(probability) for _ in range(size)], dtype=np.bool_)

    def _coin(self, probability: Fraction) -> bool:
        if probability in (0, 1):
            return bool(probability)
        for value in self._script:
            return bool(value)
        raise _OneMoreCoinError(probability)


class _OneMoreDrawError(Exception):
    def __init__(self, bound: int) -> None:
        self.bound = bound


class _OneMoreCoinError(Exception):
    def __init__(self, probability: Fraction) -> None:
        self.probability = probability


def _explore(run: Callable[[Noise], Hashable], script: tuple[int, ...]) -> Tree:
    try:
        return {run(_Scripted(script)): Fraction(1)}
    except _OneMoreCoinError as coin:
        return _either(coin.probability, _explore(run, (*script, 1)), _explore(run, (*script, 0)))
    except _OneMoreDrawError as more:
        bound = more.bound
    memo: dict[int, Tree] = {}

    def outcome(draw: int) -> Tree:
        if draw not in memo:
            memo[draw] = _explore(run, (*script, draw))
        return memo[draw]

    total: Tree = {}
    cuts = sorted({bound * i // _FIRST_PROBES for i in range(_FIRST_PROBES + 1)})
    intervals = [(low, high - 1) for low, high in pairwise(cuts)]
    while intervals:
        low, high = intervals.pop()
        middle = (low + high) // 2
        if outcome(low) == outcome(high) == outcome(middle):
            share = Fraction(high - low + 1, bound)
            for result, probability in outcome(low).items():
                total[result] = total.get(result, Fraction(0)) + share * probability
        else:
            intervals += [(low, middle), (middle + 1, high)]
    return total


def _either(probability: Fraction, one: Tree, other: Tree) -> Tree:
    """The outcomes of a coin that leads to `one` with `probability`, and else to the `other`."""
    total = {result: probability * share for result, share in one.items()}
    for result, share in other.items():
        total[result] = total.get(result, Fraction(0)) + (1 - probability) * share
    return total
