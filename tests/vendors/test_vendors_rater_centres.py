"""Users are centred on their own mean, which depends on what they rate: a vendor puts that right for its items."""

import numpy as np
import pytest

from discreet.data.ratings import Items, Ratings
from discreet.vendors.partition import partition
from discreet.vendors.sharing.contributions import UNIT, opening
from discreet.vendors.sharing.estimates import ItemEstimates, Openings, OwnCounts, item_estimates
from discreet.vendors.sharing.rater_centres import (
    OpeningOfOthers,
    biases_of_others,
    centred,
    joint_biases,
    mean_centres,
)
from discreet.vendors.sharing.sharing_rounds import Opening

ITEMS = 60


def ratings_of(user, item, value, users):
    made = Items.named([f"i{n}" for n in range(ITEMS)])
    return Ratings(
        name="films",
        user=np.asarray(user, np.int32),
        item=np.asarray(item, np.int32),
        value=np.asarray(value, np.float32),
        time=np.full(len(user), -1, np.int64),
        users=[f"u{n}" for n in range(users)],
        items=made,
        scale=(1.0, 5.0),
    )


@pytest.fixture(scope="module")
def world():
    """Users who mostly rate good items, and users who mostly rate bad ones; and the items' true biases."""
    rng = np.random.default_rng(0)
    bias = rng.normal(0, 0.5, ITEMS)
    rows = []
    for user in range(600):
        liking = (1 if user % 2 else -1) * 3.0 * bias
        chosen = rng.choice(ITEMS, 15, replace=False, p=np.exp(liking) / np.exp(liking).sum())
        rows += [(user, item, 3 + bias[item] + 0.3 * rng.standard_normal()) for item in chosen]
    user, item, value = zip(*rows, strict=True)
    return ratings_of(user, item, np.clip(value, 1, 5), 600), bias


def error(observed, bias):
    left = observed - bias
    return float(np.sqrt(np.mean((left - left.mean()) ** 2)))


def test_what_raters_of_an_item_rate_no_longer_moves_its_bias(world):
    ratings, bias = world
    own, *others = partition(ratings, 3, seed=1)
    asked, deviation = Opening.even(1.0, ITEMS), 0.05
    clean = sum(opening(other, asked.emphasis, asked.offset) for other in others) / UNIT
    sums = clean + deviation * np.random.default_rng(1).standard_normal(2 * ITEMS)
    _, found = biases_of_others([OpeningOfOthers(asked, sums, deviation)], own)
    counts = np.bincount(own.item, minlength=ITEMS)
    before = item_estimates(Openings.of(sums, deviation), OwnCounts(counts))
    assert error(found.observed, bias) < 0.5 * error(before.observed, bias)
    assert error(found.observed, bias) < 0.15


def test_the_mean_centre_of_an_items_raters_by_hand():
    own = ratings_of([0, 0, 1, 1], [0, 1, 0, 2], [4, 4, 2, 2], 2)
    bias = np.zeros(ITEMS)
    bias[:3] = 1.0, 0.2, -0.6
    found = mean_centres(Opening.even(1.0, ITEMS), own, bias)
    centre = np.array([1.2 / 4, 0.4 / 4])
    weight = 1 / np.sqrt(2 * (0.5**2 + 0.3**2))
    usual = 0.5 * weight * centre.mean()
    assert found[0] == pytest.approx((weight * centre.sum() + usual) / (2.5 * weight))
    assert found[1] == pytest.approx((weight * centre[0] + usual) / (1.5 * weight))
    assert found[5] == pytest.approx(centre.mean()), "nobody of its own rates it: as usual"


def test_own_ratings_and_the_release_weigh_by_their_precision(world):
    ratings, bias = world
    own = partition(ratings, 3, seed=1)[0]
    told = np.full(ITEMS, 0.01)
    sure = joint_biases(ItemEstimates(bias, bias, told, np.ones(ITEMS)), own)
    assert error(sure, bias) < 0.02
    unsure = joint_biases(
        ItemEstimates(np.zeros(ITEMS), 100 * np.ones(ITEMS), np.full(ITEMS, 1e4), np.ones(ITEMS)), own
    )
    assert error(unsure, bias) < 0.25
    level = centred(ItemEstimates(bias, bias + 7.0, told, np.ones(ITEMS)), own).observed
    assert abs(np.mean(level[own.item])) < 0.01
