"""The factorization finds what was put into generated ratings, and uses what is known about the items."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from discreet.data.open import open_ratings
from discreet.data.ratings import Items, Ratings
from discreet.vendors.gibbs import GibbsMF, ItemPrior, PseudoObservations
from discreet.vendors.gibbs.chain import Chain
from discreet.vendors.gibbs.hyper import PRIOR_SCATTER, ItemHyper, draw_precision
from discreet.vendors.item_features import local_prior
from discreet.vendors.partition import folds

USERS, ITEMS, RANK = 120, 90, 3
QUICK = GibbsMF(rank=RANK, iterations=60, burn_in=20)


def as_ratings(user, item, value, users=USERS, items=ITEMS, scale=(-20.0, 20.0)):
    public = Items([str(i) for i in range(items)], [""] * items, [()] * items, np.full(items, -1, np.int32))
    time = np.full(len(user), -1, np.int64)
    return Ratings(
        "made", user.astype(np.int32), item.astype(np.int32), value.astype(np.float32), time,
        [str(u) for u in range(users)], public, scale,
    )  # fmt: skip


@pytest.fixture(scope="module")
def world():
    """Every pair's true rating, and which pairs are seen."""
    rng = np.random.default_rng(11)
    truth = 3 + rng.normal(0, 1, (USERS, 1)) + rng.normal(0, 1, (1, ITEMS))
    truth = truth + rng.normal(size=(USERS, RANK)) @ rng.normal(size=(RANK, ITEMS))
    seen = rng.random(truth.shape) < 0.4
    user, item = np.nonzero(seen)
    return truth, seen, as_ratings(user, item, truth[user, item] + rng.normal(0, 0.3, len(user)))


@pytest.fixture(scope="module")
def fitted(world):
    return QUICK.fit(world[2], seed=1)


def without(ratings, items):
    keep = ~np.isin(ratings.item, items)
    return replace(
        ratings, user=ratings.user[keep], item=ratings.item[keep], value=ratings.value[keep], time=ratings.time[keep]
    )


def rmse(model, ratings):
    return float(np.sqrt(np.mean(np.square(model.predict(ratings.user, ratings.item) - ratings.value))))


def test_recovers_low_rank_ratings(world, fitted):
    truth, seen, _ = world
    user, item = np.nonzero(~seen)
    error = np.sqrt(np.mean(np.square(fitted.predict(user, item) - truth[user, item])))
    assert error < 0.3, "unseen pairs are known better than a rating tells"
    assert fitted.noise == pytest.approx(0.3, rel=0.1)


def test_predictions_keep_to_the_scale(world):
    ratings = replace(world[2], value=np.clip(world[2].value, 1, 5), scale=(1.0, 5.0))
    predicted = GibbsMF(rank=2, iterations=8, burn_in=4).fit(ratings).predict(*np.nonzero(world[1] >= 0))
    assert predicted.min() >= 1
    assert predicted.max() <= 5


def test_same_seed_same_model_other_seed_another(world, fitted):
    again, other = QUICK.fit(world[2], seed=1), QUICK.fit(world[2], seed=2)
    assert np.array_equal(again.items, fitted.items)
    assert np.array_equal(again.users, fitted.users)
    assert not np.array_equal(other.items, fitted.items)


def test_threads_do_not_change_the_model():
    program = (
        "import hashlib; from discreet.data.synthetic.rating_world import ratings_world;"
        "from discreet.vendors.item_features import local_prior; from discreet.vendors.gibbs import GibbsMF;"
        "r = ratings_world(60, 80); m = GibbsMF(rank=8, iterations=6, burn_in=2).fit(r, prior=local_prior(r));"
        "print(hashlib.sha256(m.items.tobytes() + m.users.tobytes()).hexdigest())"
    )
    found = set()
    for threads in ("1", "2"):
        settings = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **settings}, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_users_and_items_without_ratings_get_what_is_expected_of_any(world):
    truth, _, ratings = world
    cold_item, cold_user = 7, 5
    part = without(ratings, [cold_item])
    keep = part.user != cold_user
    part = replace(part, user=part.user[keep], item=part.item[keep], value=part.value[keep], time=part.time[keep])
    model = GibbsMF(rank=RANK, iterations=150, burn_in=50).fit(part)
    assert model.users[:, cold_user] == pytest.approx(np.zeros((100, 1 + RANK)))
    others = np.delete(np.arange(USERS), cold_user)
    means = model.predict(np.full(ITEMS, cold_user), np.arange(ITEMS))
    warm = np.delete(np.arange(ITEMS), cold_item)
    assert np.corrcoef(means[warm], truth[others][:, warm].mean(axis=0))[0, 1] > 0.9
    assert abs(means[cold_item] - truth.mean()) < 0.6


