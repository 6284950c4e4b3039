"""What a comparison found: each method's metrics on the same impressions, and what it costs its readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.evaluation.metrics import RankingMetrics
from discreet.evaluation.uncertainty import Difference, Estimate, estimate, paired_difference
from discreet.experiments.provenance import versions
from discreet.privacy.guarantee import Guarantee, Scope, shown_epsilon
from discreet.protocol.infinity import to_plain
from discreet.tabular import Tabular, guarantee_columns, plain

if TYPE_CHECKING:
    from discreet.experiments.report import Page


@dataclass(frozen=True)
class MethodResult:
    """One method, trained once for each seed and measured each time on the same impressions.

    Attributes:
        method: The method's name.
        model: The name of the model it trained, or None where there is none.
        epsilon: The ε that was asked for: the lifetime budget of a method with a proof, the published claim of a method
            as published; infinity for no noise, None where the method knows no ε.
        runs: The metrics of each seed.
        guarantee: What truly holds for the reader, or None where the method makes no promise.
        baseline: Whether the other methods are to be measured against this one.
        settings: The method's settings, as plain values.
        variant: Settings that tell it from others of the same method, in a few characters.
        reused: How many of the runs were measured by an earlier command.
        remark: What a reader must know of the figures.
    """

    method: str
    model: str | None
    epsilon: float | None
    runs: Sequence[RankingMetrics]
    guarantee: Guarantee | None
    baseline: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""
    reused: int = 0
    remark: str = ""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.method}: a result needs the metrics of at least one seed")
        if any(not _same_impressions(run, self.runs[0]) for run in self.runs):
            raise ValueError(f"{self.method}: the seeds were measured on different impressions")

    @property
    def title(self) -> str:
        """The method, with what tells it from others of its name."""
        return f"{self.method} {self.variant}".rstrip()

    @property
    def label(self) -> str:
        """Method, model and asked-for ε in a few characters; an ε that does not hold is called claimed."""
        name = f"{self.title} · {self.model}" if self.model else self.title
        if self.epsilon is None:
            return name
        failed = self.guarantee is not None and self.guarantee.claimed_epsilon is not None
        return f"{name}, {'claimed ' if failed else ''}ε {shown_epsilon(self.epsilon)}"

    @property
    def lifetime_epsilon(self) -> float:
        """The ε that holds over a reader's lifetime; infinity where nothing is known to."""
        if self.guarantee is None or self.guarantee.scope is not Scope.LIFETIME:
            return math.inf
        return self.guarantee.epsilon

    def estimate(self, metric: str) -> Estimate:
        """The mean of a metric with its standard error."""
        return estimate([run[metric] for run in self.runs], self.runs[0].reader)

    def minus(self, other: MethodResult, metric: str) -> Difference:
        """The paired difference of a metric between this method and another."""
        if not _same_impressions(self.runs[0], other.runs[0]):
            raise ValueError(f"{self.method} and {other.method} were measured on different impressions")
        return paired_difference(
            [run[metric] for run in self.runs], [run[metric] for run in other.runs], self.runs[0].reader
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of the command line's `--json` contract."""
        return {
            "method": self.method,
            "model": self.model,
            "epsilon": to_plain(self.epsilon),
            "settings": dict(self.settings),
            "seeds": len(self.runs),
            "reused": self.reused,
            **{metric: self.estimate(metric).to_json() for metric in self.runs[0].values},
            "remark": self.remark or None,
            "guarantee": None if self.guarantee is None else self.guarantee.to_json(),
        }


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """Methods side by side on one split of one data set.

    `seeds` are those they were trained with, `text` is what made the title vectors. Differences are taken from the best
    result of the method `compared_with`; where that is empty, from the best baseline.
    """

    dataset: str
    split: str
    results: Sequence[MethodResult]
    seeds: Sequence[int] = ()
    text: str = ""
    compared_with: str = ""

    def __post_init__(self) -> None:
        if not self.results:
            raise ValueError("a comparison needs at least one method")
        first = self.results[0]
        for result in self.results:
            if not _same_impressions(result.runs[0], first.runs[0]):
                raise ValueError(f"{result.method} and {first.method} were measured on different impressions")

    @property
    def impressions(self) -> RankingMetrics:
        """Any one measurement, for what all share: the impressions, their readers, how many were left out."""
        return self.results[0].runs[0]

    @property
    def metrics(self) -> list[str]:
        """The names of all that was measured."""
        return list(self.impressions.values)

    @property
    def reference(self) -> MethodResult | None:
        """What differences are taken from: the best of that method or of all baselines; None where there is none."""
        name = self.compared_with
        some = [result for result in self.results if (result.method == name if name else result.baseline)]
        return max(some, key=lambda result: result.estimate("auc").mean, default=None)

    def against(self, method: str) -> Comparison:
        """The same results, with paired differences from this method instead of the best baseline."""
        if method not in (names := {result.method for result in self.results}):
            raise DiscreetError(f"there is no {method} to compare with; there are {', '.join(sorted(names))}")
        return replace(self, compared_with=method)

    def records(self) -> list[dict[str, Any]]:
        """A row for each method: means, standard errors, and the terms of its guarantee."""
        rows = []
        for result in self.results:
            row = {"method": result.method, "variant": result.variant, "model": result.model, "epsilon": result.epsilon}
            row["seeds"] = len(result.runs)
            for metric in self.metrics:
                found = result.estimate(metric)
                row |= {metric: plain(found.mean), f"{metric}_se": plain(found.se)}
            promise = None if result.guarantee is None else result.guarantee.to_json()
            rows.append(row | guarantee_columns(promise))
        return rows

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table that people read."""
        from discreet.experiments.ranking_table import headings, rows

        titles = headings(self)
        lines = [[r.method, r.model, r.epsilon, *(cell.text for cell in r.estimates), r.difference] for r in rows(self)]
        return titles, [line[: len(titles)] for line in lines]

    def to_markdown(self) -> str:
        """The table in Markdown, the best of each column bold."""
        from discreet.experiments.ranking_table import markdown_table

        return markdown_table(self)

    def plots(self) -> dict[str, str]:
        """AUC by method, and against ε where some method was run at several."""
        from discreet.experiments.ranking_plots import auc_plot_svg, epsilon_plot_svg

        by_epsilon = epsilon_plot_svg(self)
        return {"auc": auc_plot_svg(self), **({} if by_epsilon is None else {"epsilon": by_epsilon})}

    def page(self, plots: dict[str, str]) -> Page:
        """What the report shows."""
        from discreet.experiments.ranking_table import page

        return page(self, plots)

    def footnotes(self) -> list[str]:
        """What the figures are means of, and what stands below the table."""
        from discreet.experiments.ranking_table import legend

        return [legend(self), *self.notes()]

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "impressions": len(self.impressions),
            "left_out": self.impressions.left_out,
            "seeds": list(self.seeds),
            "text": self.text,
            "versions": versions(),
            "reference": None if self.reference is None else self.reference.label,
            "methods": [result.to_json() | {"difference": self._difference(result)} for result in self.results],
        }

    def _difference(self, result: MethodResult) -> dict[str, Any] | None:
        """The paired difference of every metric from the reference; None for the reference, and without one."""
        reference = self.reference
        if reference is None or result is reference:
            return None
        return {metric: result.minus(reference, metric).to_json() for metric in self.metrics}

    def notes(self) -> list[str]:
        """What stands below the table: remarks on methods, and which figures are not new."""
        notes = [f"{result.label}: {result.remark}." for result in self.results if result.remark]
        if reused := [result.label for result in self.results if result.reused]:
            notes.append(f"Reused from an earlier comparison: {'; '.join(reused)} (--fresh measures again).")
        return notes


def _same_impressions(one: RankingMetrics, other: RankingMetrics) -> bool:
    return np.array_equal(one.impression, other.impression) and np.array_equal(one.reader, other.reader)
