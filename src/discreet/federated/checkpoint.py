"""A training as it stands after a round, in one file that is always whole.

`Checkpoint` is the state that rounds pass on: parameters, the optimiser's memory, the number of rounds done, and of
each its loss and the nodes that were in it. All chance is drawn by (seed, round, purpose), so the seed and the round's
number are the state of randomness.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from discreet.errors import InputError
from discreet.federated.objective import Parameters
from discreet.federated.optimisers import OptimiserState
from discreet.files import replacing_file

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """A training after `round` rounds (0 is before the first).

    `losses` has each round's mean loss of a sample, `nodes` the nodes whose readers were in it.
    """

    parameters: Parameters
    optimiser: OptimiserState = field(default_factory=dict)
    round: int = 0
    losses: tuple[float, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()


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
            "settings": self.settings,
            "names": list(tensors),
        }
        with replacing_file(self.path) as draft:
            save_file(tensors, draft, metadata={"checkpoint": json.dumps(about)})

    def load(self) -> Checkpoint | None:
        """The last checkpoint, or None if there is none yet."""
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                about = json.loads(file.metadata()["checkpoint"])
                tensors = {name: file.get_tensor(name) for name in about["names"]}  # in the order of the model
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
            )
        except (SafetensorError, OSError, json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(self.path, f"is damaged ({error}); remove it to start again") from error


def _part(tensors: Parameters, prefix: str) -> Parameters:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
