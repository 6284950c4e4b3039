"""The bilinear head: where it starts, what it learns, and in which lengths."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from discreet.models.bilinear import Bilinear
from discreet.models.features import ArticleTable, encode_all
from discreet.models.model_registry import make_model
from discreet.models.news_model import ArticleBatch, NewsModel, TableSizes

FULL = 24 + 5  # text vectors and subcategories of the small world


def new(table: ArticleTable, **changes: Any) -> Bilinear:
    model = make_model("bilinear", "small", table, 0, **changes).double()
    assert isinstance(model, Bilinear)
    return model


def features(table: ArticleTable) -> Tensor:
    """Text vectors beside topics, as vectors with a single 1."""
    batch = table.batch(torch.arange(table.anonymous))
    assert batch.vectors is not None
    assert batch.subcategory is not None
    return torch.cat((batch.vectors, torch.eye(6)[batch.subcategory][:, 1:]), 1).double()


def reader_of(model: Bilinear, vectors: Tensor, clicks: list[int], anonymous: int) -> Tensor:
    copies = torch.tensor([[model.history_length - len(clicks), *[1] * len(clicks)]])
    return model.encode_readers(vectors[torch.tensor([[anonymous, *clicks]])], copies)[0]


def test_untrained_it_ranks_by_the_similarity_of_text_and_topic(table: ArticleTable) -> None:
    model = new(table, size=FULL)
    vectors, known = encode_all(model, table), features(table)
    clicks = [7, 8, 9]
    with torch.no_grad():
        scores = vectors[:-1] @ reader_of(model, vectors, clicks, table.anonymous)
    torch.testing.assert_close(scores, model.SCALE * known @ known[clicks].mean(0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [8, FULL, FULL + 10])
def test_all_directions_have_variance_one_and_what_is_beyond_them_is_nothing(table: ArticleTable, size: int) -> None:
    vectors = encode_all(new(table, size=size), table)[:-1]
    expected = torch.diag((torch.arange(size) < FULL).double())
    torch.testing.assert_close(vectors.T @ vectors / len(vectors), expected, rtol=1e-3, atol=1e-3)


def test_fewer_directions_are_the_ones_that_matter_most(table: ArticleTable) -> None:
    few, all_ = (encode_all(new(table, size=size), table) for size in (8, FULL))
    torch.testing.assert_close(few, all_[:, :8], rtol=1e-3, atol=1e-3)


def test_what_is_learnt_is_as_long_as_the_symmetric_matrix_it_stands_for(
    table: ArticleTable, new_model: Callable[..., NewsModel]
) -> None:
    """The gradient of ūᵀWt is the symmetric part of ū tᵀ, and the entries' length is the matrix's own."""
    model = new_model("bilinear")
    assert isinstance(model, Bilinear)
    vectors = encode_all(model, table)
    mean, candidate = vectors[[3, 5]].mean(0), vectors[11]
    score = reader_of(model, vectors, [3, 5], table.anonymous) @ candidate
    pairs, prior = torch.autograd.grad(score, [model.pairs, model.prior])
    outer = torch.outer(mean, candidate)
    symmetric = (outer + outer.T) / 2
    torch.testing.assert_close(pairs.norm(), symmetric.norm())
    torch.testing.assert_close(pairs[model.entry] * model.share, symmetric)
    torch.testing.assert_close(prior, model.PRIOR * candidate)


def test_the_sign_of_a_direction_is_settled(table: ArticleTable) -> None:
    model = new(table, size=FULL)
    basis = torch.cat((model.text_basis, model.topic_basis))
    largest = basis.gather(0, basis.abs().argmax(0, keepdim=True))
    assert (largest > 0).all()


def test_training_leaves_articles_where_they_are(table: ArticleTable) -> None:
    model = new(table)
    assert {name for name, _ in model.named_parameters()} == {"pairs", "prior"}
    assert sum(value.numel() for value in model.parameters()) == 96 * 97 // 2 + 96
    assert not model.encode_articles(table.batch([0, 1])).requires_grad


def test_only_articles_that_say_something_count_as_clicks(table: ArticleTable) -> None:
    model = new(table)
    with torch.no_grad():
        model.prior += 1.0
    vectors = encode_all(model, table)
    with torch.no_grad():
        nobody = reader_of(model, vectors, [], table.anonymous)
        alone = reader_of(model, vectors, [3], table.anonymous)
        masked = reader_of(model, vectors, [table.anonymous, 3, table.anonymous], table.anonymous)
    torch.testing.assert_close(nobody, model.PRIOR * model.prior.detach())
    torch.testing.assert_close(alone, masked)
    assert not torch.allclose(alone, nobody)


def test_the_loss_is_convex(table: ArticleTable, new_model: Callable[..., NewsModel]) -> None:
    model, other, between = (new_model("bilinear", seed) for seed in (0, 1, 2))
    middle = {name: (value + other.state_dict()[name]) / 2 for name, value in model.state_dict().items()}
    between.load_state_dict(middle)

    def loss(of: NewsModel) -> Tensor:
        vectors = of.encode_articles(table.batch(torch.arange(len(table))))
        reader = of.encode_readers(vectors[None, :5], torch.ones(1, 5))
        return torch.nn.functional.cross_entropy(reader @ vectors[5:15].T, torch.tensor([4]))

    assert loss(between) < (loss(model) + loss(other)) / 2


def test_topics_are_categories_where_there_are_no_subcategories_and_may_be_missing() -> None:
    vectors = torch.nn.functional.normalize(torch.randn(12, 5, generator=torch.Generator().manual_seed(1)), dim=-1)
    category = torch.arange(12) % 3
    by_category = ArticleTable(TableSizes(categories=3, vector=5), vectors=vectors, category=category)
    assert len(new(by_category, size=7).topic_basis) == 3
    moved = ArticleBatch(vectors=vectors[:1], category=torch.tensor([1]))
    assert not torch.equal(
        new(by_category, size=7).encode_articles(moved),
        new(by_category, size=7).encode_articles(by_category.batch([0])),
    )
    bare = ArticleTable(TableSizes(vector=5), vectors=vectors)
    similar = encode_all(new(bare, size=5), bare)[:-1]
    torch.testing.assert_close(similar.T @ similar / 12, torch.eye(5).double(), rtol=1e-3, atol=1e-3)


def test_text_vectors_are_needed() -> None:
    words = ArticleTable(TableSizes(categories=3), category=torch.arange(3))
    with pytest.raises(ValueError, match="text vectors"):
        make_model("bilinear", "small", words, 0)
