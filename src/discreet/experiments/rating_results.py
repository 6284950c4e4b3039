"""What vendors gain by working together: means with standard errors, the gap closed, the long tail, and a verdict.

A vendor's RMSE is the mean over its folds. With V vendors in each of P partitions, where vendor v of partition p has
the value x_pv (an RMSE, or the gain over being alone, paired), the mean of all has the standard error

    se² = mean_p( var_v(x_pv) / V ) + var_p( mean_v(x_pv) ) / P

Partitions deal out the same users again, so the first term, which is about users, does not shrink with P; the second is
about the deal and the noise of a release, which all vendors of a partition share. One partition cannot show it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from discreet.evaluation.uncertainty import Difference, Estimate
from discreet.experiments.provenance import versions
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.protocol.infinity import to_plain
from discreet.tabular import Tabular, guarantee_columns, plain
from discreet.vendors.item_features import GROUP_EDGES
from discreet.vendors.vendor_registry import MethodRefusal

if TYPE_CHECKING:
    from discreet.experiments.report import Page

Floats = NDArray[np.float64]
_MIN_SHARE = 0.01
"""The verdict speaks only of groups of items that are at least this share of what is tested."""
MIN_VENDORS = 6
"""Of fewer, not even a gain of every single one is beyond chance by its sign (2 · 2⁻⁵ > 5 %)."""
BUCKETS = ("none", *(f"{low}–{next_ - 1}" for low, next_ in pairwise(GROUP_EDGES)), f"{GROUP_EDGES[-1]}+")
"""Groups of items by how many of the vendor's own training ratings they have."""


@dataclass(frozen=True, eq=False)
class VendorResult:
    """One method at one ε.

    Attributes:
        method: Its name.
        epsilon: The budget that was asked for; None where the method has none.
        squared: Squared errors summed, by partition, fold, vendor and bucket of items.
        tested: How many ratings that were.
        guarantee: What a user of another vendor is promised.
        settings: The method as it was made.
        reused: How many of its measurements are of an earlier command.
    """

    method: str
    epsilon: float | None
    squared: Floats
    tested: Floats
    guarantee: Guarantee | None
    settings: str = ""
    reused: int = 0

    @property
    def label(self) -> str:
        """Method and ε in a few characters."""
        return self.method if self.epsilon is None else f"{self.method}, ε {shown_epsilon(self.epsilon)}"

    @property
    def rmse(self) -> Floats:
        """RMSE by partition and vendor, the mean over folds."""
        return np.asarray(np.sqrt(self.squared.sum(axis=3) / self.tested.sum(axis=3)).mean(axis=1))

    def gains(self, local: VendorResult) -> Floats:
        """How much lower the RMSE is than alone, by partition and vendor."""
        return np.asarray(local.rmse - self.rmse)

    def tail(self) -> Floats:
        """RMSE over all vendors by bucket of items; NaN where none was tested."""
        squared, tested = self.squared.sum(axis=(0, 1, 2)), self.tested.sum(axis=(0, 1, 2))
        return np.asarray(np.sqrt(np.divide(squared, tested, out=np.full(len(tested), np.nan), where=tested > 0)))


