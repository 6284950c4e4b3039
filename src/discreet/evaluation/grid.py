"""A table for terminals of any width: no word is broken, and no digit is lost.

Where there is room, each row is a line. Where there is less, cells break between words; where that is not enough,
each row becomes a small list of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 2


@dataclass
class Grid:
    """Rows of cells under headings; the first `left` columns are words, the others figures."""

    headings: Sequence[str]
    left: int = 1
    title: str = ""
    below: str = ""
    rows: list[list[Text]] = field(default_factory=list)

    def add(self, *cells: str | Text) -> None:
        """Add a row."""
        self.rows.append([cell if isinstance(cell, Text) else Text(cell) for cell in cells])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths(options.max_width)
        if self.title:
            yield Text(self.title, style="italic")
        if widths is None:
            yield from self._lists()
        else:
            table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
            for place, (heading, width) in enumerate(zip(self.headings, widths, strict=True)):
                table.add_column(Text(heading), width=width, justify="left" if place < self.left else "right")
            for row in self.rows:
                table.add_row(*row)
            yield table
        if self.below:
            yield Text(self.below, style="dim")

    def _widths(self, room: int) -> list[int] | None:
        """How wide each column is: as its longest cell where that fits, never below its longest word."""
        columns = [[heading, *(row[place].plain for row in self.rows)] for place, heading in enumerate(self.headings)]
        longest = [max(_width(line) for cell in cells for line in cell.split("\n")) for cells in columns]
        least = [max(_width(word) for cell in cells for word in cell.split() or [""]) for cells in columns]
        spare = room - sum(least) - _GAP * (len(columns) - 1)
        if spare < 0:
            return None
        for place, wanted in enumerate(longest):
            more = min(spare, wanted - least[place])
            least[place], spare = least[place] + more, spare - more
        return least

    def _lists(self) -> RenderResult:
        for row in self.rows:
            yield Text.assemble(row[0], style="bold")
            for heading, cell in zip(self.headings[1:], row[1:], strict=True):
                if cell.plain:
                    yield Text.assemble(f"  {heading}: " if heading else "  ", cell)


def _width(text: str) -> int:
    return Text(text).cell_len
