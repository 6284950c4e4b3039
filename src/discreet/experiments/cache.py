"""The measurements that are done, kept in a folder, so that an interrupted comparison goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.experiments.provenance import versions
from discreet.files import replacing_file

Arrays = Mapping[str, NDArray[Any]]


class Cached(NamedTuple):
    """A measurement: its arrays, and what else is known of it as JSON."""

    arrays: dict[str, NDArray[Any]]
    about: dict[str, Any]


@dataclass(frozen=True)
class MeasurementCache:
    """One small file for each measurement, found again by all that the measurement depends on.

    It depends on what its key says, on the code of this package, and on the libraries that compute. Without a folder
    nothing is kept. A `fresh` cache finds nothing and keeps everything.
    """

    folder: Path | None = None
    fresh: bool = False

    def get(self, name: str, key: Sequence[Any]) -> Cached | None:
        """The measurement, or None where there is none that can be read."""
        if self.fresh or self.folder is None or not (path := self.path(name, key)).exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = {label: file.get_tensor(label) for label in file.keys()}  # noqa: SIM118 (it is no mapping)
                return Cached(arrays, json.loads(file.metadata()["about"]))
        except (SafetensorError, OSError, KeyError, TypeError, ValueError):
            return None

    def put(self, name: str, key: Sequence[Any], arrays: Arrays, about: Mapping[str, Any] | None = None) -> None:
        """Keep a measurement."""
        if self.folder is not None:
            whole = {label: np.asarray(array, order="C") for label, array in arrays.items()}
            with replacing_file(self.path(name, key)) as draft:
                save_file(whole, draft, metadata={"about": json.dumps(about or {})})

    def path(self, name: str, key: Sequence[Any]) -> Path:
        """Where a measurement is kept, if there is a folder."""
        if self.folder is None:
            raise ValueError("without a folder nothing is kept")
        description = json.dumps([versions(), name, *key], sort_keys=True)
        return self.folder / f"{name}-{hashlib.blake2b(description.encode(), digest_size=12).hexdigest()}.safetensors"
