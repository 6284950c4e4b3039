"""A run: a folder that holds a trained method, complete enough to evaluate and to serve it.

- `run.json`: format, method, settings, seed, text source, data, guarantee
- `state.safetensors`: what was learnt
- `rounds.csv`, `curve.svg`: for a method that trains in rounds, each round's loss, and the AUC where it was measured
- `discreet.sha256`: the digest of each of these files, verified when the run is loaded
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from discreet.data.news import Impressions, NewsData
from discreet.errors import DiscreetError, InputError
from discreet.evaluation.curve import write_curve
from discreet.experiments.ranking_results import Comparison
from discreet.files import replacing_folder, verify_folder
from discreet.methods.method import Method, Scores, State, TrainingTask, with_serving
from discreet.methods.method_registry import method_from_plain, plain_settings
from discreet.methods.run_folder import ADDED_LATER
from discreet.privacy.guarantee import Guarantee
from discreet.setting_values import shown
from discreet.version import __version__

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Run:
    """A trained method with what it was trained on."""

    method: Method
    state: State
    data: str
    seed: int
    text: str
    task: TrainingTask | None = field(default=None, repr=False)
    """What it was trained on, where that is at hand: not after loading."""

    def __repr__(self) -> str:
        """What was trained, on what, and what it costs; of what was learnt, the names."""
        learnt = ", ".join(self.state) or "nothing"
        cost = self.guarantee or "no guarantee"
        return f"Run({self.method}, data={self.data!r}, seed={self.seed}, text={self.text!r}, learnt: {learnt})\n{cost}"

    @property
    def guarantee(self) -> Guarantee | None:
        """What the run costs a reader over a lifetime; None where clicks are simply collected."""
        return with_serving(self.method, self.method.guarantee(self.state))

    def evaluate(self, split: str = "dev", data: NewsData | None = None) -> Comparison:
        """Measure the ranking on a split of `data`, or of what the run was trained on."""
        from discreet.experiments.ranking_comparison import measure, result_of, split_of

        task = self._task(data)
        found = measure(task, self.method, self.state, split_of(task.data, split), self.seed)
        return Comparison(task.data.name, split, [result_of(self.method, [found])], [self.seed], task.text_identity)

    def score(self, impressions: Impressions, data: NewsData | None = None) -> Scores:
        """A score for each shown article of `impressions`, flat; higher ranks first."""
        return self.method.score(self._task(data), self.state, impressions, self.seed)

    def _task(self, data: NewsData | None) -> TrainingTask:
        if data is None and self.task is None:
            raise DiscreetError("this run was loaded from a folder; say on which data, such as evaluate(data=news)")
        return self.task if data is None and self.task is not None else TrainingTask(cast(NewsData, data), self.text)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Write the run as a whole or not at all."""
        about = {
            "format": FORMAT,
            "discreet": __version__,
            "method": self.method.name,
            "settings": plain_settings(self.method),
            "data": self.data,
            "seed": self.seed,
            "text": self.text,
            "guarantee": self.guarantee.to_json() if self.guarantee else None,
        }
        with replacing_folder(Path(folder), overwrite=overwrite, own=ADDED_LATER) as draft:
            (draft / "run.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            state = {name: np.ascontiguousarray(value) for name, value in self.state.items()}
            save_file(state, draft / "state.safetensors")
            if "losses" in state:
                write_curve(draft, state["losses"], state["watched"])

    @classmethod
    def load(cls, folder: Path | str) -> Run:
        """Read a run, refusing one that is missing, damaged or newer than this version understands."""
        folder = Path(folder)
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
    for name, kind in (("data", str), ("seed", int), ("text", str)):
        if type(about[name]) is not kind:
            raise InputError(path, f"{name} is {shown(about[name])}, which no run has; train the run again")
    return dict(about)
