"""The settings of the papers' experiments: what each paper states, and what it leaves open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import DiscreetError
from discreet.methods.method_registry import has_setting, settings_for


@dataclass(frozen=True)
class PaperPreset:
    """An experiment's settings.

    Attributes:
        about: Which paper.
        methods: The methods that the paper compares; the first is its own.
        model: The model that they train.
        settings: By name, as `--set` takes them.
        epsilons: The budgets that the paper tries.
        not_stated: Settings for which the paper names no value, with the reason for the value that is taken here.
    """

    about: str
    methods: tuple[str, ...]
    model: str
    settings: Mapping[str, Any]
    epsilons: tuple[float, ...] = ()
    not_stated: Mapping[str, str] = field(default_factory=dict)

    def settings_for(self, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of one method, with those `given` in place of the paper's."""
        model = {"model": self.model} if has_setting(method, "model") else {}
        return {**settings_for(method, self.settings), **model, **settings_for(method, given)}


PAPER_PRESETS: dict[str, PaperPreset] = {
    "fednewsrec-paper": PaperPreset(
        about="FedNewsRec, section 4.1",
        methods=("fednewsrec", "centralized"),
        model="fednewsrec",
        settings={
            "preset": "published",
            "rounds": 1500,
            "fraction": 0.02,
            "negatives": 4,
            "fednewsrec.rate": 0.5,
            "fednewsrec.clip": 0.005,
            "fednewsrec.epsilon": 2 * 0.005 / 0.015,
            "centralized.rate": 1e-4,
        },
        not_stated={
            "rounds": "Figure 6 converges after about 1,500",
            "centralized.rate": "Adam's rate of the models that the paper compares with",
            "model.recent": "how many clicks are recent; the released code takes 20",
        },
    ),
    "privaterec-paper": PaperPreset(
        about="PrivateRec, section 4",
        methods=("privaterec", "dp_fedrec", "fedrec", "centralized"),
        model="nrms",
        settings={
            "preset": "published",
            "rounds": 1500,
            "fraction": 0.02,
            "negatives": 4,
            "rate": 1e-3,
            "dp_fedrec.clip": 0.005,
            "privaterec.basis": 3,
            "privaterec.padding": 0.2,
            "privaterec.theta": 1.0,
            "centralized.rate": 1e-4,
        },
        epsilons=(1.0, 5.0, 10.0, 20.0, math.inf),
        not_stated={
            "rounds": "its appendix is not at hand; FedNewsRec's value",
            "fraction": "its appendix is not at hand; FedNewsRec's value",
            "negatives": "k in Algorithm 3; FedNewsRec's value",
            "rate": "FedAdam's usual rate",
            "centralized.rate": "Adam's rate of the models that the paper compares with",
            "privaterec.theta": "no θ is named for the attention; 1 never acts, as line 8 is printed",
            "privaterec.basis": "3 is the best of Figure 7; some figures take 5",
        },
    ),
}


def paper_preset(name: str) -> PaperPreset:
    """The preset of that name."""
    if name not in PAPER_PRESETS:
        raise DiscreetError(f"there is no preset '{name}' of a paper; there are {', '.join(PAPER_PRESETS)}")
    return PAPER_PRESETS[name]
