"""The daily rhythm: quiet nights, a busy morning, in Coordinated Universal Time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

HOUR = 3600
DAY = 24 * HOUR
_BUSIEST_HOUR = 10.0
_CONTRAST = 1.4


def hour_shares() -> NDArray[np.float64]:
    """The share of a day's activity in each of its hours: a von Mises density around the busiest hour."""
    angle = 2 * np.pi * (np.arange(24) + 0.5 - _BUSIEST_HOUR) / 24
    weights = np.exp(_CONTRAST * np.cos(angle))
    return np.asarray(weights / weights.sum())


def moments(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Seconds after midnight of `count` events that follow the daily rhythm."""
    hours = rng.choice(24, size=count, p=hour_shares())
    return np.asarray(hours * HOUR + rng.integers(HOUR, size=count))
