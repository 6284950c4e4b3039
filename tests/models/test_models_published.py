"""What every model promises: compact padding is exact, torch.func passes through, a seed makes one model."""

import json
import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from discreet.errors import DiscreetError
from discreet.models.features import ArticleTable, encode_all
from discreet.models.model_registry import MODELS, describe_model, make_model, model_settings, remake_model
from discreet.models.news_model import ArticleBatch, TableSizes

# Readers with no click, few, all but one, exactly as many as the model takes.
HISTORY_SIZES = (0, 3, 11, 24, 25)


def histories(table: ArticleTable, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same histories compactly (rows, copies) and padded in front to full length (rows, copies)."""
    generator = torch.Generator().manual_seed(11)
    clicks = [torch.randint(0, table.anonymous, (size,), generator=generator) for size in HISTORY_SIZES]
    compact = torch.full((len(clicks), 1 + length), table.anonymous)
    copies = torch.zeros(len(clicks), 1 + length, dtype=torch.int64)
    padded = torch.full((len(clicks), length), table.anonymous)
    for row, clicked in enumerate(clicks):
        copies[row, 0] = length - len(clicked)
        if len(clicked):
            compact[row, -len(clicked) :] = padded[row, -len(clicked) :] = clicked
            copies[row, -len(clicked) :] = 1
    return compact, copies, padded, torch.ones_like(padded)


def loss_of(model, parameters, articles: ArticleBatch, clicks: Tensor, copies: Tensor) -> Tensor:
    """A scalar in which every coordinate of every reader's and article's vector counts differently."""

    class Calls(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self) -> Tensor:
            vectors = model.encode_articles(articles)
            readers = model.encode_readers(vectors[clicks], copies)
            scores = model.score(readers, vectors.expand(len(readers), *vectors.shape))
            return (scores.softmax(-1) * torch.arange(scores.shape[-1])).sum() + readers.sum()

    return functional_call(Calls(), {f"model.{name}": value for name, value in parameters.items()}, ())


def trained(model) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in model.named_parameters() if value.requires_grad}


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_compact_articles_and_histories_give_what_the_padded_form_gives(kind, new_model, table, dtype, tolerance):
    model = new_model(kind, dtype=dtype)
    rows = torch.arange(len(table))
    padded = model.encode_articles(table.padded(rows))
    by_length = torch.argsort(table.length(rows))
    compact = torch.cat([model.encode_articles(table.batch(part)) for part in by_length.split(3)])
    assert padded.shape == (len(table), model.size)
    torch.testing.assert_close(compact, padded[by_length], rtol=tolerance, atol=tolerance)

    few, few_copies, full, full_copies = histories(table, model.history_length)
    torch.testing.assert_close(
        model.encode_readers(padded[few], few_copies),
        model.encode_readers(padded[full], full_copies),
        rtol=tolerance,
        atol=tolerance,
    )


def test_compact_gradients_are_the_padded_ones_for_every_parameter(kind, new_model, table):
    model = new_model(kind)
    padded = table.padded(torch.arange(len(table)))
    short = (padded.titles[:, 12:] == 0).all(1) & (padded.abstracts[:, 20:] == 0).all(1)
    rows = torch.nonzero(short).flatten()
    assert rows[-1] == table.anonymous
    assert table.batch(rows).titles.shape[1] < padded.titles.shape[1]
    assert table.batch(rows).abstracts.shape[1] < padded.abstracts.shape[1]
    little = ArticleTable(table.sizes, vectors=torch.zeros(len(rows) - 1, 1))
    few, few_copies, full, full_copies = histories(little, model.history_length)

    def gradients(articles: ArticleBatch, clicks: Tensor, copies: Tensor) -> dict[str, Tensor]:
        return grad(lambda values: loss_of(model, values, articles, clicks, copies))(trained(model))

    compact = gradients(table.batch(rows), few, few_copies)
    padded = gradients(table.padded(rows), full, full_copies)
    for name, gradient in padded.items():
        torch.testing.assert_close(
            compact[name], gradient, rtol=1e-9, atol=1e-10, msg=lambda text, n=name: f"{n}: {text}"
        )
    assert all(gradient.any() for name, gradient in padded.items() if not name.endswith("key.bias"))


@pytest.mark.filterwarnings("error:There is a performance drop")
def test_vmap_of_gradients_is_a_loop_of_gradients(kind, new_model, table):
    model = new_model(kind)
    readers = 3
    rows = torch.randint(0, len(table), (readers, 6), generator=torch.Generator().manual_seed(5))
    rows[:, -1] = table.anonymous
    batch = table.batch(rows.flatten())
    found = {name: part for name, part in vars(batch).items() if part is not None}
    parts = {name: part.unflatten(0, rows.shape) for name, part in found.items()}
    clicks = torch.tensor([[5, 5, 0, 1, 2], [5, 3, 3, 1, 2], [5, 0, 1, 2, 3]])
    copies = torch.tensor([[22, 0, 1, 1, 1], [21, 1, 1, 1, 1], [0, 1, 1, 1, 1]])

    def loss(values: dict[str, Tensor], parts: dict[str, Tensor], clicks: Tensor, copies: Tensor) -> Tensor:
        return loss_of(model, values, ArticleBatch(**parts), clicks[None], copies[None])

    together = vmap(grad(loss), in_dims=(None, 0, 0, 0))(trained(model), parts, clicks, copies)
    for reader in range(readers):
        own = {name: part[reader] for name, part in parts.items()}
        alone = grad(loss)(trained(model), own, clicks[reader], copies[reader])
        for name, gradient in alone.items():
            torch.testing.assert_close(together[name][reader], gradient, rtol=1e-9, atol=1e-10)


def test_vmap_over_parameters_serves_clients_with_models_of_their_own(kind, new_model, table):
    models = [new_model(kind, seed) for seed in (0, 1)]
    batch = table.batch(torch.arange(6))
    clicks, copies = torch.tensor([[0, 1, 2]]), torch.tensor([[20, 1, 1]])
    stacked = {name: torch.stack([trained(model)[name] for model in models]) for name in trained(models[0])}
    frozen = models[0]
    losses = vmap(lambda values: loss_of(frozen, values, batch, clicks, copies))(stacked)
    for loss, model in zip(losses, models, strict=True):
        torch.testing.assert_close(loss, loss_of(frozen, trained(model), batch, clicks, copies))


def test_a_reader_without_history_is_one_of_anonymous_clicks(kind, new_model, table):
    model = new_model(kind)
    anonymous = encode_all(model, table, [table.anonymous])
    once = model.encode_readers(anonymous[None], torch.tensor([[model.history_length]]))
    written_out = anonymous.expand(1, model.history_length, -1)
    torch.testing.assert_close(once, model.encode_readers(written_out, torch.ones(1, model.history_length)))
    assert once.isfinite().all()
    assert once.abs().sum() > 0


def test_the_order_of_recent_clicks_counts_only_in_the_short_term(kind, new_model, table):
    model = new_model(kind)
    vectors = encode_all(model, table, torch.arange(6))[None]
    copies = torch.ones(1, 6, dtype=torch.int64)
    same = torch.allclose(model.encode_readers(vectors, copies), model.encode_readers(vectors.flip(1), copies))
    assert same == (kind not in ("fednewsrec", "fednewsrec without long term", "ebnr"))


def test_encode_all_returns_every_article_in_its_place(kind, new_model, table, monkeypatch):
    model = new_model(kind)
    monkeypatch.setattr("discreet.models.features._POSITIONS", 64)
    rows = torch.tensor([5, 0, table.anonymous, 5, 17, 3])
    torch.testing.assert_close(encode_all(model, table, rows), model.encode_articles(table.padded(rows)))
    assert encode_all(model, table).shape == (len(table), model.size)
    assert encode_all(model, table, []).shape == (0, model.size)
    assert not encode_all(model, table, rows).requires_grad


def learns_topics(model, table):
    """Topic A's titles, categories and vectors differ from topic B's; readers click what is like their history."""
    generator = torch.Generator().manual_seed(2)
    n = 40
    topic = torch.arange(n) % 2
    words = torch.randint(1, 20, (n, 20), generator=generator) + 20 * topic[:, None]
    titles = words * (torch.arange(20) < 8)
    articles = ArticleTable(
        table.sizes,
        titles=titles,
        abstracts=words.repeat(1, 2)[:, :30],
        category=1 + topic,
        subcategory=1 + topic,
        vectors=torch.randn(n, 24, generator=generator) + torch.where(topic[:, None] == 0, 1.0, -1.0),
        entities=torch.where(titles % 5 == 0, 0, 1 + 2 * topic[:, None]) * (titles != 0),
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(100):
        batch = articles.batch(torch.arange(len(articles)))
        topics = torch.randint(0, 2, (16, 1), generator=generator)
        clicks = 2 * torch.randint(0, n // 2, (16, 5), generator=generator) + topics
        clicks = torch.cat((torch.full((16, 1), articles.anonymous), clicks), 1)
        copies = torch.tensor([model.history_length - 5, 1, 1, 1, 1, 1]).expand(16, 6)
        candidates = 2 * torch.randint(0, n // 2, (16, 2), generator=generator) + torch.cat((topics, 1 - topics), 1)
        vectors = model.encode_articles(batch)
        scores = model.match(vectors[clicks], copies, vectors[candidates])
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(16, dtype=torch.int64))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if len(losses) > 10 and sum(losses[-10:]) / 10 < 0.35:  # guessing costs log 2 = 0.69
            return True
    return False


def test_every_model_learns_that_readers_stay_with_their_topic(kind, new_model, table):
    assert learns_topics(new_model(kind, dtype=torch.float32), table)


@pytest.mark.parametrize("name", ["dkn", "dan"])
def test_models_whose_readers_depend_on_the_candidate_learn_it_too(name, table):
    assert learns_topics(make_model(name, "small", table, 0, entity_size=4), table)


def test_a_seed_makes_one_model_and_leaves_other_randomness_alone(table):
    for name in MODELS:
        changes = {"plm_nr": {"size": 16}, "ebnr": {"auto_encoder_steps": 2}}.get(name, {})
        torch.manual_seed(1)
        expected = torch.rand(3)
        torch.manual_seed(1)
        first = make_model(name, "small", table, 4, **changes)
        assert torch.equal(torch.rand(3), expected)
        torch.manual_seed(2)
        again = make_model(name, "small", table, 4, **changes)
        other = make_model(name, "small", table, 5, **changes)
        state, state_again, state_other = first.state_dict(), again.state_dict(), other.state_dict()
        assert all(torch.equal(state[key], state_again[key]) for key in state)
        starts_alike = all(torch.equal(state[key], state_other[key]) for key in state)
        assert starts_alike == (name == "bilinear")  # it starts from public vectors alone


def test_a_model_is_made_again_from_plain_json(kind, new_model, table):
    model = new_model(kind, dtype=torch.float32)
    again = remake_model(json.loads(json.dumps(describe_model(model))))
    again.load_state_dict(model.state_dict())
    assert again.settings == model.settings
    again.__class__ = model.__class__  # NPA as one reader has it
    assert torch.equal(encode_all(again, table), encode_all(model, table))


def test_there_is_no_dropout(kind, new_model, table):
    model = new_model(kind)
    batch = table.batch(torch.arange(4))
    assert torch.equal(model.train().encode_articles(batch), model.eval().encode_articles(batch))


def test_published_sizes():
    """FedNewsRec's trained parameters, without the words': the d ≈ 2.5 million of its privacy cost."""
    sizes = TableSizes(words=100, categories=19, subcategories=300, vector=384)

    def count(name: str) -> int:
        with torch.device("meta"):
            model = MODELS[name](model_settings(name, "frozen" if name == "plm_nr" else "published"), sizes)
        assert model.size == 400
        assert model.history_length == 50
        return sum(parameter.numel() for parameter in model.parameters())

    attention, pooling, padding = 3 * 400 * 400, 400 * 200 + 2 * 200, 300
    convolution, gru = 3 * 300 * 400 + 400, 3 * (2 * 400 * 400 + 2 * 400)
    assert count("fednewsrec") == padding + convolution + 2 * attention + 3 * pooling + gru
    assert count("fednewsrec") == pytest.approx(2.5e6, rel=0.02)
    assert count("nrms") == padding + 3 * 300 * 400 + attention + 2 * pooling
    assert (count("fednewsrec"), count("nrms"), count("plm_nr")) == (2_524_300, 1_001_100, 714_384)
    names = (19 + 300) * 100 + 2 * (100 * 400 + 400)
    assert count("naml") == padding + 2 * (convolution + pooling) + names + 2 * pooling
    assert count("plm_nr") == 384 + 384 * 400 + attention + pooling


def test_unknown_names_are_said_in_one_line(table):
    with pytest.raises(DiscreetError, match="there are fednewsrec, nrms"):
        make_model("nrmss", "small", table, 0)
    with pytest.raises(DiscreetError, match="published, small"):
        make_model("nrms", "big", table, 0)


@pytest.mark.long
def test_transformers_is_loaded_only_when_a_language_model_is():
    imports = "discreet.models.news_model, discreet.models.model_registry"
    code = f"import sys, {imports}; assert 'transformers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
