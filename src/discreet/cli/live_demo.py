"""The first part of `discreet demo`: a server, 300 devices that read for a week, and what sums tell of it."""

from __future__ import annotations

import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.options import say
from discreet.files import write_mark

if TYPE_CHECKING:
    from discreet.experiments.live_week.played_week import PlayedDay, PlayedWeek
    from discreet.experiments.report import ReportFigure
    from discreet.serving.learning.quality_estimates import QualityEstimate

_INTRODUCTION = """\
   Its server is open, with a page for readers at {address}
   and one for the operator at {address}/admin (token {token}).
2. {devices} devices read for a week, in some minutes. They are shipped devices, with the shipped server, two
   aggregators in two processes, and a clock that runs fast. Half of them, drawn by themselves, rank with public
   weights; half also with what sums have taught. How good each way is comes from sums too.
   THE NOISE IS A DEMONSTRATION'S: ε = {epsilon:g} A READER AND DAY, WHERE A SHIPPED DEVICE ALLOWS 1.
   It is as large a share of the sums of {devices} readers as noise of ε = 1 is of the sums of {same} readers.
            views with a click among the first ten   AUC of what was shown
            public weights    learnt                 public weights    learnt"""
_DAYS = 7
_BAR = 40  # characters for a share of 1


@dataclass(frozen=True)
class LiveDemo:
    """The week that was played, and where its server still is; `wait` returns when that has ended."""

    week: PlayedWeek
    address: str
    token: str
    wait: Callable[[], None]


@contextmanager
def live_demo(folder: Path, listener: socket.socket, devices: int, text: str, seed: int) -> Iterator[LiveDemo]:
    """Play a week, telling it day by day; its server runs until the block is over."""
    from discreet.aggregation.task import DAY
    from discreet.data.synthetic.local_paper import local_paper
    from discreet.experiments.live_week.live_devices import DeviceProcess
    from discreet.experiments.live_week.live_site import live_site
    from discreet.experiments.live_week.played_week import DEMO_TERMS, play_week

    shutil.rmtree(folder, ignore_errors=True)
    today, token = int(time.time()) // DAY * DAY, secrets.token_hex(16)
    paper = local_paper(devices, today - _DAYS * DAY, _DAYS, seed=seed)
    terms = DEMO_TERMS(text)
    say(f"1. A local paper: a feed of 60 articles a day, such as “{paper.articles.titles[-1]}”, and no clicks.")
    with live_site(folder, listener, paper, terms, token) as site:
        write_mark(folder, [])  # the next demonstration may replace it
        same = f"{devices * terms.epsilon:,.0f}"
        for line in _INTRODUCTION.format(
            address=site.address, token=token, devices=devices, epsilon=terms.epsilon, same=same
        ).splitlines():
            say(line)
        with closing(DeviceProcess(site.address, site.helper, paper, terms.epsilon, seed)) as readers:
            week = play_week(site, readers, paper, _tell)
        site.end_week()
        _tell_whole(week)
        yield LiveDemo(week, site.address, token, site.wait)


def week_figure(week: PlayedWeek, devices: int) -> ReportFigure:
    """The week's curve, for a report."""
    from discreet.experiments.live_week.played_week import DEMO_TERMS
    from discreet.experiments.live_week.week_curve import week_curve_svg
    from discreet.experiments.report import ReportFigure

    epsilon = DEMO_TERMS("").epsilon
    return ReportFigure(
        "week",
        f"A week of {devices} devices",
        "Measured by the devices themselves, and known through noised sums. Bars are one standard error, noise"
        f" included. The noise is a demonstration's (ε = {epsilon:g} a reader and day), and one party ran both"
        " aggregators: nobody was protected from it.",
        week_curve_svg(week),
    )


def _tell(day: PlayedDay) -> None:
    public, learnt = day.arms
    bar = "█" * round(_BAR * (learnt.clicks.mean or 0.0))
    both = (public.clicks, learnt.clicks, public.auc, learnt.auc)
    say(f"   day {day.number}    {'    '.join(f'{_shown(one):14}' for one in both)}  {bar}")


def _tell_whole(week: PlayedWeek) -> None:
    public, learnt = week.arms
    both = (public.clicks, learnt.clicks, public.auc, learnt.auc)
    say(f"   the week {'    '.join(f'{_shown(one):14}' for one in both)}")
    for one in week.compared:
        if one.metric in ("clicks", "auc"):
            name = {"clicks": "views with a click", "auc": "AUC"}[one.metric]
            say(
                f"   learnt against public weights, {name}: {one.mean:+.3f}, from {one.low:+.3f} to {one.high:+.3f}"
                f" with confidence 95 % over all looks: {one.verdict}"
            )
    visits, contributions = (sum(getattr(day, name) for day in week.days) for name in ("visits", "contributions"))
    say(f"   {visits:,} visits, {contributions:,} contributions; no click was collected.")


def _shown(estimate: QualityEstimate) -> str:
    return "unknown" if estimate.mean is None else f"{estimate.mean:.3f} ± {estimate.se:.3f}"
