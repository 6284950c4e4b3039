"""A publisher's answers as bytes, made by hand, and the page's own files: a site without a server."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from chromium import WEB

TYPES = {".js": "text/javascript", ".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml"}
DIMENSION, TOPICS = 64, 16


def articles_of(count: int, categories: int = 12) -> list[dict[str, Any]]:
    """Some articles."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(2000)])
    texts = [" ".join(row) for row in words[rng.integers(0, len(words), (count, 30))].tolist()]
    vectors = rng.integers(-90, 90, (count, DIMENSION)).astype(np.int8)
    return [
        {
            "id": f"N{number}",
            "title": text[:60],
            "abstract": text,
            "vector": base64.b64encode(vectors[number].tobytes()).decode(),
            "category": f"category{number % categories}",
            "topic": number % TOPICS,
            "published": 1767225600 + 3600 * number,
        }
        for number, text in enumerate(texts)
    ]


def answers_of(articles: list[dict[str, Any]], *, page_size: int = 512, front: int = 60) -> dict[str, bytes]:
    """What the publisher of these articles answers, by path; the first ones are the best."""
    bases = np.linspace(1, 0, len(articles)).astype("<f4")
    model = {
        "api": 3,
        "model": "m",
        "space": "s",
        "topics": TOPICS,
        "epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 1.0},
        "unit": "click",
        "adjacency": "substitute",
        "schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 604800},
        "ranking": "local",
        "shortlist_size": 200,
        "diversity": 0.3,
        "weights": {"interest": 1.0, "mean": 0.0, "nearest": 0.0, "category": 0.0},
        "categories": [],
        "vectors": {"dimension": DIMENSION, "scale": 0.01, "unit": 1.0, "centre": [0.0] * DIMENSION},
        "reports": False,
    }
    cut = [articles[at : at + page_size] for at in range(0, len(articles), page_size)]
    pages = {hashlib.sha256(body).hexdigest(): body for body in (_json({"articles": part}) for part in cut)}
    contents = {
        "model": "m",
        "space": "s",
        "pages": [{"name": name, "articles": len(part)} for name, part in zip(pages, cut, strict=True)],
        "bases": base64.b64encode(bases.tobytes()).decode(),
        "front": articles[:front],
        "front_bases": bases[:front].tolist(),
    }
    found = {"/v1/model": _json(model), "/v1/catalogue": _json(contents)}
    return found | {f"/v1/catalogue/{name}": body for name, body in pages.items()}


def fulfil(route: Any, answers: dict[str, bytes]) -> None:
    """Answer a request of the page: from the answers, or from its own files."""
    path = urlsplit(route.request.url).path
    if path in answers:
        route.fulfill(body=answers[path], content_type="application/json")
        return
    name = "index.html" if path == "/" else path.removeprefix("/web/").removeprefix("/")
    route.fulfill(body=(WEB / name).read_text(encoding="utf-8"), content_type=TYPES[Path(name).suffix])


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
