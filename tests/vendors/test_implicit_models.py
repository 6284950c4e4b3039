"""EASE and iALS against their definitions, and what is held out."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from discreet.data.purchases import Purchases
from discreet.data.synthetic import purchases_world
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import bought, recommendation_metrics
from discreet.vendors.implicit import ease as ease_module
from discreet.vendors.implicit.ease import EASE, fit_rows
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.ials import IALS
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.implicit.tuning import best_model


@pytest.fixture(scope="module")
def world():
    return purchases_world(150, 60, seed=5)


@pytest.fixture(scope="module")
def fold(world):
    return leave_last_out(world)


@pytest.mark.parametrize("users", [20, 150])
def test_ease_is_the_regression_of_each_item_on_all_others(users):
    purchases = purchases_world(users, 40, seed=1)
    x = bought(purchases).toarray().astype(np.float64)
    fitted = EASE(ridge=7.0).fit(purchases)
    scores = fitted.scores(np.arange(users))
    for item in (0, 3, 11):
        others = np.arange(x.shape[1]) != item
        design = x[:, others]
        weights = np.linalg.solve(design.T @ design + 7.0 * np.eye(len(design.T)), design.T @ x[:, item])
        away = x[:, item] == 0
        assert scores[away, item] == pytest.approx((design @ weights)[away], abs=1e-9)


def test_both_sides_of_ease_give_the_same_with_a_ridge_for_each_item(world):
    rows = bought(world)
    ridge = np.linspace(1, 20, rows.shape[1])
    few = rows[:40]
    kept = np.arange(rows.shape[1])
    primal = ease_module._primal(few, kept, ridge)
    dual = ease_module._dual(few, kept, ridge)
    assert dual.times(rows) == pytest.approx(primal.times(rows), abs=1e-10)
    assert dual.diagonal == pytest.approx(primal.diagonal, abs=1e-10)


def test_where_both_sides_are_too_large_only_popular_items_are_modelled(world, monkeypatch):
    monkeypatch.setattr(ease_module, "MAX_SIDE", 25)
    fitted = fit_rows(world, bought(world), np.full(len(world.items), 10.0))
    scores = fitted.scores(np.arange(5))
    rest = np.setdiff1d(np.arange(len(world.items)), fitted.kept)
    assert len(fitted.kept) == 25
    assert (scores[:, rest].max(axis=1) < scores[:, fitted.kept].min(axis=1)).all()
    best = rest[np.argmax(fitted.popularity[rest])]
    assert (scores[:, rest].argmax(axis=1) == np.flatnonzero(rest == best)[0]).all()


def loss(model, purchases, fitted):
    x = bought(purchases).toarray()
    s = fitted.scores(np.arange(len(x))).astype(np.float64)
    weight_users = x.sum(axis=1) + model.unobserved * x.shape[1]
    weight_items = x.sum(axis=0) + model.unobserved * x.shape[0]
    return (
        (x * (1 - s) ** 2).sum()
        + model.unobserved * (s**2).sum()
        + model.ridge * (weight_users**model.exponent @ (fitted.user_vectors.astype(np.float64) ** 2).sum(axis=1))
        + model.ridge * (weight_items**model.exponent @ (fitted.item_vectors.astype(np.float64) ** 2).sum(axis=1))
    )


def test_each_exact_step_of_ials_is_the_least_of_its_loss(world):
    model = IALS(rank=4, iterations=3, steps=0)
    fitted = model.fit(world)
    least = loss(model, world, fitted)
    rng = np.random.default_rng(0)
    before = fitted.user_vectors.copy()
    for _ in range(5):
        fitted.user_vectors[:] = before + 0.01 * rng.standard_normal(before.shape)
        assert loss(model, world, fitted) > least
    fitted.user_vectors[:] = before


def test_conjugate_gradients_come_to_the_same_as_exact_solutions(world):
    exact, quick = IALS(rank=6, iterations=30, steps=0), IALS(rank=6, iterations=30, steps=6)
    assert loss(quick, world, quick.fit(world)) == pytest.approx(loss(exact, world, exact.fit(world)), rel=2e-3)


def test_models_beat_popularity_on_a_world_with_tastes():
    fold = leave_last_out(purchases_world(600, 200, seed=2))
    popular = recommendation_metrics(PopularItems().fit(fold.train), fold.train, fold.test)
    for model in (EASE(100.0), IALS(rank=16, ridge=0.03)):
        found = recommendation_metrics(model.fit(fold.train), fold.train, fold.test)
        difference = found.by_user["ndcg@20"] - popular.by_user["ndcg@20"]
        assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))


def test_the_last_fifth_of_each_user_is_held_out(world, fold):
    for user in range(len(world.users)):
        early, late = fold.train.time[fold.train.user == user], fold.test.time[fold.test.user == user]
        count = len(early) + len(late)
        assert len(late) == (max(1, round(0.2 * count)) if count > 1 else 0)
        assert not len(late) or early.max() <= late.min()


def test_without_times_random_items_are_held_out_and_a_single_item_never():
    purchases = Purchases.from_frame({"user": [1, 1, 1, 1, 1, 2], "item": list("abcdea")})
    chosen = {int(leave_last_out(purchases, seed=seed).test.item[0]) for seed in range(20)}
    assert len(chosen) > 2
    assert all((leave_last_out(purchases, seed=seed).test.user == 0).all() for seed in range(3))


def test_recommendations_are_new_to_the_user_and_similar_items_are_others(world):
    for fitted in (EASE(50.0).fit(world), IALS(rank=8).fit(world), PopularItems().fit(world)):
        user = world.users[int(np.bincount(world.user).argmax())]
        has = {world.items.ids[item] for item in world.item[world.user == world.users.index(user)]}
        given = fitted.recommend(user, 7)
        assert len(given) == 7
        assert not has & {item for item, _ in given}
        assert [score for _, score in given] == sorted((score for _, score in given), reverse=True)
        similar = fitted.similar_items("i1", 5)
        assert len(similar) == 5
        assert "i1" not in dict(similar)
        with pytest.raises(DiscreetError, match="no user 'nobody'"):
            fitted.recommend("nobody")


def test_the_best_model_is_chosen_on_own_purchases(world):
    assert best_model((PopularItems(), EASE(100.0)), world) in (PopularItems(), EASE(100.0))
    alone = Purchases.from_frame({"user": [1, 2], "item": ["a", "b"]})
    assert best_model((PopularItems(), EASE(100.0)), alone) == PopularItems()


def test_ials_is_as_good_as_the_package_implicit():
    als = pytest.importorskip("implicit.als", reason="implicit is not installed")
    fold = leave_last_out(purchases_world(500, 150, seed=8))
    rows = csr_matrix(bought(fold.train))

    def by_user(scorer):
        return recommendation_metrics(scorer, fold.train, fold.test).by_user["ndcg@20"]

    class Peer:
        def __init__(self, regularization):
            settings = {"factors": 16, "iterations": 15, "alpha": 10.0, "random_state": 0, "num_threads": 1}
            self.model = als.AlternatingLeastSquares(regularization=regularization, use_gpu=False, **settings)
            self.model.fit(rows, show_progress=False)

        def scores(self, users):
            return self.model.user_factors[users] @ self.model.item_factors.T

    def ours(ridge):
        return IALS(rank=16, iterations=15, unobserved=0.3, ridge=ridge).fit(fold.train)

    peer = max((by_user(Peer(each)) for each in (10.0, 50.0, 200.0)), key=np.mean)
    difference = max((by_user(ours(each)) for each in (0.01, 0.03, 0.06)), key=np.mean) - peer
    assert difference.mean() > -3 * difference.std() / np.sqrt(len(difference))
