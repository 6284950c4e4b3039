"""`discreet submit`: MIND's submission file of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, Device, NewsPath, RunPath, Seed, Split, print_json, say
from discreet.errors import InputError
from discreet.files import check_file
from discreet.progress import counted


def submit(
    run: RunPath,
    data: NewsPath,
    split: Split = "test",
    out: Annotated[
        Path,
        typer.Option(help="The file to write: a zip with prediction.txt, as MIND's leaderboard takes it, or .txt."),
    ] = Path("prediction.zip"),
    device: Device = "cpu",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Rank every impression of a split, and write the ranks as MIND's leaderboard takes them.

    DATA needs the train split too: title vectors are centred on it.

    Example: discreet submit runs/fedrec MINDlarge --split test
    """
    if out.suffix not in (".zip", ".txt"):
        raise InputError(out, "must end with .zip or .txt")
    check_file(out)
    from discreet.data.formats.mind_submission import write_submission
    from discreet.data.open import open_with_train
    from discreet.experiments.ranking_comparison import split_of
    from discreet.methods.method import TrainingTask
    from discreet.methods.run import Run
    from discreet.training.torch_device import use_device

    use_device(device)
    trained = Run.load(run)
    task = TrainingTask(open_with_train(data), trained.text)
    impressions = split_of(task.data, split)
    scores = trained.method.score(task, trained.state, impressions, seed)
    write_submission(scores, impressions, data, split, out)
    if as_json:
        print_json({"out": str(out), "split": split, "impressions": len(impressions)})
        return
    say(f"{counted(len(impressions), 'impression')} ranked: {out}")
