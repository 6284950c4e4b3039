"""An experiment: several ways to rank, of which each device draws one by itself, and how good each turns out to be.

    # discreet.toml
    [experiment]
    name = "less popularity"

    [[experiment.arms]]
    name = "now"

    [[experiment.arms]]
    name = "half"
    popularity = 0.5      # what the weight of popularity is multiplied with; `content` is that of the reader's history

The first arm is what the others are compared with. Other arms are another experiment, with a new draw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.protocol.check import check
from discreet.protocol.quality_cells import EVERYBODY

_ARM = ("name", "popularity", "content")


@dataclass(frozen=True)
class ExperimentArm:
    """One way to rank: what the weights are multiplied with."""

    name: str
    popularity: float = 1.0
    content: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """The arms under a name."""

    name: str
    arms: tuple[ExperimentArm, ...]

    @property
    def id(self) -> str:
        """A digest of all that it is."""
        content = json.dumps([self.name, [list(asdict(arm).values()) for arm in self.arms]])
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """As /v1/model tells it."""
        return {"id": self.id, "name": self.name, "arms": [asdict(arm) for arm in self.arms]}


def arm_names(experiment: Experiment | None) -> list[str]:
    """The names of arms as devices know them."""
    if experiment is None:
        return [EVERYBODY]
    return [f"{experiment.id}/{arm.name}" for arm in experiment.arms]


def read_experiment(table: Any, path: Path) -> Experiment:
    """The experiment of a configuration file.

    Raises:
        InputError: It is not one that devices take.
    """
    try:
        if not isinstance(table, Mapping) or set(table) != {"name", "arms"}:
            raise DiscreetError("[experiment] has a name and arms")
        for arm in table["arms"] if isinstance(table["arms"], list) else [None]:
            if not isinstance(arm, Mapping) or "name" not in arm or not set(arm) <= set(_ARM):
                raise DiscreetError("an arm has a name, and may have popularity and content")
        arms = [ExperimentArm(**{**arm, **_numbers(arm)}) for arm in table["arms"]]
        found = Experiment(table["name"], tuple(arms))
        check("experiment", found.to_json())
        if len({arm.name for arm in arms}) < len(arms):
            raise DiscreetError("two arms have one name")
    except (DiscreetError, TypeError) as error:
        raise InputError(path, f"the experiment cannot be used: {error}") from None
    return found


def _numbers(arm: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(arm[name]) if isinstance(arm[name], int) else arm[name] for name in _ARM[1:] if name in arm}
