"""A small world of articles that have everything, and every model at a small size over it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from discreet.models.features import ArticleTable
from discreet.models.model_registry import make_model
from discreet.models.news_model import ArticleBatch, NewsModel, TableSizes
from discreet.models.npa import NPA

TITLE_WORDS, ABSTRACT_WORDS, WORDS = 20, 30, 60

KINDS = (
    "nrms",
    "fednewsrec",
    "fednewsrec without short term",
    "fednewsrec without long term",
    "naml",
    "fm",
    "dfm",
    "ebnr",
    "npa",
    "plm_nr",
    "plm_nr with layers",
    "bilinear",
)


def random_texts(n: int, columns: int, generator: torch.Generator) -> Tensor:
    """Texts of every length from none to full, the first rows being the extremes."""
    lengths = torch.randint(0, columns + 1, (n,), generator=generator)
    edges = torch.tensor([columns, columns - 1, columns - 2, columns - 3, 0, 1, 2])
    lengths[: len(edges)] = edges
    words = torch.randint(1, WORDS, (n, columns), generator=generator, dtype=torch.int32)
    return words * (torch.arange(columns) < lengths[:, None])


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Tiny matrices: several threads would only wait for one another."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def table() -> ArticleTable:
    generator = torch.Generator().manual_seed(7)
    n = 40
    vectors = torch.nn.functional.normalize(torch.randn(n, 24, generator=generator), dim=-1)
    vectors[4] = 0  # the article without words
    return ArticleTable(
        TableSizes(words=WORDS, categories=4, subcategories=6, vector=24, entities=5, readers=3),
        titles=random_texts(n, TITLE_WORDS, generator),
        abstracts=random_texts(n, ABSTRACT_WORDS, generator).flip(0),
        category=torch.randint(0, 4, (n,), generator=generator),
        subcategory=torch.randint(0, 6, (n,), generator=generator),
        vectors=vectors,
    )


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny_bert")
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
    )
    torch.manual_seed(3)
    BertModel(config).save_pretrained(folder)
    return folder


class NPAForOne(NPA):
    """NPA as reader 1 has it, so that it can be called as the models that do not know readers."""

    def encode_articles(self, batch: ArticleBatch) -> Tensor:
        return super().encode_articles(replace(batch, reader=torch.ones_like(batch.titles[..., 0])))

    def encode_readers(self, clicks: Tensor, copies: Tensor, reader: Tensor | None = None) -> Tensor:
        return super().encode_readers(clicks, copies, torch.ones_like(copies[..., 0], dtype=torch.int64))


@pytest.fixture(scope="session")
def new_model(table: ArticleTable, tiny_bert: Path) -> Callable[..., NewsModel]:
    """Make a model of one of `KINDS`, with parameters moved at random away from special starting values."""

    def make(kind: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> NewsModel:
        changes: dict[str, Any] = {
            "fednewsrec without short term": {"short_term": False},
            "fednewsrec without long term": {"long_term": False},
            "plm_nr": {"size": 16},
            "ebnr": {"auto_encoder_steps": 20},
            "bilinear": {"size": 16, "history_length": 25},
            "plm_nr with layers": {"size": 16, "trainable_layers": 2, "language_model": str(tiny_bert)},
        }.get(kind, {})
        model = make_model(kind.split()[0], "small", table, seed, **changes).to(dtype)
        if kind == "npa":
            model.__class__ = NPAForOne
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(dtype)
        return model

    return make


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)
