"""What vendors on several machines agree on before they share: the description of the job, the same bytes for all."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, get_args

from discreet.data.purchases import LIKED
from discreet.errors import DiscreetError
from discreet.nodes import Aggregation
from discreet.privacy.guarantee import Adversary, Guarantee
from discreet.protocol import versions
from discreet.vendors.sharing.sharing_budget import SharingBudget

KIND = "share"
MAX_ITEMS = 1_000_000
MAX_NAME = 200
_MAX_RATING = 1e6
_MAX_SEED = 2**63 - 1
_FIELDS = [
    "kind", "format", "name", "epsilon", "delta", "colluders", "nodes", "items", "scale", "seed", "feedback",
    "threshold", "aggregation", "promise",
]  # fmt: skip

Feedback = Literal["explicit", "implicit"]
"""What is shared: ratings (explicit), or what was bought, clicked or liked (implicit)."""


@dataclass(frozen=True)
class ShareJob:
    """One sharing, from the first round to the last. Another name makes it another job, with another ε.

    Attributes:
        name: What the consortium calls it.
        epsilon: ε of a user for all its rounds.
        delta: δ.
        colluders: How many vendors may tell a reader their noise.
        nodes: The numbers of the vendors' nodes, ascending.
        items: The public catalogue: the items' ids, whose order numbers them.
        scale: The lowest and the highest rating.
        seed: For nodes that are set to simulated noise; others draw from the operating system whatever it is.
        feedback: Whether ratings are shared, or purchases.
        threshold: The rating from which on a rated item counts as liked, where purchases are shared and a vendor has
            ratings.
        aggregation: How vendors' answers are summed.
        format: Of the description. Releases of format 3 are read as before; its projections use 200 items at most.
    """

    name: str
    epsilon: float
    delta: float
    colluders: int
    nodes: tuple[int, ...]
    items: tuple[str, ...]
    scale: tuple[float, float]
    seed: int | None = None
    feedback: Feedback = "explicit"
    threshold: float = LIKED
    aggregation: Aggregation = "secure sum"
    format: int = versions.SHARING_JOB

    def __post_init__(self) -> None:
        _ = self.budget
        if list(self.nodes) != sorted(set(self.nodes)):
            raise DiscreetError("the nodes of a job are different numbers in ascending order")
        if not 2 <= len(self.items) <= MAX_ITEMS or len(set(self.items)) != len(self.items):
            raise DiscreetError(f"a catalogue has from 2 to {MAX_ITEMS:,} items, each once")
        if len(self.name) > MAX_NAME or not 0 <= (self.seed or 0) <= _MAX_SEED:
            raise DiscreetError(f"a job's name has at most {MAX_NAME} characters, its seed is from 0 to 2^63 - 1")
        low, high = self.scale
        if not (-_MAX_RATING <= low < high <= _MAX_RATING and high - low >= 1 / _MAX_RATING):
            raise DiscreetError(f"a scale goes from the lowest to the highest rating, not from {low:g} to {high:g}")
        if self.feedback not in get_args(Feedback) or not -_MAX_RATING <= self.threshold <= _MAX_RATING:
            raise DiscreetError(f"a job is about {' or '.join(get_args(Feedback))} feedback, liked from a rating on")
        if self.aggregation not in get_args(Aggregation):
            raise DiscreetError(
                f"answers are summed by {' or '.join(get_args(Aggregation))}, not by {self.aggregation}"
            )

    @property
    def budget(self) -> SharingBudget:
        """What all rounds together may cost a user."""
        return SharingBudget(self.epsilon, self.delta, len(self.nodes), self.colluders)

    def guarantee(self) -> Guarantee:
        """What a user is promised. Two aggregators must not collude; of the vendors, the budget says how many may."""
        promised = self.budget.guarantee()
        if self.aggregation == "two aggregators":
            return replace(promised, adversary=Adversary.OTHER_VENDORS_AND_AGGREGATOR)
        return promised

    def to_bytes(self) -> bytes:
        """One line of JSON. What users are promised is a part of it, so that all vendors of a sum have agreed on it."""
        values = (KIND, self.format, self.name, float(self.epsilon), float(self.delta), self.colluders)
        lists = (list(self.nodes), list(self.items), [float(end) for end in self.scale], self.seed)
        told = (self.feedback, float(self.threshold), self.aggregation, str(self.guarantee()))
        fields = dict(zip(_FIELDS, (*values, *lists, *told), strict=True))
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"

    @classmethod
    def from_bytes(cls, description: bytes) -> ShareJob:
        """The inverse of `to_bytes`, for exactly what it writes.

        Raises:
            DiscreetError: the description is another job's, of another version, or not one that vendors can keep to.
        """
        try:
            fields = json.loads(description)
        except (ValueError, RecursionError) as error:
            raise DiscreetError("the job's description is not JSON") from error
        if not isinstance(fields, dict) or fields.get("kind") != KIND:
            raise DiscreetError("the job is not one of vendors' sharing")
        if fields.get("format") not in versions.SHARING_JOBS_READ:
            known = " and ".join(map(str, versions.SHARING_JOBS_READ))
            raise DiscreetError(f"the job has format {fields.get('format')}; this version knows {known}")
        if list(fields) != _FIELDS or not _typed(fields):
            raise DiscreetError("the job's description is not as vendors write it")
        job = cls(
            name=fields["name"],
            epsilon=fields["epsilon"],
            delta=fields["delta"],
            colluders=fields["colluders"],
            nodes=tuple(fields["nodes"]),
            items=tuple(fields["items"]),
            scale=(fields["scale"][0], fields["scale"][1]),
            seed=fields["seed"],
            feedback=fields["feedback"],
            threshold=fields["threshold"],
            aggregation=fields["aggregation"],
            format=fields["format"],
        )
        if job.to_bytes() != description:
            raise DiscreetError("the job's description is not as vendors write it")
        return job

    @cached_property
    def digest(self) -> str:
        """The name of the job in files: all of its description counts."""
        return sha256(self.to_bytes()).hexdigest()

    @property
    def catalogue_digest(self) -> str:
        """Of the items in their order, and the scale."""
        return sha256(json.dumps([list(self.items), list(self.scale)]).encode()).hexdigest()


def _typed(fields: dict[str, Any]) -> bool:
    """Whether JSON has the types that were written; a bool is not an int here."""
    seed, scale = fields["seed"], fields["scale"]
    return (
        isinstance(fields["name"], str)
        and all(isinstance(fields[key], str) for key in ("feedback", "aggregation"))
        and all(type(fields[key]) is float and math.isfinite(fields[key]) for key in ("epsilon", "delta", "threshold"))
        and all(type(fields[key]) is int for key in ("colluders", "format"))
        and _list_of(fields["nodes"], int)
        and _list_of(fields["items"], str)
        and _list_of(scale, float)
        and len(scale) == 2
        and (seed is None or (type(seed) is int and seed >= 0))
    )


def _list_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)
