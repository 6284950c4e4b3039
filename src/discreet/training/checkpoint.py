"""A training as it stands after a round, in one file that is always whole and carries its own digest.

`Checkpoint` is the state that rounds pass on: parameters, the optimiser's memory, the number of rounds done, and of
each its loss and the nodes that were in it. All random numbers are drawn by (seed, round, purpose), so the seed and the
round's number are the state of randomness.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from discreet.errors import InputError
from discreet.files import replacing_file
from discreet.training.objective import Parameters
from discreet.training.optimisers import OptimiserState

FORMAT = 2
_ABOUT = "about"


@dataclass(frozen=True)
class Checkpoint:
    """A training after `round` rounds (0 is before the first).

    `losses` has each round's mean loss of a sample, `nodes` the nodes whose readers were in it, `watched` the rounds
    after which the AUC was looked at, with what it was.
    """

    parameters: Parameters
    optimiser: OptimiserState = field(default_factory=dict)
    round: int = 0
    losses: tuple[float, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()
    watched: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class CheckpointFile:
    """Where checkpoints of one training are kept; each replaces the one before.

    `settings` say what training this is (method, model, seed, data …): a file of another one is refused.
    """

    path: Path
    settings: dict[str, str] = field(default_factory=dict)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the checkpoint; an interruption leaves the old one or the new."""
        tensors = {f"parameters/{name}": value.contiguous() for name, value in checkpoint.parameters.items()}
        tensors |= {f"optimiser/{name}": value.contiguous() for name, value in checkpoint.optimiser.items()}
        about = {
            "format": FORMAT,
            "round": checkpoint.round,
            "losses": list(checkpoint.losses),
            "nodes": [list(nodes) for nodes in checkpoint.nodes],
            "watched": [list(point) for point in checkpoint.watched],
            "settings": self.settings,
            "names": list(tensors),
        }
        content = save({**tensors, _ABOUT: torch.frombuffer(bytearray(json.dumps(about).encode()), dtype=torch.uint8)})
        with replacing_file(self.path) as draft, draft.open("wb") as file:
            file.write(_head(content))
            file.write(content)

    def load(self) -> Checkpoint | None:
        """The last checkpoint, or None if there is none yet."""
        if not self.path.exists():
            return None
        try:
            about, tensors = _read(self.path)
            if about["format"] > FORMAT:
                raise InputError(self.path, f"has format {about['format']}; this version reads up to {FORMAT}")
            found = about["settings"]
            changed = sorted(key for key in found | self.settings if found.get(key) != self.settings.get(key))
            if changed:
                raise InputError(
                    self.path, f"belongs to another training ({', '.join(changed)} differ); remove it or change back"
                )
            return Checkpoint(
                parameters=_part(tensors, "parameters/"),
                optimiser=_part(tensors, "optimiser/"),
                round=about["round"],
                losses=tuple(about["losses"]),
                nodes=tuple(tuple(nodes) for nodes in about["nodes"]),
                watched=tuple((number, auc) for number, auc in about["watched"]),
            )
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(self.path, f"is damaged ({error}); remove it to start again") from error


def _head(content: bytes) -> bytes:
    """The first line of the file: what it is, and the digest of all that follows."""
    return f"discreet checkpoint, sha256 {hashlib.sha256(content).hexdigest()}\n".encode()


def _read(path: Path) -> tuple[dict[str, Any], Parameters]:
    """What the file says of the training, and its tensors in the order of the model."""
    head, _, content = path.read_bytes().partition(b"\n")
    if head + b"\n" != _head(content):
        raise ValueError("its SHA-256 is another one")
    tensors = load(content)
    about = json.loads(tensors.pop(_ABOUT).numpy().tobytes())
    return about, {name: tensors[name] for name in about["names"]}


def _part(tensors: Parameters, prefix: str) -> Parameters:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
