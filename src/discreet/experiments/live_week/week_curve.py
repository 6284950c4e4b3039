"""Views with a click by day of a played week, as sums told it: a line for each way to rank, with one standard error."""

from __future__ import annotations

from discreet.experiments.drawing import FAINT, MARKERS, SERIES, drawing, svg_of
from discreet.experiments.live_week.played_week import PlayedWeek, arm_name


def week_curve_svg(week: PlayedWeek, name: str = "week") -> str:
    """The curve, as an SVG that can stand in a page; a click counts among the first ten of a view."""
    with drawing(6.0, 3.2) as figure:
        axes = figure.add_subplot()
        for number, arm in enumerate(one.arm for one in week.arms):
            shares = [(day.number, one.clicks) for day in week.days for one in day.arms if one.arm == arm]
            drawn = [(day, share.mean, share.se or 0.0) for day, share in shares if share.mean is not None]
            axes.errorbar(
                [day for day, _, _ in drawn],
                [mean for _, mean, _ in drawn],
                yerr=[se for _, _, se in drawn],
                fmt=f"{MARKERS[number]}-",
                color=SERIES[number],
                markersize=5,
                linewidth=1.4,
                capsize=3,
                label={"public": "public weights", "learnt": "with what sums taught"}[arm_name(arm)],
            )
        axes.set_xlabel("day")
        axes.set_ylabel("views with a click among the first ten")
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(1, len(week.days) + 1))
        axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.4)
        axes.legend(fontsize=9)
        return svg_of(figure, name)
