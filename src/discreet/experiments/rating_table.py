"""A comparison of vendors' ratings as a table, in Markdown, for the terminal and for the report."""

from __future__ import annotations

from discreet.evaluation.grid import Grid
from discreet.experiments.ranking_table import figure, in_words
from discreet.experiments.rating_results import BUCKETS, VendorComparison, VendorResult
from discreet.experiments.report import Page
from discreet.experiments.vendor_gains import Measured, mean_over_vendors
from discreet.privacy.guarantee import shown_epsilon
from discreet.tabular import markdown_line

HEADINGS = ("Method", "ε", "Protects", "RMSE", "Gain over local", "Gap closed", "Vendors gaining")
CAPTIONS = {
    "rmse": "RMSE against ε. Whiskers are two standard errors of the paired gain over local, not of the RMSE itself.",
    "ndcg": "nDCG against ε. Whiskers are two standard errors of the paired gain over local, not of the nDCG itself.",
    "gap": "The share of the gap between local and full that is closed; below 0 a vendor is better off alone.",
    "tail": "RMSE by how many ratings of the item the vendor itself has; each private method at its largest ε.",
    "gains": "What each vendor gains. Grey: without any privacy.",
}


def rows(comparison: VendorComparison) -> list[list[str]]:
    """The table's content, method by method."""
    return [_row(comparison, result) for result in comparison.results]


def rich_table(comparison: VendorComparison) -> Grid:
    """The table for the terminal."""
    table = Grid(HEADINGS, left=3, title=f"{comparison.ratings}, {comparison.vendors} vendors")
    for row in rows(comparison):
        table.add(*map(figure, row))
    return table


def markdown_table(comparison: VendorComparison) -> str:
    """The table in Markdown, with how it was measured, what was refused, and the verdict."""
    lines = [
        markdown_line(HEADINGS),
        markdown_line(["---"] * 3 + ["---:"] * 4),
        *(markdown_line(row) for row in rows(comparison)),
    ]
    refused = [
        f"- Refused: {each.method}, ε {shown_epsilon(each.epsilon)}: {each.reason}" for each in comparison.refused
    ]
    return "\n".join(
        [
            *lines,
            "",
            f"{comparison.legend()} {comparison.reuse()}".rstrip(),
            "",
            *refused,
            *(["", *comparison.verdict()]),
        ]
    )


def page(comparison: VendorComparison, plots: dict[str, str]) -> Page:
    """What the report shows."""
    values = {
        "name": comparison.ratings,
        "verdict": comparison.verdict(),
        "headings": HEADINGS,
        "rows": rows(comparison),
        "legend": f"{comparison.legend()} {comparison.reuse()}",
        "buckets": BUCKETS,
        "tails": [(result.label, [_number(value) for value in result.tail()]) for result in comparison.results],
        "promises": [(result.label, promise(result)) for result in comparison.results],
        "refused": [(f"{each.method}, ε {shown_epsilon(each.epsilon)}", each.reason) for each in comparison.refused],
        "plots": [(name, plot, CAPTIONS[name]) for name, plot in plots.items()],
    }
    return Page("rating.html", values)


def _row(comparison: VendorComparison, result: VendorResult) -> list[str]:
    closed = comparison.gap_closed(result)
    alone = result is comparison.local
    gain = comparison.gain(result)
    mark = {1: " ▲", 0: "", -1: " ▼"}[comparison.clearly(result)]
    guarantee = result.guarantee
    return [
        result.method,
        "–" if result.epsilon is None else shown_epsilon(result.epsilon),
        "–" if guarantee is None else str(guarantee.unit),
        str(mean_over_vendors(result.rmse)),
        "–" if alone else f"{gain}{mark}",
        "–" if alone or closed is None else f"{closed:.1%}",
        "–" if alone else f"{comparison.gaining(result):.3g} of {comparison.measured}",
    ]


def promise(result: Measured) -> str:
    """What a method promises the users of other vendors, in words."""
    if result.method in ("local", "popularity", "ease", "ials"):
        return "Nothing leaves the vendor."
    if result.guarantee is None:
        return "None: data, or exact averages of them, are pooled. It says how good sharing could be, not how to share."
    return in_words(result.guarantee).replace("one reader", "one user")


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.4f}"
