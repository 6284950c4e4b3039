"""A vendor's own record of what it has given: one file for each job, written before anything of it leaves.

A round that is asked again (a sum that failed, a restart) is answered with the very same vector, for two answers with
different noise would tell more than one. And a vendor that reads a release takes off exactly what it had given. The
vectors have only this vendor's part of the noise, so the files are its owner's alone (0600).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.errors import InputError
from discreet.files import durable_file
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import ShareJob


@dataclass(frozen=True, eq=False)
class RecordedContribution:
    """A task, and what the vendor gave for it: contribution and noise."""

    task: bytes
    values: Integers


@dataclass(frozen=True)
class ContributionRecord:
    """What the vendor has given to all jobs, in a folder of its node."""

    folder: Path

    def given(self, job: ShareJob) -> list[RecordedContribution]:
        """What was given for the rounds of a job so far."""
        path = self._path(job)
        if not path.exists():
            return []
        try:
            with safe_open(path, framework="numpy") as file:
                rounds = json.loads(file.metadata()["book"])["rounds"]
                return [
                    RecordedContribution(
                        file.get_tensor(f"task/{r}").tobytes(), file.get_tensor(f"given/{r}").astype(np.int64)
                    )
                    for r in range(rounds)
                ]
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                path, f"is damaged ({error}); the job cannot go on, share again under another name"
            ) from error

    def keep(self, job: ShareJob, given: Sequence[RecordedContribution]) -> None:
        """Write down all that is given to a job, its latest round included; return when it is on the disk."""
        tensors: dict[str, NDArray[Any]] = {f"task/{r}": np.frombuffer(g.task, np.uint8) for r, g in enumerate(given)}
        tensors |= {f"given/{r}": one.values for r, one in enumerate(given)}
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with durable_file(self._path(job)) as draft:
            save_file(tensors, draft, {"book": json.dumps({"name": job.name, "rounds": len(given)})})

    def _path(self, job: ShareJob) -> Path:
        return self.folder / f"{job.digest}.safetensors"
