"""What a publisher promises its readers and asks of their devices: the public terms, as the server states them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.ledger import Budget, Schedule

API = 2
RANKINGS = ("local", "shortlist", "server")


@dataclass(frozen=True)
class Terms:
    """The public terms.

    Attributes:
        model: The version of the server's model.
        space: The version of the topic space; counts in one space mean nothing in another.
        topics: How many topics it has.
        epsilon_sketch: What a click pays for its epoch's sketch.
        epsilon_label: What a click pays for its impression's label.
        lifetime: The most that a click pays over its life.
        adjacency: Which neighbours are indistinguishable. With add/remove the number of clicks is hidden too.
        schedule: When epochs begin.
        ranking: Who ranks: the device alone, the device after the server's shortlist, or the server.
        shortlist_size: How many articles to ask for, the same whatever was read.
        content_weight: How much the similarity with the history weighs beside an article's base score.
        vector_scale: What one step of the articles' vectors is worth.
        centre: The mean interest of all readers, in the coordinates of these vectors.
        reports: Whether the server takes reports for training.
    """

    model: str
    space: str
    topics: int
    epsilon_sketch: float
    epsilon_label: float
    lifetime: float
    adjacency: Adjacency
    schedule: Schedule
    ranking: str = "shortlist"
    shortlist_size: int = 200
    content_weight: float = 1.0
    vector_scale: float = 1.0
    centre: tuple[float, ...] = ()
    reports: bool = True

    def __post_init__(self) -> None:
        for name, value in (("sketch", self.epsilon_sketch), ("label", self.epsilon_label)):
            if not (math.isfinite(value) and value >= 0):
                raise DiscreetError(f"the publisher's ε for the {name} is {value}; it must be a number of at least 0")
        if math.fsum((self.epsilon_sketch, self.epsilon_label)) > self.lifetime:
            raise DiscreetError("the publisher's sketch and label cost more than the lifetime ε that it promises")
        if self.topics < 2:
            raise DiscreetError(f"the publisher has {self.topics} topics; a sketch needs at least 2")
        if self.ranking not in RANKINGS:
            raise DiscreetError(f"the publisher ranks by {self.ranking!r}; known are {', '.join(RANKINGS)}")

    @property
    def hide_length(self) -> bool:
        """Whether the number of clicks is a secret too."""
        return self.adjacency is Adjacency.ADD_REMOVE

    @property
    def budget(self) -> Budget:
        """What a ledger that begins with these terms holds for life."""
        return Budget(self.lifetime, adjacency=self.adjacency)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Terms:
        """The terms in the answer of `GET /v1/model`.

        Raises:
            DiscreetError: They cannot be read, or promise what does not add up.
        """
        if fields.get("api") != API:
            raise DiscreetError(f"the server speaks api {fields.get('api')!r}, this device {API}; update one of them")
        try:
            epsilon, schedule, vectors = fields["epsilon"], fields["schedule"], fields["vectors"]
            if fields["unit"] != "click":
                raise ValueError(f"unit {fields['unit']!r} is not a click")
            return cls(
                model=str(fields["model"]),
                space=str(fields["space"]),
                topics=int(fields["topics"]),
                epsilon_sketch=float(epsilon["sketch"]),
                epsilon_label=float(epsilon["label"]),
                lifetime=float(epsilon["lifetime"]),
                adjacency=Adjacency(fields["adjacency"]),
                schedule=Schedule(
                    datetime.fromisoformat(schedule["start"]), timedelta(seconds=int(schedule["length_seconds"]))
                ),
                ranking=str(fields["ranking"]),
                shortlist_size=int(fields["shortlist_size"]),
                content_weight=float(fields["content_weight"]),
                vector_scale=float(vectors["scale"]),
                centre=tuple(float(value) for value in vectors["centre"]),
                reports=bool(fields["reports"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DiscreetError(f"the server's terms cannot be read: {error!r}") from error
