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

from discreet.cli.options import Seed, Text, console, report_page, say

if TYPE_CHECKING:
    from discreet.data.shown_articles import ShownArticles
    from discreet.methods.method import TrainingTask

_EPSILON = 3.0


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for the generated world and the report; replaced if it is there.")
    ] = Path("demo"),
    readers: Annotated[int, typer.Option(min=50, help="How many readers the generated world has.")] = 3000,
    no_serve: Annotated[
        bool, typer.Option("--no-serve", help="End after the report instead of serving a page.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port of the page; 0 for any free one.")] = 8000,
    text: Text = "auto",
    seed: Seed = 0,
) -> None:
    """Generate a small news world, compare the methods on it, write a report, and serve a page of it.

    Example: discreet demo --no-serve
    """
    from discreet.data.open import open_news
    from discreet.data.shown_articles import ShownArticles
    from discreet.data.synthetic import news_world, write_mind
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare, variants
    from discreet.experiments.ranking_table import rich_table
    from discreet.experiments.report import save_report
    from discreet.methods.method import TrainingTask
    from discreet.methods.method_registry import BASELINES
    from discreet.serving.addresses import listen

    listener = None if no_serve else listen("127.0.0.1", port)
    page, world = report_page(out / "report"), out / "world"
    console.print(f"[bold]1.[/] Generating a news world of {readers:,} readers …", highlight=False)
    write_mind(news_world(readers, seed=seed), world, overwrite=True)
    data = open_news(world)
    example = data.articles.titles[len(data.articles) // 2]
    shown = sum(len(part) for part in data.splits.values())
    console.print(f"   {len(data.articles):,} articles such as “{example}”, {shown:,} impressions", highlight=False)
    console.print("[bold]2.[/] Comparing rankings on the last day …", highlight=False)
    names = [*BASELINES, "fedrec", "privaterec", "dp_fedavg", "click_reports"]
    published = {"rounds": 100, "fraction": 0.03}
    settings = {f"{name}.{key}": value for name in ("fedrec", "privaterec") for key, value in published.items()}
    settings |= {"privaterec.rate": 3e-3, "dp_fedavg.epsilon": _EPSILON, "click_reports.epsilon": _EPSILON}
    task = TrainingTask(data, text)
    comparison = compare(task, list(variants(names, settings, [])), "dev", [seed], MeasurementCache())
    save_report(comparison, out / "report", shlex.join(["discreet", *sys.argv[1:]]))
    console.print(rich_table(comparison))
    say("What they cost: fedrec and privaterec train on gradients that readers send. No ε bounds what these tell;")
    say("PrivateRec's paper claims ε = 10 (docs/explanation/papers.md). content can rank on the device, at ε = 0.")
    promises = {result.method: result.guarantee for result in comparison.results}
    say(f"dp_fedavg adds noise to a secure sum of all readers' updates: {promises['dp_fedavg']}.")
    say(f"click_reports releases noised counts and labels once: {promises['click_reports']}.")
    say(f"3. Report: {page}")
    if listener is None:
        return
    run = out / "run"
    _train(task, run, seed)
    say("4. A page of this world, for you to read. What you click stays in your browser; Ctrl-C ends it.")
    _serve(run, ShownArticles.of(data), listener)


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
