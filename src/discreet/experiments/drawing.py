"""How plots look, on a light and on a dark page alike. The same drawing always gives the same bytes.

An SVG has the colours of light paper written out, which every program shows; style rules for a dark page stand beside
them, for programs that know what a dark page is.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Each colour on light paper, with its counterpart on dark. They differ also without colour vision.
INK, FAINT = "#1b1f24", "#9aa1a9"
SERIES = ("#0b6bcb", "#c2410c", "#12805c", "#8a3ffc", "#a3620a", "#c0256e")
_ON_DARK = {
    INK: "#e8eaed",
    FAINT: "#7c848d",
    **dict(zip(SERIES, ("#62b0ff", "#ff9460", "#4fd1a1", "#c4a1ff", "#e6b450", "#ff8ac0"), strict=True)),
}
_DARK_PAPER = "#14171a"
MARKERS = "osD^vP"
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "discreet",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}
_LABEL_INCHES = 0.17
"""The height of a name beside a plot."""
_OUTSIDE_INCHES = 0.9
"""What is above and below the axes of a figure."""
_LETTERS_PER_INCH = 10
"""Of an axis title, at most; letters of most fonts are narrower."""


class LineEnd(NamedTuple):
    """Where a line ends, and its name. A level line has no x: it ends at the right of the axes."""

    name: str
    color: str
    y: float
    x: float | None = None


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A figure in the house style; the settings of matplotlib are restored afterwards."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _STYLE.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]  # names are plain strings here
        yield Figure(figsize=(width, height), layout="constrained")


def look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a line by its number; no two of the first 36 share both."""
    colors, markers = len(SERIES), len(MARKERS)
    return SERIES[number % colors], MARKERS[(number + number // colors) % markers]


def height_for(names: int, least: float = 4.2) -> float:
    """Return the inches that a plot needs for so many names, one below the other."""
    return max(least, _OUTSIDE_INCHES + _LABEL_INCHES * names)


def label_lines(axes: Axes, ends: Sequence[LineEnd]) -> None:
    """Write names to the right of the axes, near where their lines end, and tie each to its line.

    Call it when all else is drawn: the axes keep the limits that they have.
    """
    axes.set_xlim(axes.get_xlim())
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    inches = float(axes.get_figure(root=True).get_size_inches()[1]) - _OUTSIDE_INCHES  # type: ignore[union-attr]
    ends = sorted((end for end in ends if math.isfinite(end.y)), key=lambda end: (end.y, end.name))
    wanted = np.clip([(end.y - low) / (high - low) for end in ends], 0.0, 1.0)
    for end, place in zip(ends, spread_out(wanted, _LABEL_INCHES / inches), strict=True):
        axes.annotate(
            end.name,
            (1.0 if end.x is None else end.x, end.y),
            (1.04, place),
            xycoords=("axes fraction" if end.x is None else "data", "data"),
            textcoords="axes fraction",
            color=INK if end.color == FAINT else end.color,
            fontsize=8.5,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.color,
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )


def spread_out(wanted: Sequence[float] | np.ndarray[Any, Any], gap: float) -> list[float]:
    """Return places from 0 to 1, at least `gap` apart, as near as may be to rising wanted ones.

    Names that crowd form a block about the mean of what they want. Where there is no room for all, they share what is.
    """
    count = len(wanted)
    gap = min(gap, 1 / max(count - 1, 1))
    blocks: list[tuple[float, int]] = []  # the mean of (wanted - number * gap), and how many names
    for number, place in enumerate(wanted):
        mean, size = float(place) - number * gap, 1
        while blocks and blocks[-1][0] > mean:
            before, others = blocks.pop()
            mean, size = (mean * size + before * others) / (size + others), size + others
        blocks.append((mean, size))
    starts = [start for start, size in blocks for _ in range(size)]
    most = 1.0 - (count - 1) * gap
    return [min(max(start, 0.0), most) + number * gap for number, start in enumerate(starts)]


def wrap_titles(figure: Figure) -> None:
    """Break the titles of axes into lines that fit. They are centred on their axes, which names may push aside."""
    figure.draw_without_rendering()
    share = 1 / len(figure.axes)
    for axes in figure.axes:
        box, (width, height) = axes.get_position(), figure.get_size_inches()
        across, up = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        room = 2 * width * min(across, 1 - across, share / 2), 2 * height * min(up, 1 - up)
        lines = [max(10, int(inches * _LETTERS_PER_INCH)) for inches in room]
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), lines[0]))
        axes.set_ylabel(textwrap.fill(axes.get_ylabel(), lines[1]))


def whisker(se: float) -> float:
    """Two standard errors, none where they are unknown."""
    return 0.0 if math.isnan(se) else 2 * se


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an SVG element, its ids unique to `name`; the titles of its axes are broken where they are long."""
    wrap_titles(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)


def color_scheme_css(more: str = "") -> str:
    """The style rules that give plots other colours on a dark page, and `more` of such rules."""
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
        for light, dark in _ON_DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{rules}{more}}}"


def standalone(svg: str) -> str:
    """The SVG as a file of its own, which brings dark paper where a dark page is wanted."""
    head, css = svg.index(">") + 1, color_scheme_css(f"svg{{background:{_DARK_PAPER}}}")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg[:head]}\n<style>{css}</style>{svg[head:]}'
