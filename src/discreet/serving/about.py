"""What /v1/model says: the terms of every release, the three ways to rank with what each costs, and the promise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.aggregation.task import Task
from discreet.errors import InputError
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.privacy.ledger import Schedule
from discreet.protocol.check import API, SCHEMA
from discreet.protocol.infinity import to_plain
from discreet.serving.catalogue_pages import CataloguePages
from discreet.serving.category_shares import category_shares, section_shares
from discreet.serving.learning.experiment import Experiment
from discreet.serving.model import Served
from discreet.serving.snapshot import Snapshot

Ranking = Literal["local", "shortlist", "server"]
RANKINGS: tuple[Ranking, ...] = ("local", "shortlist", "server")
FEATURES: tuple[str, ...] = tuple(SCHEMA["model"]["properties"]["weights"]["properties"])
"""Of a reader's history, as devices make them (`edge.reader.personal_scores`)."""
VISITS_A_DAY = 10
"""How often a reader is taken to ask for articles, for the figures in bytes a day."""
_DAY = 86_400
_KNOWN_DAYS = 28
_RESULT = 70  # bytes of an article in an answer without details
_HEADERS = 600  # bytes of a request's and an answer's HTTP headers
_WORDS = {
    "local": "The device downloads the catalogue and ranks by itself: serving sends nothing, ε = 0.",
    "shortlist": "The device sends its sketches, gets a shortlist with vectors, and ranks that with its exact history.",
    "server": "The device sends its sketches, and the server ranks: fewest bytes, and noise touches the order.",
}


@dataclass(frozen=True)
class Offer:
    """What the publisher chose.

    Attributes:
        ranking: How devices are asked to rank.
        schedule: The public epochs.
        reports: Whether reports are asked for and taken.
        shortlist_size: How many articles a shortlist has.
        diversity: How much categories take turns for a reader of whom nothing is known, from 0 to 1.
        qualities: For each way to rank, what was measured of it.
        report_days: How long reports are kept after they have been counted.
        sums: What is said of the sums that devices contribute to, in plain sentences.
        experiment: The arms of which each device draws one, if there is an experiment.
        tasks: The terms of these sums.
        warning: What everybody must know of them first; empty if there is nothing.
    """

    ranking: Ranking
    schedule: Schedule
    reports: bool = True
    shortlist_size: int = 200
    diversity: float = 0.3
    qualities: Mapping[str, Any] | None = None
    report_days: int = 90
    sums: tuple[str, ...] = ()
    experiment: Experiment | None = None
    tasks: tuple[Task, ...] = ()
    warning: str = ""

    @property
    def report_epochs(self) -> int:
        """How many epochs reports are kept, and slates reported on."""
        return math.ceil(timedelta(days=self.report_days) / self.schedule.length)


def learns_from_reports(model: Served, ranking: Ranking) -> bool:
    """Whether anything is learnt from what devices would report: how popular articles are, from labels of slates.

    Where devices rank by themselves there are no slates, and a model may give no weight to popularity.
    """
    return ranking != "local" and model.epsilon_label > 0 and model.uses_labels


def read_qualities(run: Path) -> dict[str, Any]:
    """What was measured of the three ways to rank (`rankings.json` of a run), or nothing."""
    path = run / "rankings.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(path, f"is damaged ({error}); measure it again or remove it") from error
    if not isinstance(found, dict):
        raise InputError(path, "must be an object with a field for each ranking; measure it again or remove it")
    return found


def bytes_a_day(snapshot: Snapshot, catalogue: CataloguePages, topics: int, shortlist_size: int) -> dict[str, int]:
    """What each way to rank costs a device a day, from the catalogue as it is.

    Local: the list of pages at each of ten visits, and the articles of a mean day (of the latest four weeks that have
    any). Others: ten visits with a sketch of each of the latest 12 epochs, and the answers.
    """
    entry = float(np.mean([len(entry) for entry in snapshot.entries[-5000:]])) + 20 if len(snapshot) else 0.0
    listed = snapshot.listed_at
    latest = int(listed.max(initial=0))
    recent = listed[listed > latest - _KNOWN_DAYS * _DAY]
    days = max(1.0, (latest - float(recent.min())) / _DAY) if len(recent) else 1.0
    sketch = 60 + 4 * (64 + topics) / 3
    ask = _HEADERS + 60 + 12 * sketch
    return {
        "local": round(
            VISITS_A_DAY * (_HEADERS + len(catalogue.listing.compressed)) + len(recent) / days * catalogue.bytes_of_one
        ),
        "shortlist": round(VISITS_A_DAY * (ask + shortlist_size * (entry + _RESULT / 2))),
        "server": round(VISITS_A_DAY * (ask + 20 * (entry + _RESULT / 2))),
    }


