"""`discreet train`: train one method and keep it as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, NewsPath, Overwrite, Seed, Text, console, print_json


def train(
    data: NewsPath,
    method: Annotated[str, typer.Option(help="How to train; 'discreet list' names the methods.")],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The folder that the run is written to.")],
    text: Text = "auto",
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a method on the train split and write it as a run: its settings, what it learnt, and its guarantee.

    Example: discreet train world --method combined --out runs/combined
    """
    from discreet.data.open import open_news
    from discreet.methods.base import Task
    from discreet.methods.registry import make_method
    from discreet.methods.run import Run

    chosen = make_method(method)
    task = Task(open_news(data), text)
    run = Run(chosen, chosen.train(task, seed), task.data.name, seed, text)
    run.save(out, overwrite=overwrite)
    guarantee = chosen.guarantee(run.state)
    if as_json:
        print_json({"run": str(out), "method": method, "guarantee": guarantee.to_json() if guarantee else None})
    else:
        console.print(f"Run: {out}", highlight=False)
        console.print(f"Guarantee: {guarantee or 'none, clicks are collected'}", highlight=False)
