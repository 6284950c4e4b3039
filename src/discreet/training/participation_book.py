"""The book of a training at a node: the last round that it contributed to, and how often each reader has joined.

The cap on participations rests on this book. So it is on disk before anything leaves the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.errors import InputError
from discreet.files import durable_file

Joined = NDArray[np.int64]
"""How often each reader has joined."""


class ParticipationBook(Protocol):
    """Where participations are kept."""

    def read(self, readers: NDArray[np.int32]) -> tuple[int, Joined]:
        """The last round that was contributed to, and how often each reader has joined."""
        ...

    def write(self, number: int, readers: NDArray[np.int32], joined: Joined) -> None:
        """Keep that round `number` is joined. When this returns, the entry is safe."""
        ...


@dataclass(frozen=True)
class BookFile:
    """A book on disk.

    Attributes:
        path: The file.
        audience: Whose book it is: a digest of all readers' names. A book of other readers is refused, because these
            readers may have joined more often than it says.
    """

    path: Path
    audience: str

    def read(self, readers: NDArray[np.int32]) -> tuple[int, Joined]:
        """Read the file. If there is none, nobody has joined yet.

        Raises:
            InputError: the file is damaged, or it is the book of other readers.
        """
        if not self.path.exists():
            return 0, np.zeros(len(readers), np.int64)
        try:
            with safe_open(self.path, framework="numpy") as file:
                about, known, joined = file.metadata(), file.get_tensor("reader"), file.get_tensor("joined")
            audience, last = about["audience"], int(about["round"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(self.path, f"is no book of participations ({error}); nobody may join without it") from None
        if audience != self.audience or joined.shape != known.shape or not np.array_equal(known, readers):
            raise InputError(self.path, "is the book of other readers; a training ends with the readers it began with")
        return last, np.asarray(joined, np.int64)

    def write(self, number: int, readers: NDArray[np.int32], joined: Joined) -> None:
        """Write the file, and flush it to the disk."""
        about = {"audience": self.audience, "round": str(number)}
        with durable_file(self.path) as draft:
            save_file({"reader": np.ascontiguousarray(readers), "joined": joined}, draft, metadata=about)
