"""A run: a folder that holds a trained method, complete enough to evaluate and to serve it.

- `run.json`: format, method, settings, seed, text source, data, guarantee
- `state.safetensors`: what was learnt
- `rounds.csv`, `curve.svg`: for a method that trains in rounds, each round's loss, and the AUC where it was measured
- `discreet.sha256`: the digest of each of these files, verified when the run is loaded
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from discreet import __version__
from discreet.errors import InputError
from discreet.evaluation.curve import write_curve
from discreet.files import replacing_folder, verify_folder
from discreet.methods.base import Method, State, with_serving
from discreet.methods.place import ADDED_LATER
from discreet.methods.registry import method_from_plain, plain_settings

FORMAT = 1


@dataclass(frozen=True)
class Run:
    """A trained method with what it was trained on."""

    method: Method
    state: State
    data: str
    seed: int
    text: str

    def save(self, folder: Path, *, overwrite: bool = False) -> None:
        """Write the run as a whole or not at all."""
        guarantee = with_serving(self.method, self.method.guarantee(self.state))
        about = {
            "format": FORMAT,
            "discreet": __version__,
            "method": self.method.name,
            "settings": plain_settings(self.method),
            "data": self.data,
            "seed": self.seed,
            "text": self.text,
            "guarantee": guarantee.to_json() if guarantee else None,
        }
        with replacing_folder(folder, overwrite=overwrite, own=ADDED_LATER) as draft:
            (draft / "run.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            state = {name: np.ascontiguousarray(value) for name, value in self.state.items()}
            save_file(state, draft / "state.safetensors")
            if "losses" in state:
                write_curve(draft, state["losses"], state["watched"])

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read a run, refusing one that is missing, damaged or newer than this version understands."""
        about = _about(folder / "run.json")
        verify_folder(folder)
        weights = folder / "state.safetensors"
        try:
            state = load_file(weights)
        except FileNotFoundError:
            raise InputError(weights, "is missing; train the run again") from None
        except (SafetensorError, OSError) as error:
            raise InputError(weights, f"is damaged ({error}); train the run again") from error
        return cls(
            method=method_from_plain(about["method"], about["settings"]),
            state=state,
            data=about["data"],
            seed=about["seed"],
            text=about["text"],
        )


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] > FORMAT:
            raise InputError(path, f"has format {about['format']}; this version reads up to {FORMAT}, upgrade discreet")
    except FileNotFoundError:
        raise InputError(path, "is missing; a run is a folder written by 'discreet train'") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(path, f"is not a run's description ({error}); train the run again") from error
    missing = {"method", "settings", "data", "seed", "text"} - set(about)
    if missing:
        raise InputError(path, f"lacks {', '.join(sorted(missing))}; train the run again")
    return dict(about)
