"""Baselines predict what they say, and the private ones promise no more than they keep."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from discreet.data.synthetic.rating_world import ratings_world
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.item_features import local_prior, popularity_groups, public_features, rating_counts
from discreet.vendors.methods.baselines import (
    DPAverages,
    Full,
    GlobalMean,
    ItemMeans,
    Local,
)
from discreet.vendors.partition import folds, partition, pooled

QUICK = GibbsMF(rank=4, iterations=30, burn_in=10)
OPEN = [GlobalMean(), ItemMeans(), Local(QUICK), Full(QUICK)]
PRIVATE = [DPAverages(5.0), DPAverages(5.0, Unit.USER)]


@pytest.fixture(scope="module")
def vendors():
    return [folds(part)[0] for part in partition(ratings_world(400, 120, 12_000), 4)]


def rmse(method, vendors, recipient=0, seed=0):
    shared = method.share([fold.train for fold in vendors], seed)
    test = vendors[recipient].test
    predictor = method.predictor(shared, recipient, vendors[recipient].train, seed)
    return float(np.sqrt(np.mean(np.square(predictor.predict(test.user, test.item) - test.value))))


@pytest.mark.parametrize("method", OPEN + PRIVATE, ids=repr)
def test_predictions_keep_to_the_scale_and_repeat_with_the_seed(method, vendors):
    train = [fold.train for fold in vendors]
    test = vendors[1].test
    found = [
        method.predictor(method.share(train, seed), 1, train[1], seed).predict(test.user, test.item) for seed in (3, 3)
    ]
    assert np.array_equal(*found)
    assert found[0].min() >= 1
    assert found[0].max() <= 5


def test_means_are_means(vendors):
    train = [fold.train for fold in vendors]
    everything = pooled(train)
    means = ItemMeans().share(train, 0)
    for item in (0, 50, 119):
        assert means[item] == pytest.approx(everything.value[everything.item == item].mean())
    assert GlobalMean().share(train, 0) == pytest.approx(everything.value.mean())
    empty = replace(train[0].items, ids=[*train[0].items.ids, "new"])
    more = [replace(part, items=empty) for part in train]
    assert ItemMeans().share(more, 0)[-1] == pytest.approx(everything.value.mean())


def test_each_baseline_is_better_than_the_simpler_one(vendors):
    errors = [rmse(method, vendors) for method in (GlobalMean(), ItemMeans(), Full(QUICK))]
    assert errors == sorted(errors, reverse=True)
    assert rmse(Full(QUICK), vendors) < rmse(Local(QUICK), vendors)


def test_full_knows_each_vendors_users(vendors):
    train = [fold.train for fold in vendors]
    shared = Full(QUICK).share(train, 0)
    model = shared[0].model
    assert model.users.shape[1] == sum(len(part.users) for part in train)
    for recipient, part in enumerate(train):
        rated = [set(part.item[part.user == user].tolist()) for user in range(3)]
        first = shared[recipient].first
        starts = model.rated_start[first : first + 4]
        assert [set(model.rated[a:b].tolist()) for a, b in pairwise(starts)] == rated


def test_local_shares_nothing_and_does_not_look_at_others(vendors):
    train = [fold.train for fold in vendors]
    assert Local(QUICK).share(train, 0) is None
    alone = Local(QUICK).predictor(None, 2, train[2], 0)
    assert alone.users.shape[1] == len(train[2].users)


@pytest.mark.parametrize("method", PRIVATE, ids=repr)
def test_guarantees_say_whom_they_protect_from_what(method):
    guarantee = method.guarantee(10)
    assert guarantee.epsilon == pytest.approx(method.epsilon)
    assert guarantee.delta == 0
    assert guarantee.unit is method.unit
    assert guarantee.adjacency is Adjacency.ADD_REMOVE
    assert guarantee.adversary is Adversary.OTHER_VENDORS
    assert guarantee.status is Status.PROVED
    assert guarantee.scope is Scope.RELEASE
    assert method.guarantee(3) == guarantee


def test_what_is_released_carries_the_guarantee_that_is_stated(vendors):
    for unit in (Unit.RATING, Unit.USER):
        method = DPAverages(2.0, unit, ratings_per_user=5)
        for release in method.share([fold.train for fold in vendors], 0):
            assert release.guarantee == method.guarantee(len(vendors))


def test_users_contribute_no_more_than_they_may(vendors):
    train = vendors[0].train
    part = DPAverages(1.0, Unit.USER, 7).contributed(train, np.random.default_rng(0))
    before, after = (np.bincount(ratings.user, minlength=len(train.users)) for ratings in (train, part))
    assert np.array_equal(after, np.minimum(before, 7))
    assert DPAverages(1.0).contributed(train, np.random.default_rng(0)) is train


def test_without_noise_to_speak_of_private_means_are_means(vendors):
    train = [fold.train for fold in vendors]
    test = vendors[0].test
    found, expected = (
        method.predictor(method.share(train, 0), 0, train[0], 0).predict(test.user, test.item)
        for method in (DPAverages(1e5), ItemMeans())
    )
    often = rating_counts(pooled(train))[test.item] > 20
    assert found[often] == pytest.approx(expected[often], abs=0.1)


def test_less_privacy_less_error(vendors):
    errors = [np.mean([rmse(DPAverages(epsilon), vendors, seed=seed) for seed in range(3)]) for epsilon in (0.1, 1, 50)]
    assert errors == sorted(errors, reverse=True)
    user = np.mean([rmse(DPAverages(1.0, Unit.USER), vendors, seed=seed) for seed in range(3)])
    assert user > errors[1], "protecting users costs more than protecting ratings"


def test_units_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="unit"):
        DPAverages(1.0, Unit.CLICK)
    with pytest.raises(ValueError, match="ratings_per_user"):
        DPAverages(1.0, Unit.USER, 0)


def test_features_are_standardised_and_groups_numbered_without_gaps(vendors):
    train = vendors[0].train
    features = public_features(train.items)
    assert np.isfinite(features).all()
    assert features.mean(axis=0) == pytest.approx(np.zeros(features.shape[1]), abs=1e-9)
    assert features.std(axis=0) == pytest.approx(np.ones(features.shape[1]))
    groups, counts = popularity_groups(train), rating_counts(train)
    assert set(groups.tolist()) == set(range(groups.max() + 1))
    assert counts[groups == 0].max() < counts[groups == groups.max()].min()
    assert local_prior(train).features.shape == (len(train.items), features.shape[1] + 1)


def test_items_of_which_nothing_is_known_have_no_public_features(vendors):
    items = vendors[0].train.items
    unknown = replace(items, genres=[()] * len(items), years=np.full(len(items), -1, np.int32))
    assert public_features(unknown).shape == (len(items), 0)
    some = items.years.copy()
    some[::2] = -1
    assert np.isfinite(public_features(replace(items, years=some))).all()
