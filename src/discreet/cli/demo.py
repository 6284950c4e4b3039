"""`discreet demo`: a week of a front page that learns without collecting clicks, played by shipped parts."""

from __future__ import annotations

import secrets
import shutil
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Seed, Text, say
from discreet.extras import has_extra
from discreet.files import check_folder, write_mark

if TYPE_CHECKING:
    from discreet.experiments.live_week.played_week import PlayedDay, PlayedWeek
    from discreet.serving.learning.quality_estimates import QualityEstimate

_INTRODUCTION = """\
   Its server is open, with a page for readers at {address}
   and one for the operator at {address}/admin (token {token}).
2. {devices} devices read for a week, in some minutes. They are shipped devices, with the shipped server, two
   aggregators in two processes, and a clock that runs fast. Half of them, drawn by themselves, rank with public
   weights; half also with what sums have taught.
   THE NOISE IS A DEMONSTRATION'S: ε = {epsilon:g} A READER AND DAY, WHERE A SHIPPED DEVICE ALLOWS 1.
   It is as large a share of the sums of {devices} readers as noise of ε = 1 is of the sums of {same} readers.
   The measure: of all visits, the share in which a reader opened one of the first ten articles. No click is
   collected for it; it comes from noised sums too (± one standard error, noise included).
            public weights    with what sums taught"""
_DAYS = 7
_BAR = 40  # characters for a share of 1


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for the server's files and the week's curve; earlier ones are replaced.")
    ] = Path("demo"),
    devices: Annotated[int, typer.Option(min=10, max=10_000, help="How many devices read for a week.")] = 300,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="End after the week instead of serving a page.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port of the page; 0 for any free one.")] = 8000,
    text: Text = "auto",
    seed: Seed = 0,
) -> None:
    """A week of a front page that learns without collecting clicks: a server, 300 devices, pages to read.

    Example: discreet demo --no-serve
    """
    check_folder(out / "served", overwrite=True, own=("*",))
    from discreet.aggregation.task import DAY
    from discreet.data.synthetic.local_paper import local_paper
    from discreet.experiments.live_week.live_devices import DeviceProcess
    from discreet.experiments.live_week.live_site import live_site
    from discreet.experiments.live_week.played_week import DEMO_TERMS, play_week
    from discreet.serving.addresses import listen

    listener = listen("127.0.0.1", 0 if no_serve else port)
    shutil.rmtree(out / "served", ignore_errors=True)
    today, token = int(time.time()) // DAY * DAY, secrets.token_hex(16)
    paper = local_paper(devices, today - _DAYS * DAY, _DAYS, seed=seed)
    terms = DEMO_TERMS(text)
    say(f"1. A local paper: a feed of 60 articles a day, such as “{paper.articles.titles[-1]}”, and no clicks.")
    with live_site(out / "served", listener, paper, terms, token) as site:
        write_mark(out / "served", [])  # the next demonstration may replace it
        same = f"{devices * terms.epsilon:,.0f}"
        say(_INTRODUCTION.format(address=site.address, token=token, devices=devices, epsilon=terms.epsilon, same=same))
        with closing(DeviceProcess(site.address, site.helper, paper, terms.epsilon, seed)) as readers:
            week = play_week(site, readers, paper, _tell)
        site.end_week()
        _tell_whole(week)
        if has_extra("plots"):
            say(f"3. The week's curve: {_save_curve(week, out / 'week.svg')}")
        if no_serve:
            return
        try:
            say("4. The server goes on; Ctrl-C ends it. What you click stays in your browser. From your first visit on")
            say("   a later day (UTC) it takes part in sums of its own every quarter of an hour, at ε = 1 a day.")
            say("   One party, this machine, runs both aggregators here: nothing protects you from it.")
            say(f"   What readers are told: {site.address}/notice")
            say(f"   The operator's page, with the week's curve: {site.address}/admin (token {token})")
            say(f"   On a page of your own: discreet embed {site.address}")
            say(site.address)
            site.wait()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would cut off the server's last writes
            say("Ended.")


def _tell(day: PlayedDay) -> None:
    public, learnt = (_shown(arm.clicks) for arm in day.arms)
    say(f"   day {day.number}    {public:14}    {learnt:14}  {'█' * round(_BAR * (day.arms[1].clicks.mean or 0.0))}")


def _tell_whole(week: PlayedWeek) -> None:
    public, learnt = (_shown(arm.clicks) for arm in week.arms)
    say(f"   the week {public:14}    {learnt:14}")
    for found in week.compared:
        if found.metric == "clicks":
            say(
                f"   What sums taught adds {found.mean:+.3f}, from {found.low:+.3f} to {found.high:+.3f} with"
                f" confidence 95 % over all looks: {found.verdict}."
            )
    visits, contributions = (sum(getattr(day, name) for day in week.days) for name in ("visits", "contributions"))
    say(f"   {visits:,} visits, {contributions:,} contributions of devices; no click was collected.")


def _shown(estimate: QualityEstimate) -> str:
    return "unknown" if estimate.mean is None else f"{estimate.mean:.3f} ± {estimate.se:.3f}"


def _save_curve(week: PlayedWeek, path: Path) -> Path:
    from discreet.experiments.drawing import standalone
    from discreet.experiments.live_week.week_curve import week_curve_svg
    from discreet.files import replacing_file

    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as draft:
        draft.write_text(standalone(week_curve_svg(week)), encoding="utf-8")
    return path
