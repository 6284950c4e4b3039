"""What vendors gain in predicting ratings: RMSE, and the long tail. A vendor's RMSE is the mean over its folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.evaluation.grid import Grid
from discreet.experiments.provenance import versions
from discreet.experiments.vendor_gains import Floats, Measured, VendorGains, label_of, mean_over_vendors, whole
from discreet.experiments.vendor_worth import worth
from discreet.privacy.guarantee import Guarantee
from discreet.protocol.infinity import to_plain
from discreet.tabular import guarantee_columns, plain
from discreet.vendors.item_features import GROUP_EDGES
from discreet.vendors.vendor_registry import MethodRefusal

if TYPE_CHECKING:
    from discreet.experiments.report import Page

_MIN_SHARE = 0.01
"""The verdict speaks only of groups of items that are at least this share of what is tested."""
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
        return label_of(self)

    @property
    def rmse(self) -> Floats:
        """RMSE by partition and vendor, the mean over folds."""
        return np.asarray(np.sqrt(self.squared.sum(axis=3) / self.tested.sum(axis=3)).mean(axis=1))

    @property
    def figure(self) -> Floats:
        """The RMSE."""
        return self.rmse

    def tail(self) -> Floats:
        """RMSE over all vendors by bucket of items; NaN where none was tested."""
        squared, tested = self.squared.sum(axis=(0, 1, 2)), self.tested.sum(axis=(0, 1, 2))
        return np.asarray(np.sqrt(np.divide(squared, tested, out=np.full(len(tested), np.nan), where=tested > 0)))


@dataclass(frozen=True, eq=False, repr=False)
class VendorComparison(VendorGains):
    """Methods side by side; the first is `local`.

    Attributes:
        ratings: The data set's name.
        vendors: How many take part.
        design: The rest of how it was measured, in words.
        results: One for each method and ε.
        refused: Methods that could not take part.
        settings: The design as plain values.
        names: Of the vendors that were measured.
    """

    metric: ClassVar[str] = "RMSE"
    lower_is_better: ClassVar[bool] = True
    pooled: ClassVar[str] = "all ratings"

    ratings: str
    vendors: int
    design: str
    results: Sequence[VendorResult]
    refused: Sequence[MethodRefusal] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    names: Sequence[str] = ()

    @property
    def measurements(self) -> Sequence[VendorResult]:
        """The results."""
        return self.results

    @property
    def local(self) -> VendorResult:
        """Each vendor alone."""
        return self.results[0]

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

    def legend(self) -> str:
        """How the figures were measured."""
        return f"{self.design}. Means ± standard error over vendors; gains are paired by vendor."

    def rich_table(self) -> Grid:
        """The table for the terminal."""
        from discreet.experiments.rating_table import rich_table

        return rich_table(self)

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
                    "vendors_gaining": whole(self.gaining(result)),
                    "guarantee": None if result.guarantee is None else result.guarantee.to_json(),
                    **({"by_vendor": self._by_vendor(result)} if self.differ else {}),
                }
                for result in self.results
            ],
        }

    @property
    def differ(self) -> bool:
        """Whether vendors are more than samples of one population."""
        return self.settings.get("dealing", "random") != "random" and len(self.names) == self.measured

    def _by_vendor(self, result: VendorResult) -> list[dict[str, Any]]:
        """What each measured vendor has, the mean over partitions."""
        rmse, gains = result.rmse.mean(axis=0), self.gains(result).mean(axis=0)
        tested = result.tested.sum(axis=(0, 1, 3))
        return [
            {"vendor": name, "rmse": plain(float(r)), "gain": plain(float(g)), "tested": int(t)}
            for name, r, g, t in zip(self.names, rmse, gains, tested, strict=True)
        ]

    def for_whom(self, best: Measured) -> str:
        """Which vendors gain with the best method, on which items, and whether small ones gain more."""
        assert isinstance(best, VendorResult)
        sentence, gains = super().for_whom(best).removesuffix("."), self.gains(best)
        difference = self.local.tail() - best.tail()
        share = self.local.tested.sum(axis=(0, 1, 2)) / self.local.tested.sum()
        place = int(np.nanargmax(np.where(share >= _MIN_SHARE, difference, np.nan)))
        sentence += f"; most on items of which a vendor has {_of_bucket(place)}"
        sentence += f" ({difference[place]:+.4f}, {share[place]:.0%} of what is tested)"
        size = self.local.tested.sum(axis=(1, 3))
        if size.max() > 2 * size.min():
            smaller, larger = np.array_split(gains.ravel()[np.argsort(size, axis=None)], 2)
            sentence += f". The smaller half of them gains {smaller.mean():+.4f}, the larger {larger.mean():+.4f}"
        return " ".join([f"{sentence}.", *worth(self, best)])


def _of_bucket(place: int) -> str:
    return "no rating" if place == 0 else f"{BUCKETS[place]} ratings"