def document(
    model: Served, offer: Offer, snapshot: Snapshot, catalogue: CataloguePages, scale: float
) -> dict[str, Any]:
    """All fields of /v1/model."""
    guarantee = model.guarantee()
    topics, head = len(model.space), getattr(model, "head_weights", ())
    volume = bytes_a_day(snapshot, catalogue, topics, offer.shortlist_size)
    cost = {"local": 0.0, "shortlist": model.epsilon_sketch, "server": model.epsilon_sketch}
    return {
        "api": API,
        "model": model.version,
        "kind": getattr(model, "kind", "topics"),
        "space": model.space.version,
        "topics": topics,
        "epsilon": {
            "sketch": to_plain(model.epsilon_sketch),
            "label": to_plain(model.epsilon_label),
            "lifetime": to_plain(guarantee.epsilon),
        },
        "unit": str(guarantee.unit),
        "adjacency": str(guarantee.adjacency),
        "schedule": offer.schedule.to_json(),
        "ranking": offer.ranking,
        "shortlist_size": offer.shortlist_size,
        "diversity": offer.diversity,
        "rankings": [
            {
                "name": name,
                "epsilon": to_plain(cost[name]),
                "bytes_a_day": volume[name],
                "quality": (offer.qualities or {}).get(name),
                "words": _WORDS[name],
            }
            for name in (RANKINGS if model.epsilon_sketch else RANKINGS[:1])
        ],
        "vectors": {
            "dimension": len(model.centre),
            "scale": scale,
            "unit": float(getattr(model, "unit", 1.0)),
            "centre": [float(x) for x in model.centre],
            "negative": int(getattr(model, "negative", 0)),
            **({"head": [float(x) for x in head]} if len(head) else {}),
        },
        "weights": {name: float(model.device_weights.get(name, 0.0)) for name in FEATURES},
        "categories": category_shares(snapshot) if model.device_weights.get("category") else [],
        "sections": section_shares(snapshot) if model.device_weights.get("subcategory") else [],
        "guarantee": guarantee.to_json(),
        "words": promise(model, offer),
        "reports": offer.reports,
        **({} if offer.experiment is None else {"experiment": offer.experiment.to_json()}),
    }


def promise(model: Served, offer: Offer) -> list[str]:
    """What is promised, to whom, and what is not, in plain sentences."""
    lines = [
        *_of_what_leaves(model),
        "It does not cover what any website sees: that your device asked, when, from which address, and which articles"
        " you open on the publisher's site.",
    ]
    if offer.ranking == "local":
        lines.append("Here your device ranks by itself: for ranking the news it sends nothing at all.")
    lines += offer.sums
    if offer.experiment is not None:
        lines.append(
            f"The publisher compares {len(offer.experiment.arms)} ways to rank. Your device draws one by itself, and"
            " tells nobody which; how good each is comes from sums over all readers."
        )
    if not offer.reports:
        lines.append("This server asks for no reports.")
    return lines


def _of_what_leaves(model: Served) -> list[str]:
    """The promise about what leaves a device."""
    if model.guarantee().epsilon == 0:
        own = f"What you read stays on your device, and for ranking nothing of it leaves: {model.guarantee()}."
        return [own, *of_training(model)]
    return _of_reports(model)


def of_training(model: Served) -> list[str]:
    """What it cost readers that a run was trained; nothing where none was."""
    training: Guarantee | None = getattr(model, "training", None)
    return [] if training is None else [f"What it ranks with was trained on readers' devices: {training}."]


def _of_reports(model: Served) -> list[str]:
    """The promise of a model that is trained on releases alone."""
    guarantee = model.guarantee()
    sketch, label = shown_epsilon(model.epsilon_sketch), shown_epsilon(model.epsilon_label)
    return [
        f"What you read stays on your device. What leaves it is noised there first: {guarantee}.",
        f"Each click is counted once in a noised sketch (ε = {sketch}), and may be reported once in a noised label"
        f" (ε = {label}); whatever the server does with them later costs nothing more.",
        "A smaller ε is a stronger promise: whoever sees all that your device sent can tell apart two histories that"
        " differ in one click hardly better than by guessing when ε is small.",
        "The promise is about each click, not about all your reading: many clicks on one subject may show in the sum.",
    ]


def as_bytes(fields: dict[str, Any]) -> bytes:
    """JSON."""
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
