"""Metrics over the whole catalogue, against the plainest way to compute them."""

import math

import numpy as np
import pytest

from discreet.data.purchases import Purchases
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import metric_names, recommendation_metrics


class Fixed:
    def __init__(self, matrix):
        self.matrix = matrix

    def scores(self, users):
        return self.matrix[users]


def split(seed, users=30, items=25):
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((users, items)) < 0.3)
    frame = {"user": user, "item": item}
    everything = Purchases.from_frame({**frame, "time": np.arange(len(user))})
    held = rng.random(len(everything)) < 0.3
    from discreet.vendors.partition import selected

    return selected(everything, ~held), selected(everything, held), rng


@pytest.mark.parametrize("k", [1, 5, 40])
def test_metrics_are_those_of_a_sorted_list(k):
    train, test, rng = split(k)
    matrix = rng.standard_normal((len(train.users), len(train.items)))
    found = recommendation_metrics(Fixed(matrix), train, test, k)
    recall, ndcg, mrr, shown = [], [], [], []
    for user in range(len(train.users)):
        have, held = set(train.item[train.user == user]), set(test.item[test.user == user])
        if not held:
            continue
        order = [item for item in np.argsort(-matrix[user].astype(np.float32)) if item not in have]
        hits = [place for place, item in enumerate(order, 1) if item in held]
        recall.append(sum(place <= k for place in hits) / min(k, len(held)))
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(held)) + 1))
        ndcg.append(sum(1 / math.log2(place + 1) for place in hits if place <= k) / ideal)
        mrr.append(1 / hits[0])
        shown += order[:k]
    assert found.by_user[f"recall@{k}"] == pytest.approx(recall)
    assert found.by_user[f"ndcg@{k}"] == pytest.approx(ndcg)
    assert found.by_user["mrr"] == pytest.approx(mrr)
    assert found[f"coverage@{k}"] == pytest.approx(len(set(shown)) / len(train.items))
    popularity = np.bincount(train.item, minlength=len(train.items))
    assert found[f"lift@{k}"] == pytest.approx(popularity[shown].mean() / popularity[train.item].mean() - 1)
    assert set(metric_names(k)) == {*found.by_user, *found.overall}


def test_equal_scores_are_in_no_order_that_a_file_has():
    train, test, _ = split(3, users=200)
    found = recommendation_metrics(Fixed(np.zeros((200, 25))), train, test, 5)
    chance = found.estimates()["mrr"]
    shuffled = recommendation_metrics(Fixed(np.random.default_rng(9).random((200, 25))), train, test, 5)
    assert abs(chance.mean - shuffled["mrr"]) < 5 * chance.se


def test_what_cannot_be_measured_is_said():
    train, test, _ = split(4)
    with pytest.raises(DiscreetError, match="not finite"):
        recommendation_metrics(Fixed(np.full((30, 25), np.nan)), train, test)
    from discreet.vendors.partition import selected

    with pytest.raises(DiscreetError, match="nothing is held out"):
        recommendation_metrics(Fixed(np.zeros((30, 25))), train, selected(test, np.zeros(len(test), np.bool_)))
