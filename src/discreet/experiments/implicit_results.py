"""What vendors gain in recommending from implicit feedback: nDCG@k first, then recall, MRR, coverage and lift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.evaluation.grid import Grid
from discreet.evaluation.recommendation import metric_names
from discreet.experiments.provenance import versions
from discreet.experiments.ranking_table import figure
from discreet.experiments.rating_table import promise
from discreet.experiments.vendor_gains import Floats, VendorGains, label_of, mean_over_vendors, whole
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.protocol.infinity import to_plain
from discreet.tabular import guarantee_columns, markdown_line, plain
from discreet.vendors.vendor_registry import MethodRefusal

if TYPE_CHECKING:
    from discreet.experiments.report import Page


@dataclass(frozen=True, eq=False)
class RankingResult:
    """One method at one ε.

    Attributes:
        method: Its name.
        epsilon: The budget that was asked for; None where the method has none.
        values: By partition, vendor and metric (`metric_names`).
        guarantee: What a user of another vendor is promised.
        settings: The method as it was made.
        reused: How many of its measurements are of an earlier command.
    """

    method: str
    epsilon: float | None
    values: Floats
    guarantee: Guarantee | None
    settings: str = ""
    reused: int = 0

    @property
    def figure(self) -> Floats:
        """nDCG@k by partition and vendor."""
        return self.values[..., 1]


@dataclass(frozen=True, eq=False, repr=False)
class RankingComparison(VendorGains):
    """Methods side by side; the first is `local`.

    Attributes:
        purchases: The data set's name.
        vendors: How many take part.
        top: k of the metrics.
        design: The rest of how it was measured, in words.
        tested: How many purchases are tested.
        results: One for each method and ε.
        refused: Methods that could not take part.
        settings: The design as plain values.
    """

    metric: ClassVar[str] = "nDCG"
    lower_is_better: ClassVar[bool] = False
    pooled: ClassVar[str] = "all purchases"

    purchases: str
    vendors: int
    top: int
    design: str
    tested: int
    results: Sequence[RankingResult]
    refused: Sequence[MethodRefusal] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measurements(self) -> Sequence[RankingResult]:
        """The results."""
        return self.results

    @property
    def metrics(self) -> tuple[str, ...]:
        """Their names."""
        return metric_names(self.top)

    @property
    def headings(self) -> list[str]:
        """Of the table."""
        first = ["Method", "ε", "Protects"]
        return [*first, *self.metrics, "Gain in nDCG", "Gap closed", "Vendors gaining"]

    def records(self) -> list[dict[str, Any]]:
        """A row for each method and ε: metrics, gain, and the terms of its guarantee."""
        rows = []
        for result in self.results:
            row: dict[str, Any] = {"method": result.method, "epsilon": result.epsilon}
            for place, name in enumerate(self.metrics):
                found = mean_over_vendors(result.values[..., place])
                row |= {name: plain(found.mean), f"{name}_se": plain(found.se)}
            gain = self.gain(result)
            row |= {"gain": plain(gain.mean), "gain_se": plain(gain.se), "gap_closed": plain(self.gap_closed(result))}
            promised = None if result.guarantee is None else result.guarantee.to_json()
            rows.append({**row, "vendors_gaining": self.gaining(result), **guarantee_columns(promised)})
        return rows

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table that people read."""
        return self.headings, [self._row(result) for result in self.results]

    def rich_table(self) -> Grid:
        """The table for the terminal."""
        table = Grid(tuple(self.headings), left=3, title=f"{self.purchases}, {self.vendors} vendors")
        for row in self.cells()[1]:
            table.add(*map(figure, row))
        return table

    def legend(self) -> str:
        """How the figures were measured."""
        return (
            f"{self.design}. Means ± standard error over vendors; gains are paired by vendor. All items of the"
            " catalogue are ranked but those that the user has."
        )

    def footnotes(self) -> list[str]:
        """How it was measured, and the verdict."""
        return [self.legend(), *self.verdict()]

    def to_markdown(self) -> str:
        """The table in Markdown, with how it was measured, what was refused, and the verdict."""
        titles, rows = self.cells()
        table = [markdown_line(titles), markdown_line(["---"] * 3 + ["---:"] * (len(titles) - 3))]
        refused = [f"- Refused: {each.method}, ε {shown_epsilon(each.epsilon)}: {each.reason}" for each in self.refused]
        notes = ["", f"{self.legend()} {self.reuse()}".rstrip(), "", *refused, "", *self.verdict()]
        return "\n".join([*table, *map(markdown_line, rows), *notes])

    def plots(self) -> dict[str, str]:
        """The nDCG and the gap closed against ε, and each vendor's gain."""
        from discreet.experiments.rating_plots import gain_plots

        return gain_plots(self, f"nDCG@{self.top} on {self.purchases}, {self.vendors} vendors")

    def page(self, plots: dict[str, str]) -> Page:
        """What the report shows."""
        from discreet.experiments.rating_table import CAPTIONS
        from discreet.experiments.report import Page

        values = {
            "name": self.purchases,
            "verdict": self.verdict(),
            "headings": self.headings,
            "rows": self.cells()[1],
            "legend": f"{self.legend()} {self.reuse()}",
            "promises": [(label_of(result), promise(result)) for result in self.results],
            "refused": [(f"{each.method}, ε {shown_epsilon(each.epsilon)}", each.reason) for each in self.refused],
            "plots": [(name, plot, CAPTIONS[name]) for name, plot in plots.items()],
        }
        return Page("collaboration.html", values)

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "ratings": self.purchases,
            "feedback": "implicit",
            "vendors": self.vendors,
            "settings": {
                name: str(value) if isinstance(value, Enum) else value for name, value in self.settings.items()
            },
            "tested": self.tested,
            "versions": versions(),
            "methods": [self._method(result) for result in self.results],
        }

    def _method(self, result: RankingResult) -> dict[str, Any]:
        figures = {n: mean_over_vendors(result.values[..., i]).to_json() for i, n in enumerate(self.metrics)}
        return {
            "method": result.method,
            "settings": result.settings,
            "epsilon": to_plain(result.epsilon),
            "reused": result.reused,
            **figures,
            "gain": self.gain(result).to_json(),
            "gap_closed": self.gap_closed(result),
            "vendors_gaining": whole(self.gaining(result)),
            "guarantee": None if result.guarantee is None else result.guarantee.to_json(),
        }

    def _row(self, result: RankingResult) -> list[str]:
        alone, closed = result is self.alone, self.gap_closed(result)
        mark = {1: " ▲", 0: "", -1: " ▼"}[self.clearly(result)]
        means = [mean_over_vendors(result.values[..., place]) for place in range(len(self.metrics))]
        return [
            result.method,
            "–" if result.epsilon is None else shown_epsilon(result.epsilon),
            "–" if result.guarantee is None else str(result.guarantee.unit),
            *(str(mean) for mean in means[:3]),
            f"{means[3].mean:.3f}",
            f"{means[4].mean:+.2f}",
            "–" if alone else f"{self.gain(result)}{mark}",
            "–" if alone or closed is None else f"{closed:.1%}",
            "–" if alone else f"{self.gaining(result):.3g} of {self.measured}",
        ]
