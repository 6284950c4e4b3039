"""Plots of a comparison that fit a light and a dark page alike.

Lines and letters are drawn in marker colours, which the SVG then replaces by CSS variables with both schemes' values.
The same comparison always gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.evaluation.results import Comparison, MethodResult
from discreet.files import replacing_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Each colour as drawn (and on light paper), with its counterpart on dark. Told apart also without colour vision.
_INK, _FAINT = "#1b1f24", "#9aa1a9"
_SERIES = ("#0b6bcb", "#c2410c", "#12805c", "#8a3ffc", "#a3620a", "#c0256e")
_ON_DARK = {
    _INK: "#e8eaed",
    _FAINT: "#7c848d",
    **dict(zip(_SERIES, ("#62b0ff", "#ff9460", "#4fd1a1", "#c4a1ff", "#e6b450", "#ff8ac0"), strict=True)),
}
_MARKERS = "osD^vP"
_STYLE: dict[str, Any] = {
    "svg.hashsalt": "discreet",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _FAINT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
}


def auc_plot_svg(comparison: Comparison, name: str = "auc") -> str:
    """A dot with a whisker of two standard errors for each method's AUC, as an SVG that can stand in a page."""
    with _figure(6.8, 1.0 + 0.34 * len(comparison.results)) as figure:
        _draw_auc(figure, comparison)
        return _svg(figure, name)


def epsilon_plot_svg(comparison: Comparison, name: str = "epsilon") -> str | None:
    """AUC against the lifetime ε that holds, or None unless some method was run at several ε.

    A claim that fails is drawn hollow at the claimed ε and tied to the place where it truly stands. Methods without an
    ε are level lines.
    """
    if not any(len(points) > 1 for points in _series(comparison).values()):
        return None
    with _figure(6.8, 4.2) as figure:
        _draw_epsilon(figure, comparison)
        return _svg(figure, name)


def write_auc_plot(comparison: Comparison, path: Path) -> None:
    """Write the dot-and-whisker plot to a file that ends in `.svg` or `.png`."""
    if path.suffix not in (".svg", ".png"):
        raise DiscreetError(f"{path}: a plot's name must end in .svg or .png")
    with replacing_file(path) as draft:
        if path.suffix == ".svg":
            draft.write_text(_standalone(auc_plot_svg(comparison)), encoding="utf-8")
            return
        with _figure(6.8, 1.0 + 0.34 * len(comparison.results)) as figure:
            _draw_auc(figure, comparison)
            figure.savefig(draft, format="png", dpi=160, facecolor="white", metadata={"Software": None})


@contextmanager
def _figure(width: float, height: float) -> Iterator[Figure]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _STYLE.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]  # names are plain strings here
        yield Figure(figsize=(width, height), layout="constrained")


def _draw_auc(figure: Figure, comparison: Comparison) -> None:
    axes = figure.add_subplot()
    results = comparison.results
    reference = comparison.reference
    if reference is not None:
        axes.axvline(reference.estimate("auc").mean, color=_FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for place, result in enumerate(results):
        auc = result.estimate("auc")
        color = _FAINT if result.baseline else _SERIES[0]
        axes.errorbar(
            auc.mean, place, xerr=_whisker(auc.se), fmt="o", color=color, markersize=6, elinewidth=1.6, capsize=3
        )
    axes.set_yticks(range(len(results)), [result.label for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xlabel(f"AUC on {comparison.dataset}, {comparison.split} (whiskers: two standard errors)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_FAINT, linewidth=0.5, alpha=0.4)
    axes.set_axisbelow(True)


def _draw_epsilon(figure: Figure, comparison: Comparison) -> None:
    axes = figure.add_subplot()
    series = _series(comparison)
    finite = [e for points in series.values() for r in points for e in _epsilons(r) if 0 < e < math.inf] or [1.0]
    infinity = max(finite) * 10 ** max(0.5, 0.15 * math.log10(max(finite) / min(finite)))
    for place, (name, points) in enumerate(series.items()):
        color, marker = _SERIES[place % len(_SERIES)], _MARKERS[place % len(_MARKERS)]
        line = [(min(result.lifetime_epsilon, infinity), result) for result in points]
        line.sort(key=lambda point: (point[0], point[1].epsilon or 0))
        means = [result.estimate("auc").mean for _, result in line]
        axes.errorbar(
            [x for x, _ in line],
            means,
            yerr=[_whisker(result.estimate("auc").se) for _, result in line],
            fmt=f"{marker}-",
            color=color,
            markersize=6,
            linewidth=1.4,
            capsize=3,
            label=name,
        )
        for (x, result), mean in zip(line, means, strict=True):
            _draw_failed_claim(axes, result, x, mean, color, marker)
    for result in comparison.results:
        if result.epsilon is None:
            mean = result.estimate("auc").mean
            axes.axhline(mean, color=_FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            label = axes.annotate(result.label, (1, mean), xycoords=("axes fraction", "data"), color=_INK, fontsize=8)
            label.set(ha="right", va="bottom")
    _label_epsilon_axis(axes, min(finite), max(finite), infinity)
    axes.set_ylabel(f"AUC on {comparison.dataset}, {comparison.split}")
    figure.legend(loc="outside upper left", ncols=3, fontsize=9)


def _draw_failed_claim(axes: Axes, result: MethodResult, true: float, mean: float, color: str, marker: str) -> None:
    claimed = result.guarantee.claimed_epsilon if result.guarantee else None
    if claimed is None or not 0 < claimed < math.inf:
        return
    axes.plot([claimed, true], [mean, mean], color=color, linewidth=0.8, linestyle=":", zorder=1)
    axes.plot(claimed, mean, marker, markerfacecolor="none", markeredgecolor=color, markersize=6)


def _label_epsilon_axis(axes: Axes, smallest: float, largest: float, infinity: float) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    powers = [10.0**p for p in range(math.floor(math.log10(smallest)), math.ceil(math.log10(largest)) + 1)]
    ticks = [t for t in powers if smallest / 2 <= t <= min(largest * 2, infinity / 2)]
    if len(ticks) < 2:
        ticks = sorted({smallest, largest})
    axes.xaxis.set_major_locator(FixedLocator([*ticks, infinity]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([*(f"{t:g}" for t in ticks), "∞"])
    axes.set_xlim(smallest / 1.6, infinity * 1.6)
    axes.set_xlabel("ε that holds over a reader's lifetime (hollow: a published claim that does not hold)")
    axes.grid(color=_FAINT, linewidth=0.5, alpha=0.4)
    axes.set_axisbelow(True)


def _series(comparison: Comparison) -> dict[str, list[MethodResult]]:
    """Results of methods that were given an ε, by method and model."""
    series: dict[str, list[MethodResult]] = {}
    for result in comparison.results:
        if result.epsilon is not None:
            series.setdefault(result.method + (f" · {result.model}" if result.model else ""), []).append(result)
    return series


def _epsilons(result: MethodResult) -> list[float]:
    claimed = result.guarantee.claimed_epsilon if result.guarantee else None
    return [result.lifetime_epsilon, *([] if claimed is None else [claimed])]


def _whisker(se: float) -> float:
    return 0.0 if math.isnan(se) else 2 * se


def _svg(figure: Figure, name: str) -> str:
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


def _standalone(svg: str) -> str:
    head = svg.index(">") + 1
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg[:head]}\n<style>{color_scheme_css()}</style>{svg[head:]}'
