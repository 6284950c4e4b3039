"""Test vectors of ranking for other devices: of these articles and this history, these scores in this order.

Write them anew with `python tests/support/ranking_vectors.py`; a test requires that the file is up to date.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.first_page import FIRST_PAGE, FirstPage
from discreet.edge.reader.local_ranking import rank, shown_features
from discreet.edge.reader.personal_scores import ReadArticle
from discreet.edge.reader.publisher_terms import HistoryWeights, PublisherTerms
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.ledger import Schedule

PATH = Path(__file__).parents[1] / "edge" / "ranking_vectors.json"
SCHEDULE = Schedule(datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7))
CATEGORIES = ("sports", "food", "", "Ünï ⚽", "news")
SECTIONS = ("", "golf", "Ünï ⚽", "golf")
"""Some have none, and one name is in several categories."""
SHARES = {
    ("sports", "golf"): 0.75,
    ("sports", "Ünï ⚽"): 0.2,
    ("food", "golf"): 1.0,
    ("", "golf"): 0.3,
    ("gone", "x"): 1.0,
    ("news", "Ünï ⚽"): 1e-9,
}
BASE = HistoryWeights(mean=0.3, nearest=0.1, category=0.24, subcategory=0.42, recency=-0.15, popularity=1e-300)
FRONT_PAGE = HistoryWeights(mean=0.30, nearest=0.10, category=0.24, subcategory=0.42)


def terms(dimension: int = 12, weights: HistoryWeights = FRONT_PAGE, **changes: Any) -> PublisherTerms:
    """Terms with public shares of some categories."""
    centre = tuple(round(0.01 * i, 2) for i in range(dimension))
    given: dict[str, Any] = {"weights": weights, "vector_scale": 1 / 127, "vector_unit": 0.11, "centre": centre}
    given["categories"] = {"sports": 0.4, "food": 0.125, "": 0.05, "Ünï ⚽": 0.1}
    return PublisherTerms("m", "s", 6, 0.0, 0.0, 0.0, Adjacency.SUBSTITUTE, SCHEDULE, **{**given, **changes})


def articles(count: int, dimension: int, seed: int) -> list[Article]:
    """Articles with random vectors; some are zeros, and some are alike."""
    rng = np.random.default_rng(seed)
    vectors = np.clip(np.rint(rng.normal(0, 30, (count, dimension))), -127, 127).astype(np.int8)
    vectors[::7] = 0
    vectors[1::11] = 127
    return [
        Article(
            f"N{n}",
            f"Title {n}",
            CATEGORIES[n % len(CATEGORIES)],
            n % 6,
            vectors[n].tobytes(),
            float(np.float32(rng.normal())) if n % 5 else 0.25,
            section=SECTIONS[n // 2 % len(SECTIONS)],
            popularity=n % 4 / 8,
            published=None if n % 6 == 2 else 1000 * (n * 7 % 23),
        )
        for n in range(count)
    ]


def case(
    name: str, clicks: int, asked: PublisherTerms, seed: int, size: int = 40, first_page: FirstPage = FIRST_PAGE
) -> dict[str, Any]:
    known = articles(size, asked.dimension, seed)
    read = articles(max(clicks, 1), asked.dimension, seed + 1)[:clicks]
    history = [ReadArticle(one.vector if n % 9 else b"", one.category, one.section) for n, one in enumerate(read)]
    gone = {known[3].id, known[7].id} if clicks else set()
    ranked = rank(known, [one.base for one in known], history, gone, asked, first_page)
    return {
        "name": name,
        "first_page": vars(first_page),
        "weights": vars(asked.weights),
        "vectors": {
            "dimension": asked.dimension,
            "scale": asked.vector_scale,
            "unit": asked.vector_unit,
            "centre": asked.centre,
            "negative": asked.negative,
            "head": asked.head,
        },
        "categories": [{"name": one, "share": share} for one, share in asked.categories.items()],
        "sections": [
            {"category": category, "name": one, "share": share} for (category, one), share in asked.sections.items()
        ],
        "articles": [
            [
                *(one.id, one.category, one.section, one.base),
                *(base64.b64encode(one.vector).decode(), one.popularity, one.published),
            ]
            for one in known
        ],
        "history": [[one.category, one.section, base64.b64encode(one.vector).decode()] for one in history],
        "read": sorted(gone),
        "order": [one.article.id for one in ranked],
        "scores": [one.score for one in ranked],
        "features": shown_features(known[:20], history, asked).tolist(),
    }


def vectors() -> list[dict[str, Any]]:
    others = HistoryWeights(interest=2.5)
    every = HistoryWeights(interest=-0.7, mean=1.3, nearest=0.4, category=-0.5, subcategory=0.9)
    head = tuple(round(0.3 * (-1) ** i - 0.1 * i, 2) for i in range(5))
    return [
        case("no history", 0, terms(), 1),
        case("one click without a vector", 1, terms(), 2),
        case("a few clicks", 7, terms(), 3),
        case("more clicks than the nearest is looked for in", 70, terms(), 4),
        case("the ranking of other methods", 20, terms(weights=others), 5),
        case("all weights at once", 33, terms(weights=every), 6),
        case("all weights at once, with sections", 33, terms(weights=every, sections=SHARES), 10),
        case("sections", 12, terms(sections=SHARES), 11),
        case("sections without a history", 0, terms(sections=SHARES), 12),
        case("what a base score is made of", 8, terms(weights=BASE, sections=SHARES), 13),
        case("no public category", 12, terms(categories={}), 7),
        case("shares that sum to more than 1", 12, terms(categories={"sports": 0.9, "food": 0.9}), 8),
        case("a head", 9, terms(weights=replace(FRONT_PAGE, head=1.5), sections=SHARES, head=head), 14),
        case("a head alone, and interest", 20, terms(weights=replace(others, head=-1.0), head=head, negative=2), 15),
        case("a head without a history", 0, terms(weights=replace(FRONT_PAGE, head=1.0), head=head), 16),
        case("the longest vectors", 6, terms(1024), 9, size=12),
        case("no limits of the first page", 12, terms(), 17, first_page=FirstPage(places=0)),
        case("other limits of the first page", 12, terms(), 18, first_page=FirstPage(20, 5, 9, 0.5)),
    ]


def text() -> str:
    return "[\n" + ",\n".join(json.dumps(vector) for vector in vectors()) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
