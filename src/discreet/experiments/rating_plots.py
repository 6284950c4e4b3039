"""Plots of what vendors gain: RMSE against ε, the gap closed, the long tail, and each vendor's gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.evaluation.uncertainty import Estimate
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
from discreet.experiments.rating_results import BUCKETS, VendorComparison
from discreet.experiments.vendor_gains import Measured, VendorGains, label_of, mean_over_vendors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_TICKS = 10

Result = TypeVar("Result", bound=Measured)
Draw = Callable[["Axes"], list[LineEnd]]
"""Draws into axes, and says where lines end."""


def plots(comparison: VendorComparison) -> dict[str, str]:
    """The plots that make sense for the comparison, by name, each an SVG that can stand in a page."""
    drawn = gain_plots(comparison, f"RMSE on {comparison.ratings}, {comparison.vendors} vendors")
    tail = {"tail": _drawn(lambda axes: _tail(axes, comparison), "tail", len(_by_method(comparison.results)) + 2)}
    return {**{name: drawn.pop(name) for name in list(drawn) if name != "gains"}, **tail, **drawn}


def gain_plots(comparison: VendorGains, axis: str) -> dict[str, str]:
    """The figure and the gap closed against ε, where a method has one, and each vendor's gain."""
    drawn: dict[str, Draw] = {"gains": lambda axes: _gains(axes, comparison)}
    if _series(comparison):
        closed: dict[str, Draw] = {"gap": lambda axes: _gap(axes, comparison)}
        drawn = {
            comparison.metric.lower(): lambda axes: _figure(axes, comparison, axis),
            **(closed if comparison.gap_closed(comparison.alone) is not None else {}),
            **drawn,
        }
    rows = {"gains": len(comparison.measurements)}
    return {name: _drawn(draw, name, rows.get(name, len(_series(comparison)) + 2)) for name, draw in drawn.items()}


def line_plot(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], across: str, up: str, name: str, *, log: bool = False
) -> str:
    """Lines of (label, x, y) as an SVG; an x of infinity stands at the right end.

    Where few x are drawn, each has its tick.
    """
    with drawing(7.6, height_for(len(lines))) as figure:
        axes, ends = figure.add_subplot(), []
        for place, (label, x, y) in enumerate(lines):
            color, marker = look(place)
            places = [_place(each) for each in x]
            axes.plot(places, y, f"{marker}-", color=color, markersize=5, linewidth=1.4)
            ends.append(LineEnd(label, color, *max(zip(y, places, strict=True), key=lambda end: end[1])))
        if log:
            axes.set_xscale("log")
            axes.minorticks_off()
        ticks = sorted({value for _, x, _ in lines for value in x})
        if log or len(ticks) <= _FEW_TICKS:
            axes.set_xticks(
                [_place(tick) for tick in ticks], ["∞" if math.isinf(tick) else f"{tick:g}" for tick in ticks]
            )
        axes.set(xlabel=across, ylabel=up)
        _grid(axes)
        label_lines(axes, ends)
        return svg_of(figure, name)


def _drawn(draw: Draw, name: str, names: int) -> str:
    with drawing(7.6, height_for(names)) as figure:
        axes = figure.add_subplot()
        label_lines(axes, draw(axes))
        return svg_of(figure, name)


