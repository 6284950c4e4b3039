"""Audits of the device, registered when this module is imported.

Two kinds. Black box: tell two neighbouring histories apart from the sketch, or two impressions from the label, as the
device makes them (`device/reports.py`). Non-interference: give two devices with different clicks the same releases, and
require that every byte they send is the same: addresses, headers, bodies, their order, length and number.

The second kind runs the whole device, client and all, against a publisher that lives in this file. The releases are
fixed without touching the device: the ledger is asked for them first, so that the device finds them kept.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from discreet.device.client import Client
from discreet.device.reports import label, label_mechanism, sketch_mechanism
from discreet.device.settings import Settings
from discreet.device.terms import Terms
from discreet.device.transport import Reply
from discreet.privacy.audit.black_box import BlackBox
from discreet.privacy.audit.noninterference import NonInterference
from discreet.privacy.audit.registry import Audit, register
from discreet.privacy.audit.sampling import MechanismSampler, SecureNoiseAhead
from discreet.privacy.audit.scores import Contains, Nearness, Outputs
from discreet.privacy.guarantee import Status
from discreet.privacy.ledger import Ledger
from discreet.privacy.mechanisms.base import Mechanism
from discreet.privacy.noise import SecureNoise

_TOPICS, _ARTICLES, _DIMENSION = 6, 24, 8
_WEEK, _FIRST_EPOCH = 604_800, 3
_OPEN = "sports"
_CATEGORIES = (_OPEN, "health", "politics")

Visit = tuple[int, ...]
Log = tuple[tuple[Visit, ...], ...]
"""For each epoch, for each visit to the front page, the numbers of the articles that were clicked there."""


@dataclass(frozen=True)
class SampledLabel:
    """Labels of an impression with these clicks, as the device makes them."""

    clicked: tuple[int, ...]
    choices: int
    epsilon: float

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row of positions per run."""
        mechanism, noise = label_mechanism(self.choices, self.epsilon), SecureNoiseAhead()
        return np.array([label(self.clicked, mechanism, noise).payload.integers for _ in range(runs)], np.float64)


@dataclass(frozen=True)
class Requests:
    """All that a device sends while a log happens to it, given what it releases.

    Attributes:
        hide_length: Whether the publisher promises to hide the number of clicks.
        ranking: How it ranks.
        open_categories: What the reader declared open.
    """

    hide_length: bool = False
    ranking: str = "shortlist"
    open_categories: frozenset[str] = frozenset()

    def __call__(self, log: Log, seed: int) -> bytes:
        """Every request, in order. The releases come from `seed`, whatever the log is."""
        publisher = Publisher(self.hide_length, self.ranking)
        clock = _Clock()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            names = (f"{number:032x}" for number in count())
            client = Client("http://news.test", folder, transport=publisher, clock=clock, random_id=lambda: next(names))
            client.refresh()
            client.settings = Settings(open_categories=self.open_categories)
            prepaid = Prepaid(folder / "ledger", client.device.terms, clock, seed)
            for epoch, visits in enumerate(log, _FIRST_EPOCH):
                for clicked in visits:
                    front = client.front(10)
                    for article in clicked:
                        client.clicked(_name(article), front.slate)
                    if front.slate is not None:
                        prepaid.label(epoch, front.slate, publisher.shown)
                    client.send_due()
                clock.now += _WEEK
                prepaid.sketch(epoch)
                client.refresh()
                client.send_due()
        return publisher.heard()


class Prepaid:
    """Has the ledger keep releases that do not come from any click, so that they are what the device finds."""

    def __init__(self, folder: Path, terms: Terms, clock: _Clock, seed: int) -> None:
        self._ledger = Ledger(folder, terms.budget, terms.schedule, clock=clock)
        self._terms = terms
        self._noise = _Repeatable(seed)

    def sketch(self, epoch: int) -> None:
        """The sketch of an epoch that is over."""
        terms = self._terms
        mechanism = sketch_mechanism(terms.topics, terms.epsilon_sketch, hide_length=terms.hide_length)
        self._keep("sketch", epoch, "", mechanism, [0, 1])

    def label(self, epoch: int, slate: str, size: int) -> None:
        """The label of a slate, where there are labels."""
        if not self._terms.hide_length:
            self._keep("label", epoch, slate, label_mechanism(size, self._terms.epsilon_label), 0)

    def _keep(self, purpose: str, epoch: int, part: str, mechanism: Mechanism, value: Any) -> None:
        made = mechanism.release(value, self._noise).to_bytes()
        self._ledger.release(purpose, epoch, mechanism.guarantee(), lambda: made, part=part)


