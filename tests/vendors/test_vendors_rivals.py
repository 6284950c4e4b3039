"""Adaptive weights, public features and private iALS: what their proofs rest on, and that they do what they are for."""

import numpy as np
import pytest

from discreet.data.synthetic import purchases_world, ratings_world
from discreet.evaluation.recommendation import recommendation_metrics
from discreet.privacy.guarantee import Status, Unit
from discreet.vendors.implicit.dp_ials import DPIALS
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.methods.ada_dpals import AdaDPALS
from discreet.vendors.methods.bounding import even_weights
from discreet.vendors.methods.dpals import DPALS
from discreet.vendors.methods.feature_dpals import FeatureDPALS
from discreet.vendors.methods.user_vectors import ItemFactors


@pytest.fixture(scope="module")
def ratings():
    return ratings_world(80, 60, 1500, seed=3)


@pytest.mark.parametrize("counts", [np.zeros(60), np.linspace(-3, 90, 60), np.full(60, 1e9)])
def test_a_users_squared_weights_sum_to_one_whatever_the_counts_are(ratings, counts):
    weights = AdaDPALS(epsilon=1.0).later_weights(ratings, np.maximum(counts, 0), 2.0)
    squares = np.bincount(ratings.user, weights**2, 80)
    assert squares == pytest.approx(np.ones(80))


def test_rare_items_weigh_more_and_exponent_zero_is_dpals(ratings):
    counts = np.arange(60.0)
    weights = AdaDPALS(epsilon=1.0).later_weights(ratings, counts, 1.0)
    of_user = ratings.user == 0
    order = np.argsort(counts[ratings.item[of_user]])
    assert (np.diff(weights[of_user][order]) < 0).all()
    plain = AdaDPALS(epsilon=1.0, tail_exponent=0.0).later_weights(ratings, counts, 1.0)
    assert plain == pytest.approx(even_weights(ratings.user, 80))
    same = AdaDPALS(epsilon=5.0, tail_exponent=0.0).share([ratings], seed=1)
    assert same.rows == pytest.approx(DPALS(epsilon=5.0).share([ratings], seed=1).rows)


def test_what_items_are_drawn_to_comes_from_features_and_released_factors_alone(ratings):
    method = FeatureDPALS(epsilon=1.0)
    rows = np.random.default_rng(0).standard_normal((60, 4))
    drawn = method.drawn_to(ratings.items, ItemFactors(3.0, rows))
    assert np.linalg.norm(drawn) < np.linalg.norm(rows)
    assert drawn == pytest.approx(method.drawn_to(ratings.items, ItemFactors(1.0, rows)))


@pytest.mark.parametrize("method", [AdaDPALS(epsilon=2.0), FeatureDPALS(epsilon=2.0), DPIALS(epsilon=2.0)])
def test_guarantees_are_of_users_and_proved(method):
    promise = method.guarantee(10)
    assert (promise.unit, promise.status, promise.epsilon) == (Unit.USER, Status.PROVED, 2.0)


def test_private_ials_without_noise_beats_popularity_and_noise_costs():
    fold = leave_last_out(purchases_world(600, 100, seed=2))

    def ndcg(method):
        fitted = method.predictor(method.share([fold.train], seed=0), 0, fold.train, seed=0)
        return recommendation_metrics(fitted, fold.train, fold.test)["ndcg@20"]

    popular = recommendation_metrics(PopularItems().fit(fold.train), fold.train, fold.test)["ndcg@20"]
    assert ndcg(DPIALS(epsilon=float("inf"))) > popular
    assert ndcg(DPIALS(epsilon=0.1)) < ndcg(DPIALS(epsilon=float("inf")))
