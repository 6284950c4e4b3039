"""`discreet demo`: the main job from end to end, on data that it generates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Seed, Text, console, say


def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for the generated world and the report; replaced if it is there.")
    ] = Path("demo"),
    readers: Annotated[int, typer.Option(min=50, help="How many readers the generated world has.")] = 3000,
    no_serve: Annotated[  # noqa: ARG001 (there is no page to serve yet; the option keeps its meaning when there is)
        bool, typer.Option("--no-serve", help="End after the report instead of serving a page.")
    ] = False,
    text: Text = "auto",
    seed: Seed = 0,
) -> None:
    """Generate a small news world, compare the methods on it, and write a report.

    Example: discreet demo --no-serve
    """
    from discreet.cli.compare import save_comparison
    from discreet.data.open import open_news
    from discreet.data.synthetic import news_world, write_mind
    from discreet.evaluation.table import rich_table
    from discreet.methods.base import Task
    from discreet.methods.experiment import Store, compare, variants
    from discreet.methods.registry import BASELINES

    world = out / "world"
    console.print(f"[bold]1.[/] Generating a news world of {readers:,} readers …", highlight=False)
    write_mind(news_world(readers, seed=seed), world, overwrite=True)
    data = open_news(world)
    example = data.articles.titles[len(data.articles) // 2]
    shown = sum(len(part) for part in data.splits.values())
    console.print(f"   {len(data.articles):,} articles such as “{example}”, {shown:,} impressions", highlight=False)
    console.print("[bold]2.[/] Comparing rankings on the last day …", highlight=False)
    names = [*BASELINES, "fedrec", "privaterec"]
    settings = {"rounds": 100, "fraction": 0.03, "privaterec.rate": 3e-3}
    comparison = compare(Task(data, text), list(variants(names, settings, [])), "dev", [seed], Store(None))
    save_comparison(comparison, out / "report")
    console.print(rich_table(comparison))
    say("What they cost: fedrec and privaterec train on gradients that readers send. No ε bounds what these tell;")
    say("PrivateRec's paper claims ε = 10 (docs/explanation/papers.md). content can rank on the device, at ε = 0.")
    say(f"3. Report: {out / 'report' / 'report.html'}")
