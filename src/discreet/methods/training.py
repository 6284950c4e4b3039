"""From a method to a run on disk: resumable, and never over something that was not meant to be lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.method import Method, TrainingTask
from discreet.methods.round_server import Federation
from discreet.methods.run import Run
from discreet.methods.run_folder import check_run_folder


def train_to_run(
    method: Method,
    task: TrainingTask,
    seed: int,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    federation: Federation | None = None,
    inputs: Sequence[Path] = (),
) -> Run:
    """Train and write the run to `out`; what an interruption leaves is next to it, and `resume` goes on from there.

    `inputs` is what was read, which must not lie in a run that is overwritten.
    """
    checkpoint = check_run_folder(out, resume, overwrite, inputs)
    if federation is None:
        state = method.train(task, seed, checkpoint)
    else:
        state = federated(method).train(task, seed, checkpoint, federation)
    run = Run(method, state, task.data.name, seed, task.text)
    run.save(out, overwrite=overwrite)
    checkpoint.unlink(missing_ok=True)
    return run


def federated(method: Method) -> Federated:
    """`method`, if it can train over nodes."""
    if not isinstance(method, Federated):
        raise DiscreetError(f"{method.name} does not train in rounds over readers; it cannot be trained over nodes")
    return method
