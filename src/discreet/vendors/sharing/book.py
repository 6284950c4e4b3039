"""A vendor's own record of what it has given: one file for each job, written before anything of it leaves.

It has three uses. A round that is asked again (a sum that failed, a restart) is answered with the very same vector, for
two answers with different noise would tell more than one. The ε of all jobs ever answered stay within what the vendor
allows for life. And a vendor that reads a release takes off exactly what it had given.

The vectors have only this vendor's part of the noise, so the files are its owner's alone (0600).
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from discreet.errors import DiscreetError, InputError
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import ShareJob

MOST_DELTA = 1e-4
"""δ of all jobs together: ten of them at the usual 10⁻⁵."""

_FORMAT = 1
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Given:
    """A task, and what the vendor gave for it: contribution and noise."""

    task: bytes
    values: Integers


@dataclass(frozen=True)
class Book:
    """All jobs that the vendor has answered.

    Attributes:
        folder: Where it is kept. Who removes it forgets what was spent.
        most_epsilon: The vendor's own limit of ε for a user, over all jobs, which add up.
    """

    folder: Path
    most_epsilon: float

    def check(self, job: ShareJob) -> None:
        """Refuse a job that would cost users more than the vendor allows, with those that were answered before."""
        others = [self._cost(path) for path in sorted(self.folder.glob("*.safetensors")) if path != self._path(job)]
        epsilon = math.fsum([job.epsilon, *(cost[0] for cost in others)])
        delta = math.fsum([job.delta, *(cost[1] for cost in others)])
        before = f" after {len(others)} other job{'s' * (len(others) != 1)}" if others else ""
        if epsilon > self.most_epsilon * _ROUNDING:
            raise DiscreetError(
                f"ε = {job.epsilon:g}{before} would come to {epsilon:g} in all, and this vendor allows"
                f" {self.most_epsilon:g} for life"
            )
        if delta > MOST_DELTA * _ROUNDING:
            raise DiscreetError(f"δ = {job.delta:g}{before} would come to {delta:g} in all; {MOST_DELTA:g} is the most")

    def given(self, job: ShareJob) -> list[Given]:
        """What was given for the rounds of a job so far."""
        path = self._path(job)
        if not path.exists():
            return []
        try:
            with safe_open(path, framework="numpy") as file:
                rounds = json.loads(file.metadata()["book"])["rounds"]
                return [
                    Given(file.get_tensor(f"task/{r}").tobytes(), file.get_tensor(f"given/{r}").astype(np.int64))
                    for r in range(rounds)
                ]
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise _damaged(path, error) from error

    def keep(self, job: ShareJob, given: Sequence[Given]) -> None:
        """Write down what is given for a job, its last round included; return when it is on the disk.

        Raises:
            DiscreetError: it is more than the vendor allows. Nothing is written then.
        """
        tensors: dict[str, NDArray[Any]] = {f"task/{r}": np.frombuffer(g.task, np.uint8) for r, g in enumerate(given)}
        tensors |= {f"given/{r}": one.values for r, one in enumerate(given)}
        about = {"format": _FORMAT, "name": job.name, "epsilon": job.epsilon, "delta": job.delta, "rounds": len(given)}
        content = save(tensors, {"book": json.dumps(about)})
        with self._alone():
            self.check(job)
            _write(self._path(job), content)

    def _path(self, job: ShareJob) -> Path:
        return self.folder / f"{job.digest}.safetensors"

    def _cost(self, path: Path) -> tuple[float, float]:
        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads(file.metadata()["book"])
            return float(about["epsilon"]), float(about["delta"])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise _damaged(path, error) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other job is written while this block runs, by whatever process."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self.folder / ".lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _write(path: Path, content: bytes) -> None:
    """Replace the file, for the owner's eyes only, and return when the new one is on the disk."""
    draft = path.with_name(f".{path.name}.new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        draft.unlink(missing_ok=True)


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(path, f"is damaged ({error}), so nobody knows what was shared; put it back from a backup")