class Publisher:
    """A server that answers without looking, and remembers every byte it hears."""

    def __init__(self, hide_length: bool, ranking: str) -> None:
        self._requests: list[tuple[Any, ...]] = []
        self._hide_length, self._ranking = hide_length, ranking
        self._slates = count(1)
        self.shown = _ARTICLES

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> Reply:
        """Answer one request."""
        self._requests.append((method, url, sorted(headers.items()), body))
        if "/v1/model" in url:
            return _reply(self._model())
        if "/v1/articles" in url:
            return _reply({"cursor": "1", "more": False, "removed": [], "articles": _articles()})
        if "/v1/recommend" in url:
            shown = [{"id": _name(n), "score": 1.0, "base": 1 - n / _ARTICLES} for n in range(_ARTICLES)]
            slate = f"{next(self._slates):032x}"
            return _reply({"model": "m", "slate": slate, "signature": "s", "personal": True, "articles": shown})
        return _reply({}, 201)

    def heard(self) -> bytes:
        """All requests as bytes."""
        return "\n".join(json.dumps(request) for request in self._requests).encode()

    def _model(self) -> dict[str, Any]:
        return {
            "api": 2,
            "model": "m",
            "space": "s",
            "topics": _TOPICS,
            "epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 1.0},
            "unit": "click",
            "adjacency": "add/remove" if self._hide_length else "substitute",
            "schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": _WEEK},
            "ranking": self._ranking,
            "shortlist_size": _ARTICLES,
            "vectors": {"dimension": _DIMENSION, "scale": 0.01, "centre": [0.0] * _DIMENSION},
            "content_weight": 1.0,
            "reports": True,
        }


class _Clock:
    def __init__(self) -> None:
        self.now = 1_767_225_600 + _FIRST_EPOCH * _WEEK + 60

    def __call__(self) -> float:
        return float(self.now)


class _Repeatable(SecureNoise):
    """Bytes of a seed, for releases that come from no click and reach no server."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def random_bytes(self, count: int) -> bytes:
        return self._generator.bytes(count)


def _reply(answer: dict[str, Any], status: int = 200) -> Reply:
    return Reply(status, json.dumps(answer).encode(), {"etag": '"1"'})


def _name(article: int) -> str:
    return f"N{article}"


def _articles() -> list[dict[str, Any]]:
    vectors = np.random.default_rng(0).integers(-100, 100, (_ARTICLES, _DIMENSION)).astype(np.int8)
    return [
        {
            "id": _name(number),
            "title": f"Article {number}",
            "category": _CATEGORIES[number % len(_CATEGORIES)],
            "topic": number % _TOPICS,
            "vector": base64.b64encode(vectors[number].tobytes()).decode(),
            "base": 1 - number / _ARTICLES,
        }
        for number in range(_ARTICLES)
    ]


# Numbers that are no multiple of 3 are articles of categories that stay sensitive.
REPLACED: tuple[Log, ...] = (
    (((1, 2), ()), ((4,),), ((5, 7, 8),)),
    (((22, 23), ()), ((1,),), ((10, 11, 13),)),
    (((1, 4), ()), ((2,),), ((1, 2, 4),)),
)
"""The same visits with as many clicks, on other articles, of other topics and vectors."""

LONGER: tuple[Log, ...] = (*REPLACED, (((), ()), ((),), ((),)), (((1, 2, 4, 5, 7), (8, 10)), ((11,),), ((),)))
"""Also no clicks at all, and many."""

BESIDE_OPEN: tuple[Log, ...] = (
    (((0, 1), (3,)), ((2,),), ((6, 5),)),
    (((0, 22), (3,)), ((7,),), ((6, 11),)),
)
"""The same open clicks beside other sensitive ones."""

_NO_NOISE_ELSE = "everything sent beside the releases"


def _register() -> None:
    for epsilon, hide_length in ((0.7, False), (3.0, False), (1.0, True)):
        mechanism = sketch_mechanism(12, epsilon, hide_length=hide_length)
        first, second = ([0] * 20, [0] * 20 + [1]) if hide_length else ([0] * 20, [0] * 19 + [1])
        counts = tuple(np.bincount(value, minlength=12).tolist() for value in (first, second))
        examination = BlackBox(
            MechanismSampler(mechanism, first),
            MechanismSampler(mechanism, second),
            runs=200_000,
            scores=(Nearness(1, (counts[0], counts[1])),),
        )
        setting = f"sketch ε={epsilon:g}" + (", length hidden" if hide_length else "")
        register(Audit("device", setting, Status.PROVED, mechanism.guarantee().epsilon, examination))
    for epsilon, first_clicks, second_clicks in ((1.0, (3,), (8,)), (3.0, (3, 5), (3, 8))):
        claim = label_mechanism(20, epsilon).guarantee().epsilon
        changed = (first_clicks[-1], second_clicks[-1])
        labels = (SampledLabel(first_clicks, 20, epsilon), SampledLabel(second_clicks, 20, epsilon))
        setting = f"label ε={epsilon:g}, {len(first_clicks)} clicked of 20"
        examination = BlackBox(*labels, runs=40_000, scores=(Contains(*changed),))
        register(Audit("device", setting, Status.PROVED, claim, examination))
    for setting, device, logs in (
        (_NO_NOISE_ELSE, Requests(), REPLACED),
        (f"{_NO_NOISE_ELSE}, ranked by the server", Requests(ranking="server"), REPLACED),
        (f"{_NO_NOISE_ELSE}, length hidden", Requests(hide_length=True), LONGER),
        (f"{_NO_NOISE_ELSE}, open categories", Requests(open_categories=frozenset({_OPEN})), BESIDE_OPEN),
        (f"{_NO_NOISE_ELSE}, ranked here", Requests(hide_length=True, ranking="local"), LONGER),
    ):
        register(Audit("device", setting, Status.PROVED, 0.0, NonInterference(device, logs, 1)))


_register()
