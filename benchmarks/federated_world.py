"""A generated news log of the real proportions, for benchmarks: lengths and skew as in MIND, no text.

Titles have 11.5 words on average, histories 32 clicks (log-normal, at most 50 are used), slates 37 articles, and clicks
fall on articles by a power law, so that the readers of a round share many of them.
"""

from __future__ import annotations

import numpy as np
import torch

from discreet.data.news import Impressions
from discreet.models.features import ArticleTable, TableSizes

ARTICLES = 50_000
WORDS = 30_000


def make_impressions(readers: int, seed: int = 0, per_reader: int = 3) -> Impressions:
    """Impressions of `readers`, `per_reader` on average, with 1.5 clicks each."""
    rng = np.random.default_rng(seed)
    count = readers * per_reader
    reader = np.sort(rng.integers(0, readers, count)).astype(np.int32)
    rng.shuffle(reader)
    sizes = np.clip(rng.lognormal(3.2, 0.9, count).astype(np.int64), 2, 300)
    slate = np.concatenate(([0], np.cumsum(sizes)))
    shown = _popular(rng, int(slate[-1]))
    clicked = rng.random(len(shown)) < 0.5 / np.repeat(sizes, sizes)
    clicked[slate[:-1] + rng.integers(0, sizes)] = True
    histories = np.clip(rng.lognormal(3.5, 0.8, readers), 1, 400).astype(np.int64)
    ends = np.cumsum(histories)
    return Impressions(
        reader=reader,
        time=np.arange(count),
        slate=slate,
        shown=shown,
        clicked=clicked,
        timeline=_popular(rng, int(ends[-1])),
        history_start=(ends - histories)[reader],
        history_stop=ends[reader],
    )


def make_table(seed: int = 0, title_words: int = 30, abstract_words: int = 0) -> ArticleTable:
    """Articles with random words, as models that read words take them."""
    rng = np.random.default_rng(seed)
    return ArticleTable(
        TableSizes(words=WORDS, categories=19, subcategories=286),
        titles=_texts(rng, title_words, 11.5, 3.4),
        abstracts=_texts(rng, abstract_words, 35, 12) if abstract_words else None,
        category=torch.from_numpy(rng.integers(1, 19, ARTICLES)),
        subcategory=torch.from_numpy(rng.integers(1, 286, ARTICLES)),
    )


def make_vector_table(seed: int = 0, size: int = 384) -> ArticleTable:
    """Articles with random text vectors of length 1, as a frozen language model would give them."""
    vectors = np.random.default_rng(seed).standard_normal((ARTICLES, size), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return ArticleTable(TableSizes(vector=size), vectors=torch.from_numpy(vectors))


def _texts(rng: np.random.Generator, width: int, mean: float, spread: float) -> torch.Tensor:
    lengths = np.clip(np.rint(rng.normal(mean, spread, ARTICLES)), 1, width)
    common = 1 / (np.arange(WORDS - 2) + 10.0) ** 1.05  # as often the same word as in MIND's titles
    words = rng.choice(np.arange(2, WORDS), (ARTICLES, width), p=common / common.sum())
    return torch.from_numpy(np.where(np.arange(width) < lengths[:, None], words, 0).astype(np.int32))


def _popular(rng: np.random.Generator, count: int) -> np.ndarray:
    """Articles by a power law: the few most clicked of MIND have about 0.5 % of the clicks each."""
    weights = 1 / (np.arange(ARTICLES) + 30.0)
    return rng.choice(ARTICLES, count, p=weights / weights.sum()).astype(np.int32)