def _figure(axes: Axes, comparison: VendorGains, axis: str) -> list[LineEnd]:
    ends = []
    for place, (name, points) in enumerate(_series(comparison).items()):
        means = [mean_over_vendors(result.figure).mean for result in points]
        x = [_place(result.epsilon) for result in points]
        whiskers = [whisker(comparison.gain(result).se) for result in points]
        color, marker = look(place)
        axes.errorbar(x, means, yerr=whiskers, fmt=f"{marker}-", color=color, markersize=6, linewidth=1.4, capsize=3)
        ends.append(LineEnd(name, color, means[-1], x[-1]))
    for result in comparison.measurements:
        if result.method in ("local", "full"):
            level = mean_over_vendors(result.figure).mean
            axes.axhline(level, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
            ends.append(LineEnd(result.method, FAINT, level))
    _epsilon_axis(axes, comparison)
    axes.set_ylabel(axis)
    return ends


def _gap(axes: Axes, comparison: VendorGains) -> list[LineEnd]:
    ends = []
    for place, (name, points) in enumerate(_series(comparison).items()):
        closed = np.maximum([100 * (comparison.gap_closed(result) or 0.0) for result in points], -100)
        x, (color, marker) = [_place(result.epsilon) for result in points], look(place)
        axes.plot(x, closed, f"{marker}-", color=color, markersize=6, linewidth=1.4)
        ends.append(LineEnd(name, color, float(closed[-1]), x[-1]))
    axes.axhline(0, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    _epsilon_axis(axes, comparison)
    axes.set_ylabel("gap between local and full closed, % (cut at −100)")
    return ends


def _tail(axes: Axes, comparison: VendorComparison) -> list[LineEnd]:
    shown = [result for result in comparison.results if result.method in ("local", "full")]
    shown += [
        max(points, key=lambda result: _place(result.epsilon)) for points in _by_method(comparison.results).values()
    ]
    ends = []
    for place, result in enumerate(shown):
        (color, marker), errors = look(place), result.tail()
        axes.plot(range(len(BUCKETS)), errors, f"{marker}-", color=color, markersize=5)
        last = int(np.flatnonzero(np.isfinite(errors))[-1])
        ends.append(LineEnd(result.label, color, float(errors[last]), last))
    share = comparison.local.tested.sum(axis=(0, 1, 2)) / comparison.local.tested.sum()
    ticks = [f"{bucket}\n({part:.0%})" for bucket, part in zip(BUCKETS, share, strict=True)]
    axes.set_xticks(range(len(BUCKETS)), ticks)
    axes.set(xlabel="the vendor's own training ratings of the item (share of what is tested)", ylabel="RMSE")
    _grid(axes)
    return ends


def _gains(axes: Axes, comparison: VendorGains) -> list[LineEnd]:
    shown = [result for result in comparison.measurements if result is not comparison.alone]
    for place, result in enumerate(shown):
        gains = comparison.gains(result).ravel()
        spread = np.linspace(-0.22, 0.22, len(gains)) if len(gains) > 1 else np.zeros(1)
        color = FAINT if result.guarantee is None else SERIES[0]
        axes.plot(np.sort(gains), place + spread, "o", color=color, markersize=3.5)
    axes.axvline(0, color=FAINT, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    axes.set_yticks(range(len(shown)), [label_of(result) for result in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xlabel(f"gain in {comparison.metric} over being alone, a dot for each vendor (logarithmic beyond ±0.01)")
    _grid(axes)
    return []


def _series(comparison: VendorGains) -> dict[str, list[Measured]]:
    """Results of methods that were given an ε, by method, ε rising."""
    return _by_method(comparison.measurements)


def _by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    series: dict[str, list[Result]] = {}
    for result in sorted((r for r in results if r.epsilon is not None), key=lambda r: r.epsilon or 0.0):
        series.setdefault(result.method, []).append(result)
    order = list(dict.fromkeys(result.method for result in results))
    return {name: series[name] for name in order if name in series}


def _place(epsilon: float | None) -> float:
    """Where an ε stands on the axis; no noise stands at 1,000."""
    return 1000.0 if epsilon is None or math.isinf(epsilon) else epsilon


def _epsilon_axis(axes: Axes, comparison: VendorGains) -> None:
    ticks = sorted({_place(result.epsilon) for points in _series(comparison).values() for result in points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, ["∞" if tick == _place(None) else f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("ε asked for (what it protects is in the table)")
    _grid(axes)


def _grid(axes: Axes) -> None:
    axes.grid(color=FAINT, linewidth=0.5, alpha=0.4)
    axes.set_axisbelow(True)


def dot_plot(dots: Sequence[tuple[str, Estimate, float | None]], across: str, name: str) -> str:
    """Dots of (label, ours, reported) as an SVG: ours with two standard errors, hollow what is reported."""
    with drawing(6.8, 1.2 + 0.4 * len(dots)) as figure:
        axes = figure.add_subplot()
        for place, (_, ours, reported) in enumerate(dots):
            axes.errorbar(ours.mean, place, xerr=whisker(ours.se), fmt="o", color=SERIES[0], linewidth=1.2)
            if reported is not None:
                axes.plot(reported, place, "s", markerfacecolor="none", markeredgecolor=SERIES[1], zorder=4)
        spread = any(whisker(ours.se) for _, ours, _ in dots)
        axes.plot([], [], "o", color=SERIES[0], label="ours, ± 2 standard errors" if spread else "ours")
        if any(reported is not None for _, _, reported in dots):
            axes.plot([], [], "s", markerfacecolor="none", markeredgecolor=SERIES[1], label="reported")
        axes.set_yticks(range(len(dots)), [label for label, _, _ in dots])
        axes.set_ylim(len(dots) - 0.4, -0.6)
        axes.set_xlabel(across)
        _grid(axes)
        figure.legend(loc="outside upper left", ncols=2, fontsize=9)
        return svg_of(figure, name)
