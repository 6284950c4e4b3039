"""A publisher in memory that speaks the protocol honestly, to whom a device can talk without a network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from discreet.edge.reader.http_client import HttpReply
from discreet.protocol.check import API

WEEK = 604_800
START = 1_767_225_600  # 2026-01-01
CATEGORIES = ("sports", "health", "politics", "food")
DIMENSION = 8


class Publisher:
    """A publisher with some articles, cut into pages.

    Args:
        articles: How many.
        topics: On how many topics they lie, in turns.
        page: How many stand on a page.
        changes: What differs in its terms.
    """

    def __init__(self, articles: int = 40, topics: int = 6, *, page: int = 16, **changes: Any) -> None:
        self.model = public_model(topics) | changes
        self.articles: dict[str, dict[str, Any]] = {}
        self.bases: dict[str, float] = {}
        self.page = page
        self.slates = 0
        rng = np.random.default_rng(7)
        for number in range(articles):
            vector = rng.integers(-90, 90, DIMENSION).astype(np.int8)
            self.publish(f"N{number}", CATEGORIES[number % 4], number % topics, vector.tobytes(), 1 - number / articles)

    def publish(self, name: str, category: str, topic: int, vector: bytes, base: float) -> None:
        """Add an article, or change it."""
        text = {"title": f"Title of {name}", "abstract": "", "category": category, "published": START}
        self.articles[name] = {"id": name, **text, "topic": topic, "vector": base64.b64encode(vector).decode()}
        self.bases[name] = float(np.float32(base))

    def remove(self, name: str) -> None:
        """Take an article down."""
        del self.articles[name], self.bases[name]

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        """Answer a request."""
        status, answer = self.answer(method, urlsplit(url).path, body)
        return HttpReply(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def answer(self, method: str, path: str, body: str | None) -> tuple[int, Any]:
        """The status, and the answer as bytes or as what becomes JSON."""
        if (method, path) == ("GET", "/v1/model"):
            return 200, self.model
        if (method, path) == ("GET", "/v1/catalogue"):
            return 200, self.catalogue()
        if method == "GET" and path.startswith("/v1/catalogue/"):
            pages = dict(self.pages())
            name = path.rpartition("/")[2]
            return (200, pages[name]) if name in pages else (404, {"error": "there is no such page"})
        if (method, path) == ("POST", "/v1/recommend"):
            return 200, self.recommend(json.loads(body or "{}"))
        if (method, path) == ("POST", "/v1/reports"):
            return 201, {}
        return 404, {"error": "there is nothing here"}

    def pages(self) -> list[tuple[str, bytes]]:
        """Each page with its name."""
        articles, made = list(self.articles.values()), []
        for first in range(0, len(articles), self.page):
            body = json.dumps({"articles": articles[first : first + self.page]}).encode()
            made.append((hashlib.sha256(body).hexdigest(), body))
        return made

    def catalogue(self) -> dict[str, Any]:
        """The list of pages."""
        best = self._best()[:12]
        counts = [len(json.loads(body)["articles"]) for _, body in self.pages()]
        names = [name for name, _ in self.pages()]
        return {
            "model": self.model["model"],
            "space": self.model["space"],
            "pages": [{"name": name, "articles": count} for name, count in zip(names, counts, strict=True)],
            "bases": base64.b64encode(np.array(list(self.bases.values()), "<f4").tobytes()).decode(),
            "front": [self.articles[name] for name in best],
            "front_bases": [self.bases[name] for name in best],
        }

    def recommend(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A slate of the best articles."""
        self.slates += 1
        shown = [{"id": name, "base": self.bases[name]} for name in self._best()[: body["limit"]]]
        head = {"model": self.model["model"], "slate": f"{self.slates:032x}", "signature": f"signed-{self.slates}"}
        return {**head, "articles": shown}

    def _best(self) -> list[str]:
        return sorted(self.bases, key=lambda name: -self.bases[name])


def public_model(topics: int) -> dict[str, Any]:
    """Terms of ε = 1 for the life of a click."""
    return {
        "api": API,
        "model": "model-1",
        "space": "space-1",
        "topics": topics,
        "epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 1.0},
        "unit": "click",
        "adjacency": "substitute",
        "schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": WEEK},
        "ranking": "shortlist",
        "shortlist_size": 30,
        "diversity": 0.0,
        "weights": {"interest": 2.0, "mean": 0.3, "nearest": 0.1, "category": 0.2, "subcategory": 0.1},
        "vectors": {"dimension": DIMENSION, "scale": 0.01, "unit": 0.5, "centre": [0.01 * i for i in range(DIMENSION)]},
        "categories": [],
        "sections": [],
        "reports": True,
        "words": [],
        "rankings": [],
    }
