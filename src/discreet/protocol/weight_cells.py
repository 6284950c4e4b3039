"""What the values of a sum for the weights of a ranking stand for, by names that devices know.

A window's list has a cell for each feature, `NAME CANDIDATE REFERENCE`. Where a head is learnt, too, a cell for each of
its directions follows, `headN CANDIDATE REFERENCE UNIT`. The cell `gain` is the last. Devices compute their gradient at
the candidate weights, and by how much these rank better than the weights of reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MEASURE = "weights of features"
"""What such a task measures, in its terms."""
FEATURES = ("mean", "nearest", "category", "recency", "subcategory", "popularity")
"""What a score is made of; a view keeps them of each article that it shows, and then what a head's directions add."""
UNITS = (1.2, 1.4, 0.8, 0.9, 0.9, 0.4)
"""In which a gradient is given: about how much each feature varies within a slate."""
MAX_PULL = 4
"""The most, in L1, that a reader pulls the features' weights in a day, in units. About half of all slates pull less."""
MAX_HEAD_PULL = 4
"""The same for those of a head's directions; not more than `MAX_PULL`, which bounds each value."""
TENTH = 0.1
"""The unit of a gain in AUC, which is at most 1."""
LATTICE = 2**16
"""Steps in the length 1."""
LENGTH = len(FEATURES) + 1
"""Values of a task that learns no head."""
MAX_DIRECTIONS = 48
"""How many more there are in one that learns a head; a head may have fewer directions."""

_GAIN = "gain"
_NUMBER = "(-?[0-9]{1,7}(?:[.][0-9]{1,25})?(?:e-?[0-9]{1,2})?)"
"""Two digits of an exponent: no product of such a weight with a feature is infinite."""
_CELL = re.compile(f"([a-z]+) {_NUMBER} {_NUMBER}")
_HEAD_CELL = re.compile(f"(head[0-9]{{1,2}}) {_NUMBER} {_NUMBER} {_NUMBER}")


@dataclass(frozen=True)
class ToldWeights:
    """What a window's list says of each weight.

    Attributes:
        candidate: At which gradients are computed.
        reference: Against which the candidate gains.
        units: In which gradients are given, all above 0.
    """

    candidate: tuple[float, ...]
    reference: tuple[float, ...]
    units: tuple[float, ...]

    @property
    def directions(self) -> int:
        """How many of the weights are those of a head."""
        return len(self.units) - len(FEATURES)


def max_total(directions: int) -> int:
    """The most, in L1, that a reader gives in a day, in units: both pulls, and the gain."""
    return MAX_PULL + (MAX_HEAD_PULL if directions else 0) + 1


def weight_cells(told: ToldWeights) -> list[str]:
    """The list of a window."""
    shown = [f"{float(at)!r} {float(known)!r}" for at, known in zip(told.candidate, told.reference, strict=True)]
    features = [f"{name} {both}" for name, both in zip(FEATURES, shown, strict=False)]
    size = len(FEATURES)
    head = [f"head{n} {shown[n + size]} {float(told.units[n + size])!r}" for n in range(told.directions)]
    return [*features, *head, _GAIN]


def read_weights(cells: Sequence[str]) -> ToldWeights | None:
    """What a window's list says; None if it is no such list."""
    directions = len(cells) - LENGTH
    if not 0 <= directions <= MAX_DIRECTIONS or cells[-1] != _GAIN:
        return None
    size = len(FEATURES)
    found = [*map(_CELL.fullmatch, cells[:size]), *map(_HEAD_CELL.fullmatch, cells[size:-1])]
    matched = [one for one in found if one]
    if [one[1] for one in matched] != _names(directions):
        return None
    units = (*UNITS, *(float(one[4]) for one in matched[size:]))
    if min(units) <= 0:
        return None
    return ToldWeights(tuple(float(one[2]) for one in matched), tuple(float(one[3]) for one in matched), units)


def _names(directions: int) -> Iterable[str]:
    return [*FEATURES, *(f"head{number}" for number in range(directions))]
