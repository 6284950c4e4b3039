"""What the values of a sum for the features' weights stand for, by names that devices know.

A window's list has a cell for each feature, `NAME CANDIDATE REFERENCE`, and last the cell `gain`. Devices compute their
gradient at the candidate weights, and by how much these rank better than the weights of reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MEASURE = "weights of features"
"""What such a task measures, in its terms."""
FEATURES = ("mean", "nearest", "category", "recency", "subcategory", "popularity")
"""What a score is made of; a view keeps them of each article that it shows."""
UNITS = (1.2, 1.4, 0.8, 0.9, 0.9, 0.4)
"""In which a gradient is given: about how much each feature varies within a slate."""
MAX_PULL = 4
"""The most, in L1, that a reader pulls in a day, in units. About half of all slates pull less."""
MAX_TOTAL = MAX_PULL + 1
"""The same with the gain, which is at most 1."""
TENTH = 0.1
"""The unit of a gain in AUC."""
LATTICE = 2**16
"""Steps in the length 1."""
LENGTH = len(FEATURES) + 1

_GAIN = "gain"
_NUMBER = "(-?[0-9]{1,7}(?:[.][0-9]{1,25})?(?:e-?[0-9]{1,2})?)"
"""Two digits of an exponent: no product of such a weight with a feature is infinite."""
_CELL = re.compile(f"([a-z]+) {_NUMBER} {_NUMBER}")


def weight_cells(candidate: Iterable[float], reference: Iterable[float]) -> list[str]:
    """The list of a window."""
    both = zip(FEATURES, candidate, reference, strict=True)
    return [*(f"{name} {float(at)!r} {float(known)!r}" for name, at, known in both), _GAIN]


def read_weights(cells: Sequence[str]) -> tuple[list[float], list[float]] | None:
    """The candidate and the reference of a window's list; None if it is no such list."""
    if len(cells) != LENGTH or cells[-1] != _GAIN:
        return None
    found = [_CELL.fullmatch(cell) for cell in cells[:-1]]
    if any(one is None or one[1] != name for one, name in zip(found, FEATURES, strict=True)):
        return None
    candidate, reference = ([float(one[place]) for one in found if one] for place in (2, 3))
    return candidate, reference