@dataclass(frozen=True, eq=False, repr=False)
class VendorComparison(Tabular):
    """Methods side by side; the first is `local`.

    Attributes:
        ratings: The data set's name.
        vendors: How many take part.
        design: The rest of how it was measured, in words.
        results: One for each method and ε.
        refused: Methods that could not take part.
        settings: The design as plain values.
    """

    ratings: str
    vendors: int
    design: str
    results: Sequence[VendorResult]
    refused: Sequence[MethodRefusal] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def local(self) -> VendorResult:
        """Each vendor alone."""
        return self.results[0]

    @property
    def full(self) -> VendorResult | None:
        """All ratings in one place, if it was measured."""
        return next((result for result in self.results if result.method == "full"), None)

    @property
    def measured(self) -> int:
        """How many vendors were measured in each partition."""
        return int(self.local.rmse.shape[1])

    def gain(self, result: VendorResult) -> Difference:
        """The mean gain over being alone, paired by vendor."""
        found = mean_over_vendors(result.gains(self.local))
        return Difference(found.mean, found.se)

    def clearly(self, result: VendorResult) -> int:
        """1 or −1 where the mean gain is above or below 0 beyond chance: 95 %, Student's t over the vendors."""
        gain = self.gain(result)
        beyond = abs(gain.z) > student.ppf(0.975, self.measured - 1) if self.measured > 1 else False
        return (1 if gain.mean > 0 else -1) if beyond else 0

    def gap_closed(self, result: VendorResult) -> float | None:
        """(local − method)/(local − full) of mean RMSEs; None without `full`, or where `full` is no better."""
        if self.full is None:
            return None
        gap = float(self.full.gains(self.local).mean())
        return float(result.gains(self.local).mean()) / gap if gap > 0 else None

    def gaining(self, result: VendorResult) -> float:
        """How many of the measured vendors gain, the mean over partitions."""
        return float((result.gains(self.local) > 0).sum(axis=1).mean())

    def records(self) -> list[dict[str, Any]]:
        """A row for each method and ε: RMSE, gain, and the terms of its guarantee."""
        rows = []
        for result in self.results:
            rmse, gain = mean_over_vendors(result.rmse), self.gain(result)
            row = {"method": result.method, "epsilon": result.epsilon}
            row |= {"rmse": plain(rmse.mean), "rmse_se": plain(rmse.se), "gain": plain(gain.mean)}
            row |= {"gain_se": plain(gain.se), "gap_closed": plain(self.gap_closed(result))}
            promise = None if result.guarantee is None else result.guarantee.to_json()
            rows.append({**row, "vendors_gaining": self.gaining(result), **guarantee_columns(promise)})
        return rows

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table that people read."""
        from discreet.experiments.rating_table import HEADINGS, rows

        return list(HEADINGS), rows(self)

    def to_markdown(self) -> str:
        """The table in Markdown, with how it was measured and the verdict."""
        from discreet.experiments.rating_table import markdown_table

        return markdown_table(self)

    def plots(self) -> dict[str, str]:
        """RMSE and the gap closed against ε, the long tail, and each vendor's gain."""
        from discreet.experiments.rating_plots import plots

        return plots(self)

    def page(self, plots: dict[str, str]) -> Page:
        """What the report shows."""
        from discreet.experiments.rating_table import page

        return page(self, plots)

    def footnotes(self) -> list[str]:
        """How it was measured, and the verdict."""
        return [f"{self.design}.", *self.verdict()]

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "ratings": self.ratings,
            "vendors": self.vendors,
            "settings": {
                name: str(value) if isinstance(value, Enum) else value for name, value in self.settings.items()
            },
            "tested": int(self.local.tested.sum()),
            "versions": versions(),
            "methods": [
                {
                    "method": result.method,
                    "settings": result.settings,
                    "epsilon": to_plain(result.epsilon),
                    "reused": result.reused,
                    "rmse": mean_over_vendors(result.rmse).to_json(),
                    "gain": self.gain(result).to_json(),
                    "gap_closed": self.gap_closed(result),
                    "vendors_gaining": _whole(self.gaining(result)),
                    "guarantee": None if result.guarantee is None else result.guarantee.to_json(),
                }
                for result in self.results
            ],
        }

    def reuse(self) -> str:
        """Which figures are not new, in a sentence; nothing where all are."""
        reused = [result.label for result in self.results if result.reused]
        return f"Reused from an earlier comparison: {'; '.join(reused)} (--fresh measures anew)." if reused else ""

    def verdict(self) -> list[str]:
        """Is there a reason to collaborate, for whom, and at what ε: a sentence each."""
        private = [result for result in self.results if result.guarantee is not None]
        sentences = [self._room()]
        if not private:
            return [*sentences, "No private method was measured, so nothing is said about how to reach it."]
        paying = [result for result in private if self.clearly(result) > 0]
        if paying:
            sentences.append("There is a reason to collaborate: " + "; ".join(self._paying(paying)) + ".")
            sentences.append(self._for_whom(max(paying, key=lambda result: self.gain(result).mean)))
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

    def _too_few(self, private: Sequence[VendorResult]) -> str:
        best = max(private, key=lambda result: self.gain(result).mean)
        gaining = f"{self.gaining(best):.3g} of {self.measured} vendors gain with {best.label} ({self.gain(best)})"
        return f"Too few vendors to tell: {gaining}; measure at least {MIN_VENDORS} before you decide."

    def _room(self) -> str:
        alone = mean_over_vendors(self.local.rmse)
        if self.full is None:
            return f"Alone, a vendor's RMSE is {alone}; what all ratings in one place would reach was not measured."
        gap = self.gain(self.full)
        room = f"Alone, a vendor's RMSE is {alone}; with all ratings in one place it would be"
        room += f" {mean_over_vendors(self.full.rmse)}"
        if self.clearly(self.full) <= 0 and self.measured < MIN_VENDORS:
            return f"{room}; too few vendors to tell whether that is less."
        if self.clearly(self.full) <= 0:
            return f"{room}: hardly less, so there is little to share for."
        return f"{room}, {gap.mean:.4f} less. That is what there is to gain."

    def _paying(self, paying: Sequence[VendorResult]) -> list[str]:
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

    def _worth(self, result: VendorResult) -> str:
        closed = self.gap_closed(result)
        share = "" if closed is None else f", {closed:.0%} of the gap"
        return f"gain {self.gain(result)}{share}"

    def _for_whom(self, best: VendorResult) -> str:
        gains = best.gains(self.local)
        count = f"{int((gains > 0).sum())} of {gains.size}"
        sentence = f"With {best.label}, {count} vendors gain"
        if self.local.rmse.shape[0] > 1:
            sentence += " (all partitions counted)"
        difference = self.local.tail() - best.tail()
        share = self.local.tested.sum(axis=(0, 1, 2)) / self.local.tested.sum()
        place = int(np.nanargmax(np.where(share >= _MIN_SHARE, difference, np.nan)))
        sentence += f"; most on items of which a vendor has {_of_bucket(place)}"
        sentence += f" ({difference[place]:+.4f}, {share[place]:.0%} of what is tested)"
        size = self.local.tested.sum(axis=(1, 3))
        if size.max() > 2 * size.min():
            smaller, larger = np.array_split(gains.ravel()[np.argsort(size, axis=None)], 2)
            sentence += f". The smaller half of them gains {smaller.mean():+.4f}, the larger {larger.mean():+.4f}"
        return f"{sentence}."


def mean_over_vendors(values: Floats) -> Estimate:
    """The mean of values by partition and vendor, with the standard error of the module's formula."""
    partitions, vendors = values.shape
    within = float(values.var(axis=1, ddof=1).mean() / vendors) if vendors > 1 else math.nan
    between = float(values.mean(axis=1).var(ddof=1) / partitions) if partitions > 1 else 0.0
    return Estimate(float(values.mean()), math.sqrt(within + between))


def _of_bucket(place: int) -> str:
    return "no rating" if place == 0 else f"{BUCKETS[place]} ratings"


def _budget(epsilon: float | None) -> float:
    return math.inf if epsilon is None else epsilon


def _unit(result: VendorResult) -> str:
    return str(result.guarantee.unit) if result.guarantee else "user"


def _whole(count: float) -> int | float:
    return int(count) if count.is_integer() else count
