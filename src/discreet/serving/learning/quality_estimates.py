"""How good the ranking is, from noised sums of what devices measured of their own views: means with standard errors.

With M the lattice, a reader who has an AUC a gives M·a and M − M·a (`edge.reader.sums.view_quality`). Let A and B be
their noised sums. Then n = (A + B)/M estimates how many readers had one, and r = A/(A + B) their mean AUC. By the delta
method, with σ² the variance of the noise in one value, which is public,

    var r ≈ ((1 − r)² + r²)·σ²/(A + B)²  +  r(1 − r)/n.

The first part is the noise. The second bounds what chance among readers adds: no variable within [0, 1] of mean r has a
larger variance than r(1 − r); a reader's days are taken as independent. So the error is rather too large than small.
A mean g of nDCG = G/(A + B) has (1 + 2g²)·σ²/(A + B)² + g(1 − g)/n. Where n is not beyond four deviations of its own
noise, the ratio has no useful distribution, and there is no estimate.

**Two arms** differ by d = r₁ − r₂ with variance v₁ + v₂: each reader is in one arm, and each value has noise of its
own. Who looks again every day, at several arms, finds differences by chance; so the interval is at confidence
1 − 0.05/(comparisons · windows), by Bonferroni.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.task import DAY, Kind, Per, Task
from discreet.protocol.quality_cells import LATTICE, MAX_TOTAL, MEASURE, METRICS, quality_cells
from discreet.serving.learning.experiment import Experiment
from discreet.serving.public_tasks import cells_digest

LEVEL = 0.05
_SURE = 4.0


def quality_task(
    arms: Sequence[str],
    epsilon: float,
    *,
    start: int,
    windows: int,
    name: str = MEASURE,
    leader: str = "",
    helper: str = "",
) -> Task:
    """The terms of the sums, in which a window is a day.

    Args:
        arms: Their names, as devices know them.
        epsilon: What a reader's day costs.
        start: When the first day begins.
        windows: How many days there are.
        name: How people call it; another name for other arms.
        leader: Address of the aggregator that takes reports.
        helper: Address of the other one.
    """
    cells = quality_cells(arms)
    return Task(
        name=name,
        purpose="Measures how good the ranking is that your device makes: where in it the articles stood that you"
        " opened, and how often you opened one.",
        kind=Kind.SUMVEC,
        length=len(cells),
        max_value=LATTICE,
        max_total=MAX_TOTAL * LATTICE,
        start=start,
        window_seconds=DAY,
        windows=windows,
        per=Per.DAY,
        epsilon=epsilon,
        measure=MEASURE,
        cells=cells_digest(cells),
        leader=leader,
        helper=helper,
    )


def quality_name(experiment: Experiment | None) -> str:
    """How its task is called: devices never take other terms under a name that they know."""
    return MEASURE if experiment is None else f"{MEASURE} in experiment {experiment.name} {experiment.id}"


def measures_quality(task: Task) -> bool:
    """Whether a task measures how good the ranking is."""
    return task.measure == MEASURE


@dataclass(frozen=True)
class QualityEstimate:
    """A mean over readers with its standard error, noise included; None where there is too much of it."""

    mean: float | None
    se: float | None

    def __str__(self) -> str:
        return "too little is known" if self.mean is None else f"{self.mean:.4f} ± {self.se:.4f}"

    def to_json(self) -> dict[str, float | None]:
        """Plain values."""
        return {"mean": self.mean, "se": self.se}


UNKNOWN = QualityEstimate(None, None)


@dataclass(frozen=True)
class Quality:
    """What is known of one arm.

    Attributes:
        arm: Its name.
        readers: How many readers (times days) clicked in what they were shown, about.
        auc: Mean AUC of what was shown to readers who clicked.
        ndcg: Mean nDCG@10 of the same.
        clicks: The share of views with a click among the first ten, a mean over readers.
    """

    arm: str
    readers: float
    auc: QualityEstimate
    ndcg: QualityEstimate
    clicks: QualityEstimate

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        metrics = {"auc": self.auc, "ndcg@10": self.ndcg, "clicks": self.clicks}
        return {
            "arm": self.arm,
            "readers": round(self.readers),
            **{name: metric.to_json() for name, metric in metrics.items()},
        }


@dataclass(frozen=True)
class MeasuredWindow:
    """One collected sum of a task for quality."""

    task: Task
    window: int
    cells: tuple[str, ...]
    values: NDArray[np.int64]
    contributions: int


def qualities(windows: Iterable[MeasuredWindow]) -> dict[str, Quality]:
    """What is known of each arm from some windows together."""
    sums: dict[str, NDArray[np.float64]] = {}
    variances: dict[str, float] = {}
    for one in windows:
        variance = (noise_deviation(one.task) / one.task.max_value) ** 2
        places = {cell: place for place, cell in enumerate(one.cells)}
        for arm in _arms(one.cells):
            found = [one.values[places[f"{arm} {metric}"]] for metric in METRICS]
            sums[arm] = sums.get(arm, np.zeros(len(METRICS))) + np.array(found, np.float64) / one.task.max_value
            variances[arm] = variances.get(arm, 0.0) + variance
    return {arm: _quality(arm, sums[arm], variances[arm]) for arm in sums}


def _quality(arm: str, sums: NDArray[np.float64], variance: float) -> Quality:
    good, bad, gained, clicked, missed = sums.tolist()
    return Quality(
        arm,
        max(0.0, good + bad),
        _share(good, bad, variance),
        _mean(gained, good + bad, variance),
        _share(clicked, missed, variance),
    )


def _share(part: float, rest: float, variance: float) -> QualityEstimate:
    """The share part / (part + rest), where both have noise."""
    whole = part + rest
    if whole <= _SURE * math.sqrt(2 * variance) or whole <= 0:
        return UNKNOWN
    mean = min(1.0, max(0.0, part / whole))
    return _estimate(mean, ((1 - mean) ** 2 + mean**2) * variance, whole)


def _mean(total: float, whole: float, variance: float) -> QualityEstimate:
    """The mean total / whole, where `whole` is a sum of two values."""
    if whole <= _SURE * math.sqrt(2 * variance) or whole <= 0:
        return UNKNOWN
    mean = min(1.0, max(0.0, total / whole))
    return _estimate(mean, (1 + 2 * mean**2) * variance, whole)


def _estimate(mean: float, noise: float, whole: float) -> QualityEstimate:
    return QualityEstimate(mean, math.sqrt(noise / whole**2 + mean * (1 - mean) / whole))


@dataclass(frozen=True)
class QualityDifference:
    """How one arm compares with the first, in the share of views with a click, or in AUC.

    Attributes:
        arm: Its name.
        metric: What is compared.
        mean: By how much it is better; below 0 it is worse.
        low: The lower end of the interval.
        high: The upper end.
        z: The difference in standard errors.
    """

    arm: str
    metric: str
    mean: float
    low: float
    high: float
    z: float

    @property
    def verdict(self) -> str:
        """In a word."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "not beyond chance"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        fields = ("arm", "metric", "mean", "low", "high", "z", "verdict")
        return {name: getattr(self, name) for name in fields}


def differences(found: Mapping[str, Quality], windows: int) -> list[QualityDifference]:
    """Each arm against the first, where both are known; `windows` is how often one could have looked."""
    first, *others = found.values() if found else (None,)
    metrics = ("clicks", "auc", "ndcg")
    made = []
    width = -float(ndtri(LEVEL / 2 / max(1, len(others) * len(metrics) * windows)))
    for other in others:
        for metric in metrics:
            control, treated = getattr(first, metric), getattr(other, metric)
            if control.mean is None or treated.mean is None:
                continue
            mean, error = treated.mean - control.mean, math.hypot(control.se, treated.se)
            made.append(
                QualityDifference(
                    other.arm, metric, mean, mean - width * error, mean + width * error, mean / max(error, 1e-12)
                )
            )
    return made


def _arms(cells: Sequence[str]) -> list[str]:
    """The arms that have all their cells, in order."""
    end = f" {METRICS[0]}"
    arms = [cell.removesuffix(end) for cell in cells if cell.endswith(end)]
    return [arm for arm in arms if set(quality_cells([arm])) <= set(cells)]
