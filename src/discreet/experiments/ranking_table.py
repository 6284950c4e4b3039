"""The comparison as a table, in Markdown and for the terminal; the HTML report lays out the same rows.

The best mean of each column is bold. A difference to the best baseline that lies beyond two standard errors has a
mark: ▲ above, ▼ below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rich.text import Text

from discreet.evaluation.grid import Grid
from discreet.evaluation.metrics import METRICS
from discreet.evaluation.uncertainty import Difference
from discreet.experiments.ranking_results import Comparison, MethodResult
from discreet.experiments.report import Page
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Unit, shown_epsilon
from discreet.progress import counted
from discreet.tabular import markdown_line

METRIC_TITLES = {
    "auc": "AUC",
    "mrr": "MRR",
    "ndcg@5": "nDCG@5",
    "ndcg@10": "nDCG@10",
    "diversity@5": "Diversity@5",
    "coverage@5": "Coverage@5",
    "lift@5": "Popularity lift@5",
}


@dataclass(frozen=True)
class Cell:
    """A piece of a table, and whether it is the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class TableRow:
    """A method's line in every form of the table."""

    method: str
    model: str
    epsilon: str
    estimates: list[Cell]
    difference: str
    guarantee: str


def rows(comparison: Comparison) -> list[TableRow]:
    """The table's content, method by method."""
    estimates = [{metric: result.estimate(metric) for metric in comparison.metrics} for result in comparison.results]
    best = {metric: max(row[metric].mean for row in estimates) for metric in METRICS}
    reference = comparison.reference
    return [
        TableRow(
            method=result.title,
            model=result.model or "–",
            epsilon=_true_epsilon(result),
            estimates=[Cell(str(row[metric]), row[metric].mean == best.get(metric)) for metric in comparison.metrics],
            difference="" if reference is None else _difference(result, reference),
            guarantee=in_words(result.guarantee),
        )
        for result, row in zip(comparison.results, estimates, strict=True)
    ]


def headings(comparison: Comparison) -> list[str]:
    """The table's column titles."""
    reference = comparison.reference
    ending = [] if reference is None else [f"AUC − {reference.label}"]
    return ["Method", "Model", "ε", *(METRIC_TITLES[metric] for metric in comparison.metrics), *ending]


def markdown_table(comparison: Comparison) -> str:
    """The table in GitHub's Markdown, with a line below it on what the figures are."""
    titles = headings(comparison)
    lines = [markdown_line(titles), markdown_line(["---"] * 3 + ["---:"] * (len(titles) - 3))]
    for row in rows(comparison):
        estimates = [f"**{cell.text}**" if cell.best else cell.text for cell in row.estimates]
        lines.append(markdown_line([row.method, row.model, row.epsilon, *estimates, row.difference][: len(titles)]))
    return "\n".join([*lines, "", legend(comparison), *(f"\n{note}" for note in comparison.notes())])


def rich_table(comparison: Comparison) -> Grid:
    """The table for the terminal."""
    titles = headings(comparison)
    title = f"{comparison.dataset}, {comparison.split}"
    table = Grid(titles, left=3, title=title, below="\n".join([legend(comparison), *comparison.notes()]))
    for row in rows(comparison):
        figures: list[str | Text] = [Text(figure(cell.text), "bold" if cell.best else "") for cell in row.estimates]
        table.add(row.method, row.model, row.epsilon, *[*figures, figure(row.difference)][: len(titles) - 3])
    return table


def page(comparison: Comparison, plots: dict[str, str]) -> Page:
    """What the report shows; the difference, which decides, stands beside the AUC."""
    titles = headings(comparison)
    values = {
        "reference": comparison.reference,
        "headings": [*titles[:4], *titles[3 + len(comparison.metrics) :], *titles[4 : 3 + len(comparison.metrics)]],
        "rows": rows(comparison),
        "labels": [result.label for result in comparison.results],
        "legend": legend(comparison),
        "notes": comparison.notes(),
        "summary": _summary(comparison),
        "auc_plot": plots["auc"],
        "epsilon_plot": plots.get("epsilon"),
    }
    return Page("ranking.html", values)


