"""How large an experiment is: small, for two cores and minutes, or as the papers have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.methods.method import Method
from discreet.methods.method_registry import make_method, settings_for
from discreet.methods.published.paper_presets import PAPER_PRESETS


@dataclass(frozen=True)
class Scale:
    """Settings that all cells of a paper share.

    Attributes:
        settings: By name, as `--set` takes them: `rate` for every method that has one, `fedrec.rate` for that alone.
        by_model: The same for all methods that train a model, by the model's name.
        seeds: How often each cell is trained.
        world_readers: How many readers a generated world has, where no data is given; 0 if data must be given.
        fractions: The shares r of FedNewsRec's Figure 6, which its text does not name.
        seconds: What a training took on average with the generated world, of one processor; 0 if it was never measured.
    """

    settings: Mapping[str, Any]
    by_model: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seeds: int = 1
    world_readers: int = 0
    fractions: tuple[float, ...] = (0.01, 0.02, 0.05)
    seconds: float = 0.0

    def method(self, name: str, model: str | None = None, **changes: Any) -> Method:
        """A method with the settings of this scale, and some changed (`model__x` is the model's setting x)."""
        shared = settings_for(name, self.settings) | ({} if model is None else {"model": model})
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        return make_method(name, {**shared, **self.by_model.get(model or "", {}), **changed})


_SMALL = Scale(
    {
        "preset": "small",
        "rounds": 100,
        "fraction": 0.03,
        "rate": 0.01,
        "centralized.rate": 0.001,
        "fednewsrec.rate": 0.5,
    },
    {"plm_nr": {"rate": 0.001}},
    world_readers=3000,
    seconds=25.0,
)


SCALES = ("small", "paper")


def scale_of(paper: str, name: str) -> Scale:
    """One of `SCALES`, for a paper."""
    return _SMALL if name == "small" else Scale(PAPER_PRESETS[f"{paper}-paper"].settings, seeds=5)
