"""How far items lean to directions of taste: what is made of noised projections, and the second directions."""

import numpy as np
import pytest

from discreet.vendors.sharing.contributions import Directions
from discreet.vendors.sharing.leanings import expected_leanings
from discreet.vendors.sharing.plan import KNOWN, later_directions

ITEMS, NOISE = 3000, 0.5


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(3)
    features = rng.standard_normal((ITEMS, 4))
    leaning = np.column_stack((features[:, 0], features[:, 1] - features[:, 2])) + rng.standard_normal((ITEMS, 2))
    weight = rng.exponential(1.0, ITEMS)
    weight[:500] = 0.0
    sums = weight[:, None] * 0.3 * leaning + NOISE * rng.standard_normal((ITEMS, 2))
    return features, leaning, weight, sums


def agreement(found, truth, rows):
    return [np.corrcoef(found[rows, k], truth[rows, k])[0, 1] for k in range(truth.shape[1])]


def test_features_tell_what_noise_hides(world):
    features, leaning, weight, sums = world
    found = expected_leanings(sums, weight, np.ones(ITEMS), NOISE, features)
    plain = expected_leanings(sums, weight, np.ones(ITEMS), NOISE, np.zeros((ITEMS, 0)))
    unrated, rated = np.arange(500), np.arange(500, ITEMS)
    assert min(agreement(found, leaning, unrated)) > 0.65, (
        "the features explain a half, and two thirds, of the variance"
    )
    assert np.std(plain[unrated], axis=0).max() < 1e-6
    better = np.array(agreement(found, leaning, rated)) - agreement(plain, leaning, rated)
    assert (better > 0.05).all()
    assert np.std(found[rated], axis=0) == pytest.approx(1, abs=0.3)


def test_nothing_but_noise_leans_hardly_anywhere(world):
    features, _, weight, _ = world
    sums = NOISE * np.random.default_rng(4).standard_normal((ITEMS, 2))
    found = expected_leanings(sums, weight, np.ones(ITEMS), NOISE, features)
    assert np.isfinite(found).all()
    assert np.abs(np.corrcoef(found[:, 0], features[:, 0])[0, 1]) < 0.9
    assert expected_leanings(np.zeros((3, 1)), np.zeros(3), np.ones(3), NOISE, np.zeros((3, 0))).tolist() == [[0]] * 3


def test_second_directions_are_uncorrelated_over_the_ratings(world):
    _, leaning, weight, _ = world
    first = Directions(np.zeros(ITEMS), np.arange(5), np.ones((5, 2)), np.ones(ITEMS))
    made = later_directions(first, leaning, weight)
    assert len(made.popular) == KNOWN
    assert weight[made.popular].min() >= np.sort(weight)[-KNOWN]
    share = weight[made.popular] / weight[made.popular].sum()
    assert (made.basis * share[:, None]).T @ made.basis == pytest.approx(np.eye(2), abs=0.02)
    same = later_directions(first, np.column_stack((leaning[:, 0], leaning[:, 0])), weight)
    assert np.abs(same.basis).max() <= 10, "directions that are one and the same give no wild loadings"
