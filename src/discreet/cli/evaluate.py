"""`discreet evaluate`: measure a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, NewsPath, Seed, Split, console, print_json


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder written by 'discreet train'.")],
    data: NewsPath,
    split: Split = "dev",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure a run: AUC, MRR, nDCG@5 and nDCG@10 with standard errors, and its guarantee.

    Example: discreet evaluate runs/combined world
    """
    from discreet.data.open import open_news
    from discreet.evaluation.metrics import ranking_metrics
    from discreet.evaluation.results import Comparison
    from discreet.evaluation.table import rich_table
    from discreet.methods.base import Task
    from discreet.methods.experiment import Measurement, result_of, split_of
    from discreet.methods.run import Run

    trained = Run.load(run)
    task = Task(open_news(data), trained.text)
    impressions = split_of(task.data, split)
    metrics = ranking_metrics(trained.method.score(task, trained.state, impressions, seed), impressions)
    found = Measurement(metrics, trained.method.guarantee(trained.state))
    comparison = Comparison(task.data.name, split, [result_of(trained.method, [found])])
    if as_json:
        print_json(comparison.to_json())
    else:
        console.print(rich_table(comparison))
