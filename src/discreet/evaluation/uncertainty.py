"""How sure a mean is, when impressions of one reader resemble each other and training depends on a seed.

For values x_1 … x_n with mean m, and readers g = 1 … G as clusters, the standard error of m is

    se² = G / (G − 1) · Σ_g (Σ_{i of reader g} (x_i − m))² / n²

the usual s² / n when every reader has one impression. It estimates how much m would vary over other readers.
With S seeds, x_i is the average over the seeds, and what the seeds' own means s_1 … s_S vary by is added:

    se² = (clustered se of the averages)² + var(s_1 … s_S) / S

One seed cannot show how much a seed matters: its standard error is that of the readers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error; the error is NaN where a single reader leaves it unknown."""

    mean: float
    se: float

    def __str__(self) -> str:
        return f"{self.mean:.4f}{_spread(self.se)}"

    def to_json(self) -> dict[str, float | None]:
        """The two figures as plain values; an unknown standard error is null."""
        return {"mean": self.mean, "se": None if math.isnan(self.se) else self.se}


@dataclass(frozen=True)
class Difference(Estimate):
    """A mean paired difference between two methods on the same impressions."""

    def __str__(self) -> str:
        return f"{self.mean:+.4f}{_spread(self.se)}"

    @property
    def z(self) -> float:
        """The difference in standard errors; beyond ±2 it is hardly chance."""
        if self.se == 0:
            return math.copysign(math.inf, self.mean) if self.mean else 0.0
        return self.mean / self.se


def _spread(se: float) -> str:
    """The standard error as it stands behind a mean; nothing where it is not known."""
    return "" if math.isnan(se) else f" ± {se:.4f}"


def estimate(values: Floats | Sequence[Floats], reader: NDArray[np.integer]) -> Estimate:
    """The mean of per-impression values with its standard error, clustered by reader.

    Args:
        values: One value per impression, or one such row for each seed.
        reader: The reader of each impression.
    """
    runs = _runs(values, reader)
    average = runs.mean(axis=0)
    return Estimate(float(average.mean()), math.sqrt(_reader_variance(average, reader) + _seed_variance(runs)))


def paired_difference(
    ours: Floats | Sequence[Floats], theirs: Floats | Sequence[Floats], reader: NDArray[np.integer]
) -> Difference:
    """How much `ours` exceeds `theirs` on the same impressions.

    Readers who are hard for both methods cancel out, so the standard error is much below that of either mean. Either
    side may have its own number of seeds, drawn independently of the other's: their variances add.
    """
    our_runs, their_runs = _runs(ours, reader), _runs(theirs, reader)
    difference = our_runs.mean(axis=0) - their_runs.mean(axis=0)
    variance = _reader_variance(difference, reader) + _seed_variance(our_runs) + _seed_variance(their_runs)
    return Difference(float(difference.mean()), math.sqrt(variance))


def _runs(values: Floats | Sequence[Floats], reader: NDArray[np.integer]) -> Floats:
    runs = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if runs.ndim != 2 or runs.shape[1] != len(reader) or runs.size == 0:
        raise ValueError(f"values of shape {runs.shape} do not fit {len(reader)} impressions")
    return runs


def _reader_variance(values: Floats, reader: NDArray[np.integer]) -> float:
    _, cluster = np.unique(reader, return_inverse=True)
    sums = np.bincount(cluster, weights=values - values.mean())
    readers = len(sums)
    if readers < 2:
        return math.nan
    return float(readers / (readers - 1) * np.square(sums).sum() / len(values) ** 2)


def _seed_variance(runs: Floats) -> float:
    return float(runs.mean(axis=1).var(ddof=1) / len(runs)) if len(runs) > 1 else 0.0
