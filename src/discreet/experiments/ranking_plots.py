"""Plots of a comparison. The same comparison always gives the same bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.experiments.drawing import (
    FAINT,
    SERIES,
    LineEnd,
    drawing,
    height_for,
    label_lines,
    look,
    svg_of,
    whisker,
)
from discreet.experiments.ranking_results import Comparison, MethodResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def auc_plot_svg(comparison: Comparison, name: str = "auc") -> str:
    """A dot with a whisker of two standard errors for each method's AUC, as an SVG that can stand in a page."""
    with drawing(6.8, 1.0 + 0.34 * len(comparison.results)) as figure:
        _draw_auc(figure, comparison)
        return svg_of(figure, name)


def epsilon_plot_svg(comparison: Comparison, name: str = "epsilon") -> str | None:
    """AUC against the lifetime ε that holds, or None unless some method was run at several ε.

    A claim that fails is drawn hollow at the claimed ε and tied to the place where it truly stands. Methods without an
    ε are level lines.
    """
    if not any(len(points) > 1 for points in _series(comparison).values()):
        return None
    names = len(_series(comparison)) + sum(result.epsilon is None for result in comparison.results)
    with drawing(7.6, height_for(names)) as figure:
        _draw_epsilon(figure, comparison)
        return svg_of(figure, name)


def _draw_auc(figure: Figure, comparison: Comparison) -> None:
    axes = figure.add_subplot()
    results = comparison.results
    reference = comparison.reference
    if reference is not None:
        axes.axvline(reference.estimate("auc").mean, color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for place, result in enumerate(results):
        auc = result.estimate("auc")
        color = FAINT if result.baseline else SERIES[0]
        axes.errorbar(
            auc.mean, place, xerr=whisker(auc.se), fmt="o", color=color, markersize=6, elinewidth=1.6, capsize=3
        )
    axes.set_yticks(range(len(results)), [result.label for result in results])
    axes.set_ylim(len(results) - 0.4, -0.6)
    axes.set_xlabel(f"AUC on {comparison.dataset}, {comparison.split} (whiskers: two standard errors)")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.5, alpha=0.4)
    axes.set_axisbelow(True)


def _draw_epsilon(figure: Figure, comparison: Comparison) -> None:
    axes = figure.add_subplot()
    series = _series(comparison)
    finite = [e for points in series.values() for r in points for e in _epsilons(r) if 0 < e < math.inf] or [1.0]
    infinity = max(finite) * 10 ** max(0.5, 0.15 * math.log10(max(finite) / min(finite)))
    ends: list[LineEnd] = []
    for place, (name, points) in enumerate(series.items()):
        color, marker = look(place)
        line = [(min(result.lifetime_epsilon, infinity), result) for result in points]
        line.sort(key=lambda point: (point[0], point[1].epsilon or 0))
        means = [result.estimate("auc").mean for _, result in line]
        axes.errorbar(
            [x for x, _ in line],
            means,
            yerr=[whisker(result.estimate("auc").se) for _, result in line],
            fmt=f"{marker}-",
            color=color,
            markersize=6,
            linewidth=1.4,
            capsize=3,
        )
        ends.append(LineEnd(name, color, means[-1], line[-1][0]))
        for (x, result), mean in zip(line, means, strict=True):
            _draw_failed_claim(axes, result, x, mean, color, marker)
    for result in comparison.results:
        if result.epsilon is None:
            mean = result.estimate("auc").mean
            axes.axhline(mean, color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            ends.append(LineEnd(result.label, FAINT, mean))
    _label_epsilon_axis(axes, min(finite), max(finite), infinity)
    axes.set_ylabel(f"AUC on {comparison.dataset}, {comparison.split}")
    label_lines(axes, ends)


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
        ticks = sorted({float(f"{epsilon:.3g}") for epsilon in (smallest, largest)})
    axes.xaxis.set_major_locator(FixedLocator([*ticks, infinity]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([*(f"{t:g}" for t in ticks), "∞"])
    axes.set_xlim(smallest / 1.6, infinity * 1.6)
    axes.set_xlabel("ε that holds over a reader's lifetime (hollow: a published claim that does not hold)")
    axes.grid(color=FAINT, linewidth=0.5, alpha=0.4)
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