def test_a_feature_that_tells_helps_items_without_ratings(world):
    truth, _, ratings = world
    cold = np.arange(0, ITEMS, 6)
    bias = truth.mean(axis=0) - truth.mean()
    feature = (bias + np.random.default_rng(3).normal(0, 0.1, ITEMS))[:, None]
    part = without(ratings, cold)
    errors = []
    for prior in (None, ItemPrior(feature, np.zeros(ITEMS, np.int32))):
        model = QUICK.fit(part, prior=prior)
        means = [model.predict(np.arange(USERS), np.full(USERS, item)).mean() for item in cold]
        errors.append(np.sqrt(np.mean(np.square(means - truth[:, cold].mean(axis=0)))))
    assert errors[1] < 0.5 * errors[0]


def test_users_who_rate_at_random_are_told_from_those_who_do_not(world):
    ratings = world[2]
    erratic = np.arange(0, USERS, 4)
    value = ratings.value + np.isin(ratings.user, erratic) * np.random.default_rng(8).normal(0, 3, len(ratings))
    chain = Chain(replace(ratings, value=value.astype(np.float32)), ItemPrior.plain(ITEMS), RANK, 0)
    weights = []
    for _ in range(60):
        chain.step()
        weights.append(chain.user_weight)
    weight = np.mean(weights[30:], axis=0)
    assert weight[erratic].max() < np.delete(weight, erratic).min()


def test_precision_is_learnt_for_each_group():
    rng = np.random.default_rng(4)
    groups = (np.arange(2000) % 2).astype(np.int32)
    deviation = np.where(groups == 0, 0.2, 2.0)
    features, weights = rng.normal(size=(2000, 2)), rng.normal(size=(3, 4))
    rows = np.column_stack((np.ones(2000), features)) @ weights + deviation[:, None] * rng.normal(size=(2000, 4))
    hyper, found, spread = ItemHyper(features, groups, 4), [], []
    for _ in range(300):
        hyper.draw(rng, rows)
        found.append(hyper.weights)
        spread.append(np.diagonal(np.linalg.inv(hyper.precision), axis1=1, axis2=2) ** 0.5)
    assert np.mean(found[50:], axis=0) == pytest.approx(weights, abs=0.08)
    assert np.mean(spread[50:], axis=0) == pytest.approx(np.array([[0.2] * 4, [2.0] * 4]), rel=0.15)


def test_many_features_that_say_nothing_do_not_shrink_one_of_another_kind():
    rng = np.random.default_rng(6)
    features = rng.normal(size=(60, 31))
    rows = np.column_stack((np.zeros(60), 1.5 * features[:, 30])) + rng.normal(size=(60, 2))
    kinds = np.zeros(31, np.int32)
    kinds[30] = 1
    found = {}
    for name, given in {"one": None, "the same": np.zeros(31, np.int32), "two": kinds}.items():
        draws, hyper = np.random.default_rng(1), ItemHyper(features, np.zeros(60, np.int32), 2, given)
        samples = []
        for _ in range(400):
            hyper.draw(draws, rows)
            samples.append(hyper.weights[1:, 1])
        found[name] = np.mean(samples[50:], axis=0)
    assert (found["one"] == found["the same"]).all()
    assert found["two"][30] > found["one"][30] + 0.02
    assert np.square(found["two"][:30]).sum() < np.square(found["one"][:30]).sum()


def test_wishart_draws_have_the_known_mean():
    rng = np.random.default_rng(6)
    residuals = rng.normal(size=(40, 3)) * [0.5, 1, 2]
    found = np.mean([draw_precision(rng, residuals) for _ in range(4000)], axis=0)
    expected = (3 + 40) * np.linalg.inv(PRIOR_SCATTER * np.eye(3) + residuals.T @ residuals)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((found - expected) / scale).max() < 4.5 * np.sqrt(2 / 43 / 4000)


def bias_known(value, deviation, item=4):
    pseudo = PseudoObservations.of_biases(np.array([item], np.int32), np.array([value]), np.array([deviation]), RANK)
    return replace(ItemPrior.plain(ITEMS), pseudo=pseudo)


def test_observation_with_tiny_noise_pins_a_bias_and_with_huge_noise_does_nothing(world, fitted):
    pinned = QUICK.fit(world[2], prior=bias_known(-2.5, 1e-4), seed=1)
    assert pinned.items[:, 4, 0] == pytest.approx(np.full(40, -2.5), abs=1e-3)
    untouched = QUICK.fit(world[2], prior=bias_known(-2.5, 1e9), seed=1)
    assert untouched.items == pytest.approx(fitted.items, abs=1e-3)


