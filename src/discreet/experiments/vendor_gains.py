"""What vendors gain by working together, whatever is measured: means with standard errors, the gap closed, a verdict.

With V vendors in each of P partitions, where vendor v of partition p has the value x_pv (a measured figure, or the gain
over being alone, paired), the mean of all has the standard error

    se² = mean_p( var_v(x_pv) / V ) + var_p( mean_v(x_pv) ) / P

Partitions deal out the same users again, so the first term, which is about users, does not shrink with P; the second is
about the deal and the noise of a release, which all vendors of a partition share. One partition cannot show it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from discreet.evaluation.grid import Grid
from discreet.evaluation.uncertainty import Difference, Estimate
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.tabular import Tabular

if TYPE_CHECKING:
    from discreet.experiments.report import Page

Floats = NDArray[np.float64]
MIN_VENDORS = 6
"""Of fewer, not even a gain of every single one is beyond chance by its sign (2 · 2⁻⁵ > 5 %)."""


class Measured(Protocol):
    """One method at one ε, measured at vendors."""

    @property
    def method(self) -> str:
        """Its name."""

    @property
    def epsilon(self) -> float | None:
        """The budget that was asked for; None where the method has none."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What a user of another vendor is promised."""

    @property
    def reused(self) -> int:
        """How many of its measurements are of an earlier command."""

    @property
    def figure(self) -> Floats:
        """What is measured first of all, by partition and vendor."""


