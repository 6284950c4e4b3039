"""What a publisher promises its readers and asks of their devices: the public terms, as the server states them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from discreet.edge.reader.views import Arm, OfferedExperiment
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.ledger import Budget, Schedule
from discreet.protocol.check import limits


@dataclass(frozen=True)
class HistoryWeights:
    """How much each feature counts: those of a reader's history (`personal_scores`), and those within a base score.

    Attributes:
        interest: The product with how the mean of the history differs from that of all readers.
        mean: The similarity to the mean of the history.
        nearest: The similarity to the nearest click.
        category: The affinity to the category.
        subcategory: The affinity to the section within its category.
        recency: Minus the log of the age, within the base score.
        popularity: The log of the click rate, within the base score.
        head: What a head makes of the mean of the history.
    """

    interest: float = 0.0
    mean: float = 0.0
    nearest: float = 0.0
    category: float = 0.0
    subcategory: float = 0.0
    recency: float = 0.0
    popularity: float = 0.0
    head: float = 0.0

    def times(self, factor: float) -> HistoryWeights:
        """With the weights of the history multiplied."""
        more = {name: factor * weight for name, weight in asdict(self).items() if name not in _WITHIN_BASE}
        return replace(self, **more)


_WITHIN_BASE = ("recency", "popularity")


@dataclass(frozen=True)
class PublisherTerms:
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
        diversity: How much categories take turns for a reader of whom nothing is known yet, from 0 to 1.
        weights: The weight of each feature of the history, relative to an article's base score.
        vector_scale: What one step of the articles' vectors is worth.
        vector_unit: How much the similarity of two articles varies: similarities are given in this unit.
        centre: The mean interest of all readers, in the coordinates of these vectors.
        negative: How many of the coordinates, the last, count negatively in the product with an interest.
        head: What each of a head's coordinates counts. They are the last of a vector, and no other feature takes them.
        categories: Of the larger categories the share in what readers are shown.
        sections: Of the larger sections, by category and name, the share in what readers are shown of the category.
        reports: Whether the server takes reports for training.
        experiment: The experiment that the publisher makes now, if it makes one.
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
    diversity: float = 0.0
    weights: HistoryWeights = HistoryWeights(interest=1.0)
    vector_scale: float = 1.0
    vector_unit: float = 1.0
    centre: tuple[float, ...] = ()
    negative: int = 0
    head: tuple[float, ...] = ()
    categories: Mapping[str, float] = field(default_factory=dict)
    sections: Mapping[tuple[str, str], float] = field(default_factory=dict)
    reports: bool = True
    experiment: OfferedExperiment | None = None

    def __post_init__(self) -> None:
        for reason in floors(self):
            raise DiscreetError(reason)

    @property
    def hide_length(self) -> bool:
        """Whether the number of clicks is a secret too."""
        return self.adjacency is Adjacency.ADD_REMOVE

    @property
    def dimension(self) -> int:
        """How many coordinates an article's vector has, each of one byte."""
        return len(self.centre)

    @property
    def text_dimension(self) -> int:
        """How many of these coordinates are not a head's."""
        return self.dimension - len(self.head)

    def in_arm(self, arm: Arm) -> PublisherTerms:
        """The terms with which a device of an arm ranks."""
        return self if arm.content == 1 else replace(self, weights=self.weights.times(arm.content))

    @property
    def budget(self) -> Budget:
        """What a ledger that begins with these terms holds for life."""
        return Budget(self.lifetime, adjacency=self.adjacency)

    def require_begun(self, now: float) -> None:
        """Refuse a schedule whose first epoch has not begun."""
        if now < self.schedule.start_seconds:
            begins = self.schedule.begins(0).date()
            raise DiscreetError(f"the publisher's schedule begins on {begins}; is this device's clock right?")

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> PublisherTerms:
        """The terms in an answer of `GET /v1/model` that has been checked against the schema.

        Raises:
            DiscreetError: They promise what does not add up, or so little that it is no promise.
        """
        epsilon, schedule, vectors = fields["epsilon"], fields["schedule"], fields["vectors"]
        if len(vectors["centre"]) != vectors["dimension"]:
            raise DiscreetError(
                f"the publisher's mean reader has {len(vectors['centre'])} numbers, its articles {vectors['dimension']}"
            )
        head = tuple(vectors.get("head", ()))
        if len(head) >= vectors["dimension"]:
            raise DiscreetError(
                f"the publisher's head has {len(head)} numbers, and its articles no more than {vectors['dimension']}"
            )
        try:
            start = datetime.fromisoformat(schedule["start"])
        except ValueError:
            raise DiscreetError(f"the publisher's schedule begins on {schedule['start']}, which is no date") from None
        return cls(
            model=fields["model"],
            space=fields["space"],
            topics=fields["topics"],
            epsilon_sketch=epsilon["sketch"],
            epsilon_label=epsilon["label"],
            lifetime=epsilon["lifetime"],
            adjacency=Adjacency(fields["adjacency"]),
            schedule=Schedule(start, timedelta(seconds=schedule["length_seconds"])),
            ranking=fields["ranking"],
            shortlist_size=fields["shortlist_size"],
            diversity=fields.get("diversity", 0.0),
            weights=HistoryWeights(**fields["weights"]),
            vector_scale=vectors["scale"],
            vector_unit=vectors["unit"],
            centre=tuple(vectors["centre"]),
            negative=vectors.get("negative", 0),
            head=head,
            categories={category["name"]: category["share"] for category in fields["categories"]},
            sections={(one["category"], one["name"]): one["share"] for one in fields.get("sections", [])},
            reports=fields["reports"],
            experiment=OfferedExperiment.from_json(fields["experiment"]) if "experiment" in fields else None,
        )


def floors(terms: PublisherTerms) -> list[str]:
    """Why these terms are no promise that a reader could rely on, each reason in one line; none if they are one."""
    reasons = []
    for name, value in (("sketch", terms.epsilon_sketch), ("label", terms.epsilon_label)):
        if value != 0 and not limits.min_epsilon <= value <= limits.max_epsilon:
            reasons.append(
                f"the publisher's ε for the {name} is {value:g}; this device takes 0, or"
                f" {limits.min_epsilon:g} to {limits.max_epsilon:g}"
            )
    if not 0 <= terms.lifetime <= limits.max_epsilon:
        reasons.append(
            f"the publisher wants to learn ε = {terms.lifetime:g} of a click; this device allows {limits.max_epsilon:g}"
        )
    if not math.fsum((terms.epsilon_sketch, terms.epsilon_label)) <= terms.lifetime:
        reasons.append("the publisher's sketch and label cost more than the lifetime ε that it promises")
    if not limits.min_epoch_seconds <= terms.schedule.length_seconds <= limits.max_epoch_seconds:
        hours = terms.schedule.length_seconds / 3600
        reasons.append(f"the publisher wants a report every {hours:g} hours; this device makes one a day at most")
    return reasons