def _summary(comparison: Comparison) -> str:
    """The best method, and whether it is truly better than the best baseline, in a sentence."""
    best = max(comparison.results, key=lambda result: result.estimate("auc").mean)
    sentence = f"The best AUC is {best.estimate('auc')}, by {best.label}"
    reference = comparison.reference
    if reference is None:
        return sentence + "."
    if best is reference:
        return sentence + (", a baseline: no other method is better." if reference.baseline else ".")
    difference = best.minus(reference, "auc")
    verdict = "more than" if difference.z > 2 else "which is not beyond"
    whose = ", the best baseline," if reference.baseline and not comparison.compared_with else ","
    return f"{sentence}: {difference} against {reference.label}{whose} {verdict} two standard errors."


def figure(text: str) -> str:
    """A figure for the terminal: it may be broken before its ± and nowhere else."""
    return text.replace(" ± ", " ±").replace(" ▲", "▲").replace(" ▼", "▼")


def legend(comparison: Comparison) -> str:
    """What the figures are means of, and what the signs mean."""
    measured = comparison.impressions
    left_out = f" ({measured.left_out:,} without both a click and a non-click left out)" if measured.left_out else ""
    marks = "; ▲▼ paired difference beyond two standard errors" if comparison.reference else ""
    return f"Mean ± standard error by reader over {counted(len(measured), 'impression')}{left_out}{marks}."


def in_words(guarantee: Guarantee | None) -> str:
    """What a method promises its readers, as a sentence that says what ε bounds."""
    if guarantee is None:
        return "No promise is made about what this method learns of a reader."
    change, where = _change(guarantee), _where(guarantee)
    if math.isinf(guarantee.epsilon):
        truth = f"nothing bounds how much {change} changes {where} (ε = ∞)"
    else:
        delta = f", plus δ = {guarantee.delta:.2g}" if guarantee.delta else ""
        factor = f" ≈ {math.exp(guarantee.epsilon):.3g}" if guarantee.epsilon < 10 else ""
        truth = (
            f"{change} changes the probability of {where} by at most a factor of"
            f" e^{shown_epsilon(guarantee.epsilon)}{factor}{delta}"
        )
    made_by = f"({guarantee.mechanism}, version {guarantee.version})"
    if guarantee.claimed_epsilon is not None:
        opening = f"The published claim of ε = {shown_epsilon(guarantee.claimed_epsilon)} does not hold. What holds"
    else:
        opening = "Unprotected" if math.isinf(guarantee.epsilon) else "Proved"
    return f"{opening}: {truth} {made_by}."


def _change(guarantee: Guarantee) -> str:
    thing = "reader" if guarantee.unit is Unit.USER else str(guarantee.unit)
    if guarantee.adjacency is Adjacency.SUBSTITUTE:
        return f"replacing any one {thing} by another"
    if guarantee.adjacency is Adjacency.ZERO_OUT:
        return f"counting all that any one {thing} gives as zero"
    return f"adding or removing any one {thing}"


def _where(guarantee: Guarantee) -> str:
    sees = {
        Adversary.SERVER: "the server sees",
        Adversary.OTHER_VENDORS: "the other vendors see",
        Adversary.OTHER_VENDORS_AND_AGGREGATOR: "the other vendors and one aggregator see",
        Adversary.BOTH_AGGREGATORS: "two aggregators together see",
        Adversary.OUTSIDER: "an outsider sees",
        Adversary.BLIND_SERVER: "a server that does not know who takes part sees",
        Adversary.PUBLISHER_AND_AGGREGATOR: "the publisher and one aggregator see",
    }[guarantee.adversary]
    when = {
        Scope.LIFETIME: "over a whole lifetime",
        Scope.ROUND: "in one round",
        Scope.RELEASE: "in one release",
        Scope.WINDOW: "in one window",
        Scope.DAY: "in one day",
    }[guarantee.scope]
    return f"whatever {sees} {when}"


def _true_epsilon(result: MethodResult) -> str:
    guarantee = result.guarantee
    if guarantee is None:
        return "–" if result.epsilon is None else shown_epsilon(result.lifetime_epsilon)
    scope = "" if guarantee.scope is Scope.LIFETIME else f" {guarantee.scope}"
    claim = "" if guarantee.claimed_epsilon is None else f" (claimed {shown_epsilon(guarantee.claimed_epsilon)})"
    return f"{shown_epsilon(guarantee.epsilon)}{scope}{claim}"


def _difference(result: MethodResult, reference: MethodResult) -> str:
    if result is reference:
        return "–"
    difference = result.minus(reference, "auc")
    return f"{difference} {_mark(difference)}".rstrip()


def _mark(difference: Difference) -> str:
    return "▲" if difference.z > 2 else "▼" if difference.z < -2 else ""