class VendorGains(Tabular):
    """Methods side by side; the first is `local`.

    Attributes:
        metric: What `figure` is, in words.
        lower_is_better: Whether a smaller figure is a gain.
        pooled: What would be in one place, in words.
    """

    metric: ClassVar[str]
    lower_is_better: ClassVar[bool]
    pooled: ClassVar[str]

    @property
    @abstractmethod
    def measurements(self) -> Sequence[Measured]:
        """One for each method and ε; the first is `local`."""

    @abstractmethod
    def legend(self) -> str:
        """How the figures were measured."""

    @abstractmethod
    def rich_table(self) -> Grid:
        """The table for the terminal."""

    @abstractmethod
    def plots(self) -> dict[str, str]:
        """The plots that make sense for it, by name."""

    @abstractmethod
    def page(self, plots: dict[str, str]) -> Page:
        """What its report shows."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""

    @property
    def alone(self) -> Measured:
        """Each vendor alone."""
        return self.measurements[0]

    @property
    def together(self) -> Measured | None:
        """Everything in one place, if it was measured."""
        return next((result for result in self.measurements if result.method == "full"), None)

    @property
    def measured(self) -> int:
        """How many vendors were measured in each partition."""
        return int(self.alone.figure.shape[1])

    def gains(self, result: Measured) -> Floats:
        """How much better than alone, by partition and vendor."""
        difference = np.asarray(self.alone.figure - result.figure)
        return difference if self.lower_is_better else -difference

    def gain(self, result: Measured) -> Difference:
        """The mean gain over being alone, paired by vendor."""
        found = mean_over_vendors(self.gains(result))
        return Difference(found.mean, found.se)

    def clearly(self, result: Measured) -> int:
        """1 or −1 where the mean gain is above or below 0 beyond chance: 95 %, Student's t over the vendors."""
        gain = self.gain(result)
        beyond = abs(gain.z) > stdtrit(self.measured - 1, 0.975) if self.measured > 1 else False
        return (1 if gain.mean > 0 else -1) if beyond else 0

    def gap_closed(self, result: Measured) -> float | None:
        """The mean gain over that of `full`; None without `full`, or where `full` is no better than alone."""
        if self.together is None:
            return None
        gap = float(self.gains(self.together).mean())
        return float(self.gains(result).mean()) / gap if gap > 0 else None

    def gaining(self, result: Measured) -> float:
        """How many of the measured vendors gain, the mean over partitions."""
        return float((self.gains(result) > 0).sum(axis=1).mean())

    def reuse(self) -> str:
        """Which figures are not new, in a sentence; nothing where all are."""
        reused = [label_of(result) for result in self.measurements if result.reused]
        return f"Reused from an earlier comparison: {'; '.join(reused)} (--fresh measures again)." if reused else ""

    def verdict(self) -> list[str]:
        """Is there a reason to collaborate, for whom, and at what ε: a sentence each."""
        private = [result for result in self.measurements if result.guarantee is not None]
        sentences = [self._room()]
        if not private:
            return [*sentences, "No private method was measured, so nothing is said about how to reach it."]
        paying = [result for result in private if self.clearly(result) > 0]
        if paying:
            sentences.append("There is a reason to collaborate: " + "; ".join(self._paying(paying)) + ".")
            sentences.append(self.for_whom(max(paying, key=lambda result: self.gain(result).mean)))
        elif self.measured < MIN_VENDORS and any(self.clearly(result) >= 0 for result in private):
            sentences.append(self._too_few(private))
        else:
            sentences.append(
                "There is no reason to collaborate with the methods and budgets measured here: no private one is better"
                " than each vendor alone beyond chance (95 %)."
            )
        losing = dict.fromkeys(r.method for r in private if self.clearly(r) < 0)
        always = [name for name in losing if all(self.clearly(r) < 0 for r in private if r.method == name)]
        if always:
            sentences.append(f"Worse than alone at every ε that was tried: {', '.join(always)}.")
        return sentences

    def for_whom(self, best: Measured) -> str:
        """Which vendors gain with the best method."""
        gains = self.gains(best)
        counted = " (all partitions counted)" if gains.shape[0] > 1 else ""
        return f"With {label_of(best)}, {int((gains > 0).sum())} of {gains.size} vendors gain{counted}."

    def _too_few(self, private: Sequence[Measured]) -> str:
        best = max(private, key=lambda result: self.gain(result).mean)
        gaining = f"{self.gaining(best):.3g} of {self.measured} vendors gain with {label_of(best)} ({self.gain(best)})"
        return f"Too few vendors to tell: {gaining}; measure at least {MIN_VENDORS} before you decide."

    def _room(self) -> str:
        alone = f"Alone, a vendor's {self.metric} is {mean_over_vendors(self.alone.figure)}"
        if self.together is None:
            return f"{alone}; what {self.pooled} in one place would reach was not measured."
        gap = self.gain(self.together)
        room = f"{alone}; with {self.pooled} in one place it would be {mean_over_vendors(self.together.figure)}"
        change = "less" if self.lower_is_better else "more"
        if self.clearly(self.together) <= 0 and self.measured < MIN_VENDORS:
            return f"{room}; too few vendors to tell whether that is {change}."
        if self.clearly(self.together) <= 0:
            return f"{room}: hardly {change}, so there is little to share for."
        return f"{room}, {gap.mean:.4f} {change}. That is what there is to gain."

    def _paying(self, paying: Sequence[Measured]) -> list[str]:
        parts = []
        for name in dict.fromkeys(result.method for result in paying):
            least = min((r for r in paying if r.method == name), key=lambda r: _budget(r.epsilon))
            best = max((r for r in paying if r.method == name), key=lambda r: self.gain(r).mean)
            part = f"{name} pays from ε = {shown_epsilon(_budget(least.epsilon))} per {_unit(least)}"
            part += f" ({self._worth(least)})"
            if best is not least:
                part += f", most at ε = {shown_epsilon(_budget(best.epsilon))} ({self._worth(best)})"
            parts.append(part)
        return parts

    def _worth(self, result: Measured) -> str:
        closed = self.gap_closed(result)
        share = "" if closed is None else f", {closed:.0%} of the gap"
        return f"gain {self.gain(result)}{share}"


def label_of(result: Measured) -> str:
    """Method and ε in a few characters."""
    return result.method if result.epsilon is None else f"{result.method}, ε {shown_epsilon(result.epsilon)}"


def mean_over_vendors(values: Floats) -> Estimate:
    """The mean of values by partition and vendor, with the standard error of the module's formula."""
    partitions, vendors = values.shape
    within = float(values.var(axis=1, ddof=1).mean() / vendors) if vendors > 1 else math.nan
    between = float(values.mean(axis=1).var(ddof=1) / partitions) if partitions > 1 else 0.0
    return Estimate(float(values.mean()), math.sqrt(within + between))


def whole(count: float) -> int | float:
    """A number of vendors, as an integer where it is one."""
    return int(count) if count.is_integer() else count


def _budget(epsilon: float | None) -> float:
    return math.inf if epsilon is None else epsilon


def _unit(result: Measured) -> str:
    return str(result.guarantee.unit) if result.guarantee else "user"
