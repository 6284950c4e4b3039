"""How plots look, on a light and on a dark page alike.

Lines and letters are drawn in marker colours, which the SVG then replaces by CSS variables with both schemes' values.
The same drawing always gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each colour as drawn (and on light paper), with its counterpart on dark. They differ also without colour vision.
INK, FAINT = "#1b1f24", "#9aa1a9"
SERIES = ("#0b6bcb", "#c2410c", "#12805c", "#8a3ffc", "#a3620a", "#c0256e")
_ON_DARK = {
    INK: "#e8eaed",
    FAINT: "#7c848d",
    **dict(zip(SERIES, ("#62b0ff", "#ff9460", "#4fd1a1", "#c4a1ff", "#e6b450", "#ff8ac0"), strict=True)),
}
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


def whisker(se: float) -> float:
    """Two standard errors, none where they are unknown."""
    return 0.0 if math.isnan(se) else 2 * se


def svg_of(figure: Figure, name: str) -> str:
    """The figure as an SVG element, its colours CSS variables, its ids unique to `name`."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    for drawn in _ON_DARK:
        svg = svg.replace(drawn, f"var({_variable(drawn)}, {drawn})")
    return svg


def _variable(color: str) -> str:
    return f"--plot-{color[1:]}"


def color_scheme_css() -> str:
    """The style rules that give the plots' colours their values on light and on dark paper."""
    light = "".join(f"{_variable(c)}:{c};" for c in _ON_DARK)
    dark = "".join(f"{_variable(c)}:{on_dark};" for c, on_dark in _ON_DARK.items())
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def standalone(svg: str) -> str:
    """The SVG as a file of its own."""
    head = svg.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg[:head]}\n<style>{color_scheme_css()}</style>{svg[head:]}'
