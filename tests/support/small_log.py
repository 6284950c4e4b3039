"""A small generated news log for the federated tests."""

import numpy as np
import torch

from discreet.data.news import Impressions
from discreet.models.features import ArticleTable, TableSizes

ARTICLES, WORDS = 40, 60


def make_impressions(readers: int = 12, seed: int = 0, longest: int = 12, growing: bool = False) -> Impressions:
    """Readers with histories from nothing to `longest` clicks, slates of 2 to 8, some without an unclicked article."""
    rng = np.random.default_rng(seed)
    count = readers * 3
    reader = rng.integers(0, readers, count).astype(np.int32)
    sizes = rng.integers(2, 9, count)
    slate = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    history_sizes = rng.integers(0, longest + 1, readers)
    history_sizes[:2] = 0, longest
    ends = np.cumsum(history_sizes + 3)
    seen = rng.integers(0, 4, count) if growing else np.zeros(count, dtype=np.int64)
    start = (ends - history_sizes - 3)[reader]
    shown = np.concatenate([rng.choice(ARTICLES, size, replace=False) for size in sizes]).astype(np.int32)
    clicked = rng.random(len(shown)) < 0.35
    clicked[slate[0] : slate[1]] = True
    return Impressions(
        reader=reader,
        time=np.arange(count),
        slate=slate,
        shown=shown,
        clicked=clicked,
        timeline=rng.integers(0, ARTICLES, ends[-1]).astype(np.int32),
        history_start=start,
        history_stop=start + history_sizes[reader] + seen,
    )


def make_table(
    seed: int = 0, title_words: int = 9, abstract_words: int = 7, vector: int = 10, *, reader_id: bool = False
) -> ArticleTable:
    """Articles with titles and abstracts from no word to the full length, categories and text vectors of length 1.

    With `reader_id` the table has numbers for the log's twelve readers, one of whom did not train.
    """
    generator = torch.Generator().manual_seed(seed)

    def texts(width: int) -> torch.Tensor:
        words = torch.randint(1, WORDS, (ARTICLES, width), generator=generator)
        lengths = torch.randint(0, width + 1, (ARTICLES, 1), generator=generator)
        return torch.where(torch.arange(width) < lengths, words, 0)

    def directions() -> torch.Tensor:
        drawn = torch.randn(ARTICLES, vector, generator=generator, dtype=torch.float64)
        return torch.nn.functional.normalize(drawn, dim=-1)

    titles = texts(title_words)
    named = torch.randint(0, 3, titles.shape, generator=generator) * torch.randint(
        1, 3, titles.shape, generator=generator
    )
    return ArticleTable(
        TableSizes(words=WORDS, categories=5, subcategories=7, vector=vector, entities=5, readers=12),
        titles=titles,
        entities=torch.where(titles != 0, named, 0),
        reader_numbers=np.arange(1, 1 + 12) % 12 if reader_id else None,
        abstracts=texts(abstract_words),
        category=torch.randint(0, 5, (ARTICLES,), generator=generator),
        subcategory=torch.randint(0, 7, (ARTICLES,), generator=generator),
        vectors=directions(),
    )
