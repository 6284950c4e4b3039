"""Where a run is written, looked at before anything heavy is loaded or anything is trained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.files import check_folder

ADDED_LATER = ("rankings.json", "serving.sqlite*")
"""What `discreet evaluate` and `discreet serve` add to a run."""


def check_run_folder(out: Path, resume: bool, overwrite: bool, inputs: Iterable[Path] = ()) -> Path:
    """Before any work: a run that is there is not overwritten, an unfinished training neither mixed up nor lost.

    Returns:
        The path of the checkpoint.
    """
    if out.exists() and not out.is_symlink() and Path.cwd().is_relative_to(out.resolve()):
        raise DiscreetError(f"{out}: the working directory lies in it; choose another folder")
    checkpoint = out.with_name(out.name + ".checkpoint")
    if out.exists() and not overwrite:
        raise DiscreetError(f"{out}: is already there; choose another folder or pass --overwrite")
    if checkpoint.exists() and not resume:
        raise DiscreetError(f"{checkpoint}: an unfinished training; go on with --resume, or remove it to start again")
    if resume and not checkpoint.exists():
        raise DiscreetError(f"{checkpoint}: is not there, so there is nothing to resume; leave out --resume")
    check_folder(out, overwrite=overwrite, inputs=inputs, own=ADDED_LATER)
    return checkpoint