def test_observations_of_an_item_without_ratings_are_weighed_against_the_prior(world):
    part = without(world[2], [4])
    near, far = (QUICK.fit(part, prior=bias_known(6.0, deviation), seed=1) for deviation in (0.1, 1.0))
    nothing = QUICK.fit(part, seed=1)
    biases = [model.item_rows()[:, 4, 0].mean() for model in (nothing, far, near)]
    assert biases[0] < biases[1] < biases[2]
    assert biases[2] == pytest.approx(6.0, abs=0.2)


def test_observation_along_a_factor_moves_that_direction(world):
    direction = np.array([[0.0, 1.0, -1.0, 0.0]])
    pseudo = PseudoObservations(np.array([4], np.int32), direction, np.array([0.7]), np.array([1e-4]))
    model = QUICK.fit(world[2], prior=replace(ItemPrior.plain(ITEMS), pseudo=pseudo))
    assert model.items[:, 4] @ direction[0] == pytest.approx(np.full(40, 0.7), abs=1e-3)


def test_recommends_the_best_items_that_are_not_rated(world, fitted):
    user = 3
    rated = set(world[2].item[world[2].user == user].tolist())
    items, scores = fitted.recommend(user, 5)
    assert not rated & set(items.tolist())
    assert (np.diff(scores) <= 0).all()
    assert scores == pytest.approx(fitted.predict(np.full(5, user), items))
    every = np.array(sorted(set(range(ITEMS)) - rated))
    assert scores[0] == pytest.approx(fitted.predict(np.full(len(every), user), every).max())
    everything, _ = fitted.recommend(user, ITEMS, exclude_rated=False)
    assert sorted(everything.tolist()) == list(range(ITEMS))


def test_small_data_are_sampled_longer():
    assert GibbsMF.for_size(30_000) == GibbsMF(12, 300, 60)
    assert GibbsMF.for_size(30_001) == GibbsMF(12, 100, 20)
    assert GibbsMF.for_size(500, 2, 10) == GibbsMF(2, 10, 2)


def test_mistakes_are_refused(world, fitted):
    with pytest.raises(ValueError, match="burn_in"):
        GibbsMF(iterations=5, burn_in=5)
    with pytest.raises(ValueError, match="no ratings"):
        QUICK.fit(without(world[2], np.arange(ITEMS)))
    with pytest.raises(ValueError, match="items"):
        QUICK.fit(world[2], prior=ItemPrior.plain(ITEMS + 1))
    with pytest.raises(ValueError, match="columns"):
        GibbsMF(rank=5).fit(world[2], prior=bias_known(0.0, 1.0))
    with pytest.raises(ValueError, match="from 0 to"):
        QUICK.fit(world[2], prior=bias_known(0.0, 1.0, item=ITEMS))
    with pytest.raises(ValueError, match="deviations"):
        bias_known(0.0, 0.0)
    with pytest.raises(ValueError, match="kinds need a number"):
        ItemPrior(np.zeros((3, 2)), np.zeros(3, np.int32), kinds=np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="user must be"):
        fitted.predict(np.array([USERS]), np.array([0]))
    with pytest.raises(ValueError, match="user must be"):
        fitted.recommend(-1)


def parts(ratings, which):
    return replace(
        ratings,
        user=ratings.user[which],
        item=ratings.item[which],
        value=ratings.value[which],
        time=ratings.time[which],
    )


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_movielens_1m_is_predicted_as_well_as_by_mcmc_elsewhere(shared_data):
    ratings = open_ratings(shared_data / "movielens" / "ml-1m.zip")
    shuffled = np.random.default_rng(0).permutation(len(ratings))
    test, train = np.split(shuffled, [len(ratings) // 10])
    assert rmse(GibbsMF().fit(parts(ratings, train)), parts(ratings, test)) <= 0.835


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_movielens_100k_in_ten_folds_and_with_features(shared_data):
    plain, featured = [], []
    for number, fold in enumerate(folds(open_ratings(shared_data / "movielens" / "ml-100k.zip"), 10)):
        plain.append(rmse(GibbsMF().fit(fold.train, seed=number), fold.test))
        if number < 3:
            featured.append(rmse(GibbsMF().fit(fold.train, prior=local_prior(fold.train), seed=number), fold.test))
    assert np.mean(plain) <= 0.886
    assert np.mean(featured) < np.mean(plain[:3]) - 0.003
