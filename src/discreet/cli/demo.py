"""`discreet demo`: the main job from end to end, on data that it generates."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.live_demo import live_demo, week_figure
from discreet.cli.options import Seed, Text, console, report_page, say
from discreet.extras import has_extra

if TYPE_CHECKING:
    from discreet.data.shown_articles import ShownArticles
    from discreet.experiments.live_week.played_week import PlayedWeek
    from discreet.methods.method import TrainingTask

_EPSILON = 3.0
_DAYS = 7
_BAR = 120  # characters for an AUC of 1 above one half


def demo(
    out: Annotated[
        Path,
        typer.Option(help="The folder for the server, the generated world and the report; replaced if it is there."),
    ] = Path("demo"),
    devices: Annotated[int, typer.Option(min=10, max=10_000, help="How many devices read for a week.")] = 300,
    readers: Annotated[int, typer.Option(min=50, help="How many readers the simulated world has.")] = 2000,
    population: Annotated[
        int, typer.Option(min=0, help="Each simulated reader stands for several: the noise is that of so many readers.")
    ] = 100_000,
    comparing: Annotated[
        bool, typer.Option("--compare", help="Compare the published methods instead, and serve click reports.")
    ] = False,
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="End after the report instead of serving a page.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port of the page; 0 for any free one.")] = 8000,
    text: Text = "auto",
    seed: Seed = 0,
) -> None:
    """A week of a front page that learns without collecting clicks: a server, 300 devices, a report, pages to read.

    Example: discreet demo --no-serve
    """
    from discreet.serving.addresses import listen
    from discreet.serving.learning.one_process_trial import trial_guarantee

    listener = listen("127.0.0.1", 0 if no_serve else port)
    page = report_page(out / "report")
    if comparing:
        _published(out, listener, readers, text, seed, no_serve=no_serve)
        return
    with live_demo(out / "served", listener, devices, text, seed) as live:
        _show_week(_generated(out, readers, text, seed), out / "report", population, seed, live.week, devices)
        say(f"4. Report: {page}")
        if no_serve:
            return
        say("5. The server goes on; Ctrl-C ends it. What you click stays in your browser. From your first visit on a")
        say("   later day (UTC) on it takes part in sums of its own every quarter of an hour, at ε = 1 a day as usual.")
        say(f"   {trial_guarantee()}")
        say(f"   What readers are told: {live.address}/notice")
        say(f"   The operator's page, with the week's curve: {live.address}/admin (token {live.token})")
        say(f"   On a page of your own: discreet embed {live.address}")
        say(live.address)
        live.wait()


def _published(out: Path, listener: socket.socket, readers: int, text: str, seed: int, *, no_serve: bool) -> None:
    """Compare the published methods, and serve click reports."""
    from discreet.data.shown_articles import ShownArticles

    console.print(f"[bold]1.[/] Generating a week of news with {readers:,} readers …", highlight=False)
    task = _generated(out, readers, text, seed)
    _compare_published(task, out / "report", seed)
    say(f"3. Report: {report_page(out / 'report')}")
    if no_serve:
        listener.close()
        return
    _train(task, out / "run", seed)
    say("4. A page of this world, for you to read. What you click stays in your browser; Ctrl-C ends it.")
    _serve(out / "run", ShownArticles.of(task.data), listener)


def _generated(out: Path, readers: int, text: str, seed: int) -> TrainingTask:
    """A generated week of news."""
    from discreet.data.open import open_news
    from discreet.data.synthetic import news_world, write_mind
    from discreet.methods.method import TrainingTask

    write_mind(news_world(readers, train_days=_DAYS - 1, seed=seed), out / "world", overwrite=True)
    return TrainingTask(open_news(out / "world"), text)


def _show_week(task: TrainingTask, report: Path, population: int, seed: int, played: PlayedWeek, devices: int) -> None:
    """What the sums of all readers add to public weights, day by day; then the last day, with other rankings."""
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare, variants
    from discreet.experiments.ranking_table import rich_table
    from discreet.experiments.report import save_report
    from discreet.experiments.week import WeekDay, week_of
    from discreet.methods.front_page.front_page import FrontPage
    from discreet.methods.method_registry import BASELINES

    method = FrontPage(epsilon=1.0, population=population, window_minutes=60)
    readers = len(task.data.readers)
    say(f"3. The same for a larger site, at ε = 1 a reader and day: a simulated week of {readers:,} readers,")
    say(f"   with the bounds and the noise of two aggregators, as for {population:,} readers.")
    say("   AUC by day     public weights   with what sums taught   gain")

    def tell(day: WeekDay) -> None:
        bar = "█" * max(0, round((day.learnt.mean - 0.5) * _BAR))
        say(
            f"   day {day.number}   {day.public.mean:.3f} ± {day.public.se:.3f}    {day.learnt.mean:.3f} ±"
            f" {day.learnt.se:.3f}    {day.gain.mean:+.3f} ± {day.gain.se:.3f}  {bar}"
        )

    week = week_of(task, method, seed, tell)
    say(f"   all days{' ' * 41}{week.gain.mean:+.3f} ± {week.gain.se:.3f}")
    say(f"   What a reader's day costs: {week.guarantee}.")
    names, settings = [*BASELINES, "front_page"], {"front_page.population": population, "front_page.window_minutes": 60}
    comparison = compare(task, list(variants(names, settings, [])), "dev", [seed], MeasurementCache())
    figures = [week_figure(played, devices)] if has_extra("plots") else []
    save_report(comparison, report, shlex.join(["discreet", *sys.argv[1:]]), figures)
    say("   The last day, compared with rankings that need every click in one place (popularity, combined):")
    console.print(rich_table(comparison))


def _compare_published(task: TrainingTask, report: Path, seed: int) -> None:
    """The published methods and the baselines, with what each costs."""
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare, variants
    from discreet.experiments.ranking_table import rich_table
    from discreet.experiments.report import save_report
    from discreet.methods.method_registry import BASELINES

    console.print("[bold]2.[/] Comparing rankings on the last day …", highlight=False)
    names = [*BASELINES, "fedrec", "privaterec", "dp_fedavg", "click_reports"]
    published = {"rounds": 100, "fraction": 0.03}
    settings = {f"{name}.{key}": value for name in ("fedrec", "privaterec") for key, value in published.items()}
    settings |= {"privaterec.rate": 3e-3, "dp_fedavg.epsilon": _EPSILON, "click_reports.epsilon": _EPSILON}
    comparison = compare(task, list(variants(names, settings, [])), "dev", [seed], MeasurementCache())
    save_report(comparison, report, shlex.join(["discreet", *sys.argv[1:]]))
    console.print(rich_table(comparison))
    say("What they cost: fedrec and privaterec train on gradients that readers send. No ε bounds what these tell;")
    say("PrivateRec's paper claims ε = 10 (docs/explanation/papers.md). content can rank on the device, at ε = 0.")
    promises = {result.method: result.guarantee for result in comparison.results}
    say(f"dp_fedavg adds noise to a secure sum of all readers' updates: {promises['dp_fedavg']}.")
    say(f"click_reports releases noised counts and labels once: {promises['click_reports']}.")


def _train(task: TrainingTask, folder: Path, seed: int) -> None:
    """A run of click reports, with what the three ways to rank achieve."""
    from discreet.files import add_to_folder
    from discreet.methods.click_reports.click_reports import ClickReports
    from discreet.methods.click_reports.rankings import qualities, three_rankings
    from discreet.methods.run import Run

    method = ClickReports(epsilon=_EPSILON)
    state = method.train(task, seed)
    Run(method, state, task.data.name, seed, task.text).save(folder, overwrite=True)
    measured = three_rankings(method, task, state, task.data.splits["dev"], seed)
    found = qualities(measured)
    add_to_folder(folder, "rankings.json", json.dumps(found))
    ways = ", ".join(f"{name} {quality['auc']:.3f}" for name, quality in found.items())
    say(f"   AUC by who ranks: {ways} (local is ε = 0 in serving; the device has its exact history)")


def _serve(run: Path, data: ShownArticles, listener: socket.socket) -> None:
    """The page, whose reader's device ranks by itself; its address is the last line."""
    from discreet.serving.addresses import url_of
    from discreet.serving.model import load_served
    from discreet.serving.server import open_service, run_server

    service = open_service(run, load_served(run), data=data, epoch=timedelta(days=1), as_of=int(time.time()))
    service.updater.step()  # the page is there when its address is
    say(url_of(listener))
    run_server(service, listener, level="warning")
