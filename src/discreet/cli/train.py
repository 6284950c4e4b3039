"""`discreet train`: train one method and keep it as a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import (
    AsJson,
    NewsPath,
    Overwrite,
    Seed,
    Settings,
    Text,
    open_with_train,
    parse_epsilons,
    parse_settings,
    print_json,
    say,
)
from discreet.errors import DiscreetError


def train(
    data: NewsPath,
    method: Annotated[str, typer.Option(help="How to train; 'discreet list' names the methods and their settings.")],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The folder that the run is written to.")],
    model: Annotated[str | None, typer.Option(help="The model to train: plm_nr, nrms, naml or fednewsrec.")] = None,
    preset: Annotated[str | None, typer.Option(help="The model's sizes: small, or as published.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="How many rounds to train.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget of training; inf for no noise.")] = None,
    calibration: Annotated[
        str | None, typer.Option(help="Noise scaled to what is true (exact) or as the paper printed it (paper).")
    ] = None,
    settings: Settings = None,
    text: Text = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a method on the train split and write it as a run: settings, weights, curve and guarantee.

    Interrupted (Ctrl-C, or worse), the last finished rounds stay in RUN.checkpoint; --resume goes on from there and
    ends with the same weights as a training that was never interrupted.

    Example: discreet train world --method privaterec --model nrms --rounds 200 --epsilon 10 --out runs/privaterec
    """
    from discreet.methods.base import Task
    from discreet.methods.registry import make_method
    from discreet.methods.run import Run

    given = {"model": model, "preset": preset, "rounds": rounds, "calibration": calibration, **parse_settings(settings)}
    chosen_settings = {name: value for name, value in given.items() if value is not None}
    if budgets := parse_epsilons(epsilon):
        if len(budgets) > 1:
            raise DiscreetError(f"--epsilon takes one budget to train with, not '{epsilon}'; 'compare' takes several")
        chosen_settings["epsilon"] = budgets[0]
    chosen = make_method(method, chosen_settings)
    checkpoint = out.with_name(out.name + ".checkpoint")
    _refuse_surprises(out, checkpoint, resume, overwrite)
    task = Task(open_with_train(data), text)
    state = chosen.train(task, seed, checkpoint)
    run = Run(chosen, state, task.data.name, seed, text)
    run.save(out, overwrite=overwrite)
    checkpoint.unlink(missing_ok=True)
    guarantee = chosen.guarantee(state)
    if as_json:
        print_json({"run": str(out), "method": method, "guarantee": guarantee.to_json() if guarantee else None})
    else:
        say(f"Run: {out}")
        say(f"Guarantee of training: {guarantee or 'none, clicks are collected'}")


def _refuse_surprises(out: Path, checkpoint: Path, resume: bool, overwrite: bool) -> None:
    """Before any work: a run that is there is not overwritten, an unfinished training neither mixed up nor lost."""
    if out.exists() and not overwrite:
        raise DiscreetError(f"{out}: is already there; choose another folder or pass --overwrite")
    if checkpoint.exists() and not resume:
        raise DiscreetError(f"{checkpoint}: an unfinished training; go on with --resume, or remove it to start again")
    if resume and not checkpoint.exists():
        raise DiscreetError(f"{checkpoint}: is not there, so there is nothing to resume; leave out --resume")
