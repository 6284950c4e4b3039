"""A result as a table: for a terminal, a notebook, a frame, and as csv, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.protocol.infinity import from_plain

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("csv", "md", "tex")
_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "ε": r"$\varepsilon$", "∞": r"$\infty$"}
_LATEX |= {"−": "$-$", "▲": r"$\uparrow$", "▼": r"$\downarrow$", "–": "--", "δ": r"$\delta$"}


def check_format(name: str | None) -> None:
    """Refuse a format that there is not, before anything is computed; None asks for none."""
    if name is not None and name not in FORMATS:
        raise DiscreetError(f"there is no format '{name}'; there are {', '.join(FORMATS)}")


class Tabular(ABC):
    """What has rows: numbers for programs (`records`), and words for people (`cells`)."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows with plain values; all have the same columns."""

    @abstractmethod
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Column titles and rows as people read them."""

    def footnotes(self) -> list[str]:
        """What a reader of the table must know."""
        return []

    def to_frame(self) -> pl.DataFrame:
        """The records as a polars frame (`.to_pandas()` makes a pandas one)."""
        import polars as pl

        return pl.DataFrame(self.records(), infer_schema_length=None)

    def to_csv(self) -> str:
        """The records as csv, infinity as inf."""
        records = self.records()
        text = io.StringIO()
        writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_markdown(self) -> str:
        """The table in Markdown."""
        titles, rows = self.cells()
        lines = [markdown_line(titles), markdown_line(["---"] * len(titles)), *map(markdown_line, rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.footnotes())])

    def to_latex(self) -> str:
        """The table in LaTeX, for the package booktabs."""
        titles, rows = self.cells()
        body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        columns = "l" * len(titles)
        head = " & ".join(map(_latex, titles)) + r" \\"
        notes = [f"% {note}" for note in self.footnotes()]
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
        return "\n".join([*notes, *lines, r"\end{tabular}"])

    def formatted(self, name: str) -> str:
        """The table in one of `FORMATS`."""
        makers = {"csv": self.to_csv, "md": self.to_markdown, "tex": self.to_latex}
        check_format(name)
        return makers[name]().rstrip("\n")

    def __repr__(self) -> str:
        titles, rows = self.cells()
        widths = [max(len(row[place]) for row in [titles, *rows]) for place in range(len(titles))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [titles, *rows]
        ]
        return "\n".join(line.rstrip() for line in [*lines, *self.footnotes()])

    def _repr_html_(self) -> str:
        titles, rows = self.cells()
        head = "".join(f"<th>{escape(title)}</th>" for title in titles)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.footnotes())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def plain(value: float | None) -> float | None:
    """A number for a record: not a number is nothing."""
    return None if value is None or math.isnan(value) else float(value)


def guarantee_columns(guarantee: Mapping[str, Any] | None) -> dict[str, Any]:
    """What every row says of its promise, from a guarantee's JSON."""
    names = ("epsilon", "delta", "unit", "adjacency", "adversary", "scope", "status")
    found = guarantee or {}
    values = {f"guarantee_{name}": found.get(name) for name in names}
    return {name: from_plain(value) for name, value in values.items()}


def markdown_line(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)
