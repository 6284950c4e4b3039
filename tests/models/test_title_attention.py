"""Titles of several batches at once: what the layers give for each, and the same gradients."""

import pytest
import torch

from discreet.models.fednewsrec import FedNewsRecModel, FedNewsRecSettings
from discreet.models.news_model import ArticleBatch, TableSizes
from discreet.models.title_attention import own_positions


def make_model() -> FedNewsRecModel:
    sizes = {"size": 8, "query_size": 6, "word_size": 5, "heads": 2, "filters": 7}
    torch.manual_seed(3)
    return FedNewsRecModel(FedNewsRecSettings(train_words=True, **sizes), TableSizes(words=9))


def batch(*titles: list[int], full: int = 9) -> ArticleBatch:
    words = torch.tensor(titles)
    copies = torch.ones_like(words)
    copies[:, -2] += full - words.shape[1]
    return ArticleBatch(titles=words, title_copies=copies)


CUT = batch([3, 4, 0, 0, 0], [5, 0, 0, 0, 0], [4, 4, 0, 0, 0])
WHOLE = batch([1, 2, 3, 4, 5, 6, 7, 8, 1], [2, 2, 2, 2, 2, 2, 2, 0, 0])
SHORT = batch([2, 0], full=2)
EMPTY = batch([0, 0, 0])


def test_only_padding_after_padding_is_common():
    assert own_positions([b.titles for b in (CUT, WHOLE, SHORT, EMPTY)]) == [3, 9, 2, 1]


@pytest.mark.parametrize("batches", [[CUT], [WHOLE], [CUT, WHOLE, SHORT, EMPTY]])
def test_batches_are_encoded_as_each_alone(batches):
    model = make_model().double()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for value in model.parameters():
            value += 0.3 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
    found, expected = model.encode_batches(batches), torch.cat([model.encode_articles(each) for each in batches])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    trained = {name: value for name, value in model.named_parameters() if name.startswith(("title", "words"))}
    weights = torch.randn(expected.shape, generator=generator, dtype=expected.dtype)
    gradients, wanted = (torch.autograd.grad((each * weights).sum(), trained.values()) for each in (found, expected))
    for name, one, other in zip(trained, gradients, wanted, strict=True):
        assert other.any(), name
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_large_logits_do_not_overflow():
    model = make_model()
    with torch.no_grad():
        model.title_attention.weight *= 1e4
    vectors = model.encode_batches([CUT, WHOLE])
    torch.testing.assert_close(vectors, torch.cat([model.encode_articles(each) for each in (CUT, WHOLE)]))
