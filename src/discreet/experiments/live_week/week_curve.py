"""The quality of a played week by day, as sums told it: a line for each way to rank, with one standard error."""

from __future__ import annotations

from discreet.experiments.drawing import FAINT, MARKERS, SERIES, drawing, svg_of
from discreet.experiments.live_week.played_week import PlayedWeek, arm_name
from discreet.serving.learning.quality_estimates import Quality

_METRICS = (("clicks", "views with a click"), ("auc", "AUC of what was shown"))


def week_curve_svg(week: PlayedWeek, name: str = "week") -> str:
    """The curves, as an SVG that can stand in a page; a click counts among the first ten of a view."""
    with drawing(6.8, 2.9) as figure:
        for place, (metric, label) in enumerate(_METRICS, start=1):
            axes = figure.add_subplot(1, len(_METRICS), place)
            for number, arm in enumerate(one.arm for one in week.arms):
                known = [(day.number, found) for day in week.days for found in _known(day.arms, arm, metric)]
                axes.errorbar(
                    [day for day, _ in known],
                    [mean for _, (mean, _) in known],
                    yerr=[se for _, (_, se) in known],
                    fmt=f"{MARKERS[number]}-",
                    color=SERIES[number],
                    markersize=5,
                    linewidth=1.4,
                    capsize=3,
                    label=arm_name(arm),
                )
            axes.set_xlabel("day")
            axes.set_ylabel(label)
            axes.set_xticks(range(1, len(week.days) + 1))
            axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.4)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize=9)
        return svg_of(figure, name)


def _known(arms: tuple[Quality, ...], arm: str, metric: str) -> list[tuple[float, float]]:
    """Mean and standard error of an arm on a day, if the day's sums tell it."""
    estimates = [getattr(one, metric) for one in arms if one.arm == arm]
    return [(one.mean, one.se) for one in estimates if one.mean is not None]
