"""A publisher that lies, as a seed makes it. It sees nothing but what a device sends, and remembers all of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from urllib.parse import urlsplit

from discreet.audits.hostile_server.lies import BODIES, LIES, STATUSES, as_bytes
from discreet.audits.hostile_server.publisher import CATEGORIES, WEEK, Publisher
from discreet.edge.reader.http_client import HttpReply

_EPSILONS = ((0.7, 0.3), (0.1, 0.4), (0.2, 0.3), (0.4, 0.1), (0.5, 0.5), (0.5, 0.0), (0.8, 0.0))
_NO_EPSILONS = ((4.0, 6.0), (1e-6, 0.0), (7e4, 3e4), (0.0, 0.5), (0.0, 0.0))
_CHANGES: tuple[dict[str, Any], ...] = (
    {"ranking": "local"},
    {"ranking": "server"},
    {"ranking": "shortlist"},
    {"reports": False},
    {"reports": True},
    {"space": "space-2"},
    {"space": "space-1"},
    {"model": "model-2"},
    {"topics": 3},
    {"topics": 24},
    {"shortlist_size": 12},
    {"shortlist_size": 5},
    {"diversity": 1.0},
    {"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 86400}},
    {"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 60}},
    {"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": WEEK}},
)


class Liar(Publisher):
    """Answers with the truth, with other terms, articles and slates, with old answers, or with nonsense.

    Half of all publishers lie about anything. The others are nearly honest, and change one kind of thing again and
    again: what takes several steps is found so.

    Args:
        seed: Which lies, and when.
        marks: A text that is put wherever a device could pick it up and send it back.
    """

    def __init__(self, seed: int, marks: str) -> None:
        rng = Random(f"{seed} publisher")
        super().__init__(24, 6, page=12, adjacency=rng.choice(("substitute", "substitute", "add/remove")))
        terms = (self._other_epsilons, self._other_adjacency, self._other_terms)
        self._changes: tuple[Callable[[Random], None], ...] = (*terms, self._other_texts, self._other_topics)
        honesty = rng.choice((0.5, 0.75, 0.9, 1.0))
        if rng.random() < 0.5:
            self._changes, honesty = (rng.choice(self._changes),), rng.choice((0.95, 1.0))
        if rng.random() < 0.5:
            self._other_epsilons(rng)
        self.heard: list[tuple[str, str, list[tuple[str, str]], str | None]] = []
        self.slate: list[str] = []
        self._seed, self._marks, self._honesty = seed, marks, honesty
        self._answers_given: dict[str, list[Any]] = {}
        self._named: list[tuple[str, str]] = []

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        """Answer one request, in a way that depends on the seed and on how many came before."""
        self.heard.append((method, url, sorted(headers.items()), body))
        rng = Random(f"{self._seed} answer {len(self.heard)}")
        path = urlsplit(url).path
        kind = path.split("/")[2] + ("/page" if path.count("/") > 2 else "")
        status, answer = self.answer(method, path, body)
        if rng.random() > self._honesty:
            status, answer = self._lie(kind, status, answer, rng)
        self._answers_given.setdefault(kind, []).append(copy.deepcopy(answer))
        if kind == "recommend":
            self._note_slate(answer)
        if isinstance(answer, dict):
            answer = {**answer, "cursor": self._marks, "etag": self._marks}
        headers = {"etag": f'"{self._marks}"', "set-cookie": f"id={self._marks}", "location": f"/v1/{self._marks}"}
        return HttpReply(status, as_bytes(answer, rng) if rng.random() > self._honesty else _plain(answer), headers)

    def recommend(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A slate; now and then under a name and a signature that were used before, with other articles."""
        answer = super().recommend(body)
        rng = Random(f"{self._seed} slate {self.slates}")
        if self._named and rng.random() < 0.3:
            answer["slate"], answer["signature"] = rng.choice(self._named)
            answer["articles"] = rng.sample(
                answer["articles"], min(len(answer["articles"]), rng.choice((4, 10, 11, 12)))
            )
        self._named.append((answer["slate"], answer["signature"]))
        return answer

    def change(self, rng: Random) -> None:
        """Other terms or another catalogue, from now on."""
        rng.choice(self._changes)(rng)

    def _other_epsilons(self, rng: Random) -> None:
        sketch, label = rng.choice(_EPSILONS if rng.random() < 0.8 else _NO_EPSILONS)
        lifetime = 1.0 if rng.random() < 0.9 else rng.choice((0.5, 2.0, 10.0, 1e6))
        self.model["epsilon"] = {"sketch": sketch, "label": label, "lifetime": lifetime}

    def _other_adjacency(self, rng: Random) -> None:
        self.model["adjacency"] = rng.choice(("substitute", "add/remove"))

    def _other_terms(self, rng: Random) -> None:
        self.model |= rng.choice(_CHANGES)

    def _other_texts(self, rng: Random) -> None:
        for name in rng.sample(list(self.articles), rng.choice((1, 3, len(self.articles)))):
            self.articles[name][rng.choice(("category", "title"))] = rng.choice(CATEGORIES)

    def _other_topics(self, rng: Random) -> None:
        for name in rng.sample(list(self.articles), rng.choice((1, 2, 8))):
            self.articles[name]["topic"] = rng.choice((0, 1, 2, 5, 5, 23, 1.5, 10**30))

    def _lie(self, kind: str, status: int, answer: Any, rng: Random) -> tuple[int, Any]:
        how = rng.randrange(10)
        if how == 0:
            raise ConnectionError("hung up")
        if how == 1:
            return rng.choice(STATUSES), rng.choice(BODIES)
        if how == 2:
            return rng.choice(STATUSES), answer
        if how == 3 and kind in self._answers_given:
            return status, copy.deepcopy(rng.choice(self._answers_given[kind]))
        if how == 4 and self._answers_given:
            return status, copy.deepcopy(rng.choice(self._answers_given[rng.choice(list(self._answers_given))]))
        if isinstance(answer, bytes):
            return status, as_bytes(rng.choice(LIES)(json.loads(answer), rng), rng)
        return status, rng.choice(LIES)(copy.deepcopy(answer), rng) if answer else answer

    def _note_slate(self, answer: Any) -> None:
        try:
            self.slate = [str(article["id"]) for article in answer["articles"]]
        except (KeyError, TypeError, IndexError):
            self.slate = []


def _plain(answer: Any) -> bytes:
    return answer if isinstance(answer, bytes) else json.dumps(answer).encode()
