"""The public result of a sharing as a file: every question with the sum of all answers, the job, and what it promises.

safetensors: `task/r` has the bytes of round r's question, `total/r` the sum. While the rounds go on, the same content
is kept in a second file, question by question, so that a server that was stopped goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.errors import DiscreetError, InputError
from discreet.files import replacing_file
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.sharing_rounds import Answered
from discreet.vendors.sharing.tasks import SharingTask

_FORMAT = 1


class Question(NamedTuple):
    """A question as it was sent, and its answer once there is one."""

    task: bytes
    total: Integers | None


@dataclass(frozen=True, eq=False)
class Releases:
    """A job with its questions. Complete, all have answers; before, the last may lack its own."""

    job: ShareJob
    asked: tuple[Question, ...] = ()
    complete: bool = False

    def answers(self) -> tuple[Answered, ...]:
        """The rounds with their totals, as a vendor reads them."""
        return tuple(
            Answered(SharingTask.from_bytes(one.task, self.job).round, one.total)
            for one in self.asked
            if one.total is not None
        )

    def save(self, path: Path) -> None:
        """Write the file, as a whole or not at all."""
        tensors: dict[str, NDArray[Any]] = {}
        for number, one in enumerate(self.asked):
            tensors[f"task/{number}"] = np.frombuffer(one.task, np.uint8)
            if one.total is not None:
                tensors[f"total/{number}"] = one.total
        about = {
            "format": _FORMAT,
            "complete": self.complete,
            "asked": len(self.asked),
            "rounds": [_described(answered) for answered in self.answers()],
            "catalogue": self.job.catalogue_digest,
            "guarantee": self.job.guarantee().to_json(),
        }
        with replacing_file(path) as draft:
            save_file(tensors, draft, {"releases": json.dumps(about), "job": self.job.to_bytes().decode()})

    @classmethod
    def load(cls, path: Path) -> Releases:
        """The inverse of `save`.

        Raises:
            InputError: the file is not there, or not as `save` writes it.
        """
        if not path.exists():
            raise InputError(path, "does not exist")
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata()
                about, job = json.loads(metadata["releases"]), ShareJob.from_bytes(metadata["job"].encode())
                if about["format"] != _FORMAT:
                    raise InputError(path, f"has format {about['format']}; this version reads {_FORMAT}")
                names = set(file.keys())
                asked = [
                    Question(
                        file.get_tensor(f"task/{number}").tobytes(),
                        file.get_tensor(f"total/{number}") if f"total/{number}" in names else None,
                    )
                    for number in range(about["asked"])
                ]
            found = cls(job, tuple(asked), about["complete"])
            found._check()
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(path, f"is not a file of releases, or is damaged ({error})") from error
        except DiscreetError as error:
            raise error if isinstance(error, InputError) else InputError(path, f"is damaged ({error})") from error
        return found

    def _check(self) -> None:
        for number, (data, total) in enumerate(self.asked):
            task = SharingTask.from_bytes(data, self.job)
            last = number == len(self.asked) - 1
            if task.number != number or (total is None and (self.complete or not last)):
                raise ValueError(f"round {number + 1} is not in its place")
            if total is not None and (
                total.dtype != np.int64 or total.shape != (task.round.length(len(self.job.items)),)
            ):
                raise ValueError(f"the answer to round {number + 1} has another length than it should")


def load_complete(path: Path) -> Releases:
    """Releases of a sharing that was brought to its end."""
    found = Releases.load(path)
    if not found.complete:
        raise InputError(path, "is of a sharing that is still under way; run it to its end")
    return found


def _described(answered: Answered) -> dict[str, Any]:
    kind = type(answered.round).__name__.lower()
    return {"kind": kind, "share": answered.round.share, "values": len(answered.total)}
