"""What one client's PrivateRec gradient gives away."""

import math

import numpy as np
import pytest

from discreet.audits import run, selected
from discreet.audits.leak.canary import CanaryRow, WordsBesideAttention
from discreet.audits.leak.title_leak import TitleCatalogue, title_leak, words_seen
from discreet.audits.leak.update import AuditedFederation
from discreet.audits.leak.vector_leak import direction, vector_leak
from discreet.data.synthetic import news_world
from discreet.methods.method import TrainingTask
from discreet.methods.published.privaterec import PrivateRec


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(60, articles_per_day=40, seed=3), "hashed")


@pytest.fixture(scope="module")
def watched(task):
    return AuditedFederation.start(PrivateRec(model="nrms", epsilon=0.01), task, seed=0)


# --- titles


def test_every_unmasked_title_shows_whole_at_a_claimed_hundredth(task):
    leak = title_leak(task, 0.01, readers=15)
    assert leak.readers == 15
    assert 0 < leak.reached < 1
    assert leak.unmasked_recall > 0.99
    assert leak.recall > 0.25


def test_masks_and_noise_hide_a_title_for_a_few_rounds_only(task):
    once, often = (title_leak(task, 0.01, readers=8, rounds=rounds) for rounds in (1, 12))
    assert once.recall < 0.85 < 0.95 < often.recall
    assert often.named > 0.8
    assert often.precision > 0.5


def test_a_larger_claim_lets_more_through(task):
    assert title_leak(task, 10.0, readers=15).recall > title_leak(task, 0.01, readers=15).recall


def test_only_words_of_the_samples_show(watched):
    """The words that show are those of candidates and unmasked clicks; a masked click's own words do not."""
    titles = watched.table.padded(range(watched.table.anonymous)).titles.numpy()
    reached = 0
    for client in watched.clients_with_history()[:12].tolist():
        samples = watched.draw(client, 0)
        gradient = watched.update(samples)
        behind = np.concatenate((samples.candidates.ravel(), samples.history[samples.history >= 0]))
        possible = set(titles[behind].ravel().tolist()) - {0}
        seen = set(np.flatnonzero(words_seen(gradient)).tolist())
        assert seen <= possible
        reached += seen == possible
    assert reached > 0


def test_without_noise_the_whole_history_shows_but_for_masks(task):
    leak = title_leak(task, math.inf, readers=10)
    assert leak.reached == 1
    assert leak.unmasked_recall == 1
    assert 0.6 < leak.recall < 0.95


def test_the_cover_names_the_fewest_titles_that_explain_the_words():
    catalogue = TitleCatalogue.of([[5, 6, 7], [5, 6], [8, 9], [5, 9], [8, 9], [2, 0]], 12)
    assert catalogue.title_of.tolist() == [0, 1, 2, 3, 2, 4]
    seen = np.zeros(12, bool)
    seen[[5, 6, 7, 8, 9]] = True
    assert catalogue.whole(seen).tolist() == [0, 1, 2, 3]
    assert catalogue.named(seen) == {0, 2}
    assert catalogue.named(np.zeros(12, bool)) == set()


# --- the reader's vector


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_the_basis_gives_the_raw_vector_back(task, epsilon):
    leak = vector_leak(task, epsilon, readers=40)
    assert leak.reached > 0.3
    assert leak.median > 0.99
    assert leak.cosine > 0.97
    assert leak.exact > 0.3


def rows(weights, coefficients):
    random = np.random.default_rng(0)
    g, u = random.normal(size=(2, 96))
    return np.outer(weights, g) + np.outer(coefficients, u), u


def cosine(a, b):
    return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


def test_a_weight_that_noise_pushed_below_zero_gives_the_vector_exactly():
    gradient, u = rows([0.7, 0.3, 0.0], [1e-4, 2e-4, -3e-4])
    assert cosine(direction(gradient), u) == pytest.approx(1.0, abs=1e-9)


def test_with_all_weights_above_zero_the_part_across_the_scores_gradient_remains():
    gradient, u = rows([0.5, 0.3, 0.2], [1e-2, 2e-2, -3e-2])
    assert cosine(direction(gradient), u) > 0.95


def test_nothing_is_said_where_the_gradient_says_nothing():
    assert direction(np.zeros((3, 8))) is None
    assert direction(np.outer([0.5, 0.3, 0.2], np.arange(8.0))) is None


# --- the audits


def test_the_canary_never_shows_where_it_was_not_clicked_and_mostly_where_it_was():
    with_canary, without = ((0, 1, 8), (0, 1, 2))
    assert CanaryRow(without, 1.0)(150, 0).sum() == 0
    share = CanaryRow(with_canary, 1.0)(150, 0).mean()
    assert 0.4 < share < 0.85  # a fifth of the clicks is masked, and ReLU stops some gradients


def test_runs_have_chance_of_their_own():
    outputs = CanaryRow((0, 1, 8), 1.0)(60, 1)
    assert outputs.shape == (60, 1)
    assert set(outputs.ravel()) == {0.0, 1.0}
    assert (outputs == CanaryRow((0, 1, 8), 1.0)(60, 1)).all()
    assert (outputs != CanaryRow((0, 1, 8), 1.0)(60, 2)).any()


def test_words_beside_the_attention_follow_the_history():
    device, weights = WordsBesideAttention(), (0.2, 0.3, 0.5)
    assert device((0, 1, 8), weights) != device((0, 1, 2), weights)
    assert device((0, 1, 2), weights) == device((1, 2, 0), weights)


def test_the_auditor_refutes_both_claims():
    findings = run(selected(["client gradient"]), seed=5)
    assert [finding.verdict for finding in findings] == ["refuted", "refuted"]
    assert not any(finding.is_failure for finding in findings)
    assert 2 < findings[0].lower_bound < 10
    assert findings[1].lower_bound == math.inf
