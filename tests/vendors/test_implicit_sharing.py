"""Sharing of purchases: what a user contributes is bounded, sums are exact, and a release is used for its worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from discreet.data.purchases import Purchases
from discreet.data.ratings import Items
from discreet.data.synthetic import purchases_world
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import bought
from discreet.privacy.guarantee import Status, Unit
from discreet.vendors.implicit.ease import EASE, fit_rows
from discreet.vendors.implicit.holdout import leave_last_out, leave_last_out_by_users
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.implicit.sharing import RankingSharing
from discreet.vendors.implicit.sharing.purchase_contributions import unit_rows
from discreet.vendors.implicit.sharing.purchase_plan import directions
from discreet.vendors.implicit.sharing.purchase_reading import GramOfOthers, gram_of_others
from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.implicit.sharing.ranking_sharing import WithOthers
from discreet.vendors.implicit.tuning import beats, best_model
from discreet.vendors.partition import partition, pooled, selected
from discreet.vendors.sharing.contributions import UNIT
from discreet.vendors.sharing.sharing_budget import SharingBudget

ITEMS = 12


def vendor(rows):
    user, item = np.nonzero(np.asarray(rows))
    count = np.asarray(rows)[user, item].astype(np.float64)
    names = [str(number) for number in range(len(rows))]
    items = Items.named([str(number) for number in range(ITEMS)])
    return Purchases.of_events(
        "small", user.astype(np.int32), item.astype(np.int32), count, np.full(len(user), -1), names, items
    )


def rounds(seed):
    rng = np.random.default_rng(seed)
    popular = rng.permutation(ITEMS)[: rng.integers(2, ITEMS + 1)]
    basis = np.clip(rng.normal(0, 10.0 ** rng.uniform(-3, 3), (len(popular), rng.integers(1, 4))), -1e3, 1e3)
    kept = np.sort(rng.permutation(ITEMS)[: rng.integers(1, ITEMS + 1)])
    return Sales(0.2), SalesPairs(0.3, popular), SalesProjections(0.5, popular, basis, kept)


user_row = st.lists(st.integers(0, 3), min_size=ITEMS, max_size=ITEMS)


@given(user_row, st.integers(0, 2**32 - 1))
@settings(max_examples=120, deadline=None)
def test_a_users_contribution_is_within_its_bound_exactly(row, seed):
    for asked in rounds(seed):
        squared = sum(int(value) ** 2 for value in asked.contribution(vendor([row])))
        bound = UNIT**2 // 2 if isinstance(asked, SalesPairs) else UNIT**2
        assert squared <= bound
        assert asked.sensitivity == pytest.approx(bound**0.5, rel=1e-12)


@given(st.lists(user_row, min_size=2, max_size=4), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_a_vendors_sum_is_that_of_its_users_alone(table, seed):
    for asked in rounds(seed):
        alone = sum(asked.contribution(vendor([row])) for row in table)
        assert np.array_equal(asked.contribution(vendor(table)), alone)


def test_every_bound_is_reached():
    full = vendor([[1] * ITEMS])
    sold, paired = Sales(1.0).contribution(full), SalesPairs(1.0, np.arange(ITEMS)).contribution(full)
    assert np.linalg.norm(sold / UNIT) == pytest.approx(1, rel=1e-6)
    assert np.linalg.norm(paired / UNIT) == pytest.approx(np.sqrt((1 - 1 / ITEMS) / 2), rel=1e-5)


def test_a_direction_out_of_bounds_is_refused():
    with pytest.raises(ValueError, match="outside"):
        SalesProjections(1.0, np.arange(2), np.array([[np.inf], [0.0]]), np.arange(2))


def test_the_rounds_cost_what_the_budget_says():
    budget = SharingBudget(2.0, 1e-5, vendors=5, colluders=1)
    sizes = {Sales: 3000, SalesPairs: 400 * 399 // 2, SalesProjections: 3000 * 16}
    asked = [(r.sensitivity, r.share, sizes[type(r)]) for r in rounds(0)]
    epsilon, delta = budget.true_cost(asked)
    assert epsilon <= 2.0
    assert delta <= 1e-5


def test_directions_are_the_eigenvectors_that_stand_out_from_the_noise():
    rng = np.random.default_rng(0)
    truth = np.linalg.qr(rng.standard_normal((60, 3)))[0]
    gram = truth @ np.diag([90.0, 60.0, 30.0]) @ truth.T
    upper = gram[np.triu_indices(60, 1)] + 0.3 * rng.standard_normal(60 * 59 // 2)
    found = directions(upper, 60, 0.3)
    assert found.shape == (60, 3)
    assert np.linalg.svd(truth.T @ found)[1].min() > 0.95


@pytest.fixture(scope="module")
def vendors():
    return partition(purchases_world(900, 80, seed=4), 3, seed=0)


def test_with_little_noise_the_others_gram_matrix_comes_back(vendors):
    method = RankingSharing(epsilon=20.0, delta=0.1)
    shared = method.share(vendors, seed=0)
    known = gram_of_others(shared.answers, vendors[0], shared.kept[0], method.budget(3))
    rows = unit_rows(pooled(vendors[1:])).toarray()
    truth = rows.T @ rows
    found = known.rows.T @ known.rows
    off = ~np.eye(len(truth), dtype=bool)
    assert np.corrcoef(found[off], truth[off])[0, 1] > 0.9
    assert known.rest.min() >= 0


def test_rows_of_the_others_count_like_users_and_their_rest_like_ridge(vendors):
    own, rows = vendors[0], unit_rows(vendors[1]).toarray()
    rest = np.linspace(0, 1, 80)
    mean = len(own) / len(own.users)
    stacked = csr_array(np.vstack((bought(own).toarray(), np.sqrt(0.5 * mean) * rows)))
    expected = fit_rows(own, stacked, 50 + 0.5 * mean * rest).scores(np.arange(4))
    assert WithOthers(GramOfOthers(rows, rest), 0.5, 50.0).fit(own).scores(np.arange(4)) == pytest.approx(expected)


def test_the_guarantee_is_of_users_and_proved_and_refusals_are_plain(vendors):
    promise = RankingSharing(epsilon=1.0).guarantee(3)
    assert (promise.unit, promise.status, promise.epsilon) == (Unit.USER, Status.PROVED, 1.0)
    with pytest.raises(DiscreetError, match="epsilon"):
        RankingSharing(epsilon=100.0).guarantee(3)
    with pytest.raises(DiscreetError, match="another vendor's"):
        RankingSharing(epsilon=1.0).share([vendors[0], vendors[0]], seed=0)


def test_a_release_that_says_nothing_leaves_the_vendor_with_its_own_models():
    tiny = partition(purchases_world(12, 30, seed=1), 3, seed=0)
    method = RankingSharing(epsilon=0.1, models=(PopularItems(),), weights=(0.1,), ridges=(100.0,))
    shared = method.share(tiny, seed=0)
    predictor = method.predictor(shared, 0, tiny[0], seed=0)
    assert np.isfinite(predictor.scores(np.arange(len(tiny[0].users)))).all()


def test_a_release_that_misleads_is_not_used(vendors):
    """The others' rows are of another shop, and loud: on own purchases they are worse than the own model."""
    rng = np.random.default_rng(0)
    others = GramOfOthers(rng.exponential(30.0, (6, 80)), np.zeros(80))
    method = RankingSharing(epsilon=5.0, models=(PopularItems(), EASE(100.0)), weights=(0.3,), ridges=(100.0,))
    alone = best_model(method.models, vendors[0]).fit(vendors[0])
    assert (method.ranker(others, vendors[0], 0).scores(np.arange(9)) == alone.scores(np.arange(9))).all()


def test_a_model_beats_another_by_a_margin_only(vendors):
    worse, better = PopularItems(), EASE(100.0)
    assert beats(better, worse, vendors[0])
    assert not beats(worse, better, vendors[0])
    assert not beats(better, better, vendors[0])
    first = np.isin(np.arange(len(vendors[0])), np.unique(vendors[0].user, return_index=True)[1])
    assert not beats(better, worse, selected(vendors[0], first)), "one item each: there is nothing to try them on"


def test_every_users_last_items_are_held_out_in_one_fold(vendors):
    own = vendors[0]
    whole, folds = leave_last_out(own), list(leave_last_out_by_users(own, 5))
    assert sorted(pair for fold in folds for pair in pairs_of(fold.test)) == sorted(pairs_of(whole.test))
    for fold in folds:
        assert sorted(pairs_of(fold.train) + pairs_of(fold.test)) == sorted(pairs_of(own))
    assert not set.intersection(*({user for user, _ in pairs_of(fold.test)} for fold in folds))


def pairs_of(purchases):
    return list(zip(purchases.user.tolist(), purchases.item.tolist(), strict=True))
