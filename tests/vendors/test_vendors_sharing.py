"""Sharing from end to end, on small generated vendors."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from discreet.audits import sharing as audits
from discreet.audits.audit_registry import registered
from discreet.audits.noninterference import leaks
from discreet.data.ratings import Ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError
from discreet.privacy.noise import SimulatedNoise
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.methods.baselines import Local
from discreet.vendors.partition import Distribution, folds, partition
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.contributions import COUNT_WEIGHT, UNIT
from discreet.vendors.sharing.estimates import (
    BIAS_VARIANCE,
    RATING_VARIANCE,
    RATING_WEIGHT,
    Openings,
    OwnCounts,
    item_estimates,
)
from discreet.vendors.sharing.plan import basis
from discreet.vendors.sharing.reading import item_prior
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Vendor, others

SMALL = GibbsMF(rank=2, iterations=12, burn_in=4)


@pytest.fixture(scope="module")
def vendors() -> list[Ratings]:
    return partition(ratings_world(400, 150, 12_000, seed=5), 4, seed=1)


def test_weak_privacy_asks_for_directions_and_strong_privacy_for_biases_only(vendors: list[Ratings]) -> None:
    kinds = {
        epsilon: [type(answer.round) for answer in Sharing(epsilon).share(vendors, 0).answers]
        for epsilon in (0.1, 20.0)
    }
    assert kinds[0.1] == [Opening, Opening]
    large = partition(ratings_world(2500, 150, 100_000, seed=5), 3, seed=1)
    assert [type(answer.round) for answer in Sharing(20.0, colluders=0).share(large, 0).answers] == [
        Opening,
        Opening,
        Pairs,
        Projections,
        Projections,
    ]


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_the_whole_budget_is_spent_and_no_more(vendors: list[Ratings], epsilon: float) -> None:
    method = Sharing(epsilon)
    rounds = [(a.round.sensitivity, a.round.share, len(a.total)) for a in method.share(vendors, 0).answers]
    assert sum(share for _, share, _ in rounds) == pytest.approx(1)
    spent, _ = method.budget(len(vendors)).true_cost(rounds)
    assert spent == pytest.approx(epsilon, rel=1e-4)
    assert method.guarantee(len(vendors)).epsilon == epsilon


def test_own_share_is_taken_off_exactly(vendors: list[Ratings]) -> None:
    shared = Sharing(5.0).share(vendors, 3)
    for place, answered in enumerate(shared.answers):
        expected = sum(
            answered.round.contribution(vendors[number]) + shared.kept[number][place] for number in range(1, 4)
        )
        assert (others(answered, vendors[0], shared.kept[0][place]) == expected / UNIT).all()


def test_noise_of_what_is_left_is_as_announced(vendors: list[Ratings]) -> None:
    method = Sharing(1.0, colluders=1)
    budget, shared = method.budget(4), method.share(vendors, 3)
    answered = shared.answers[0]
    left = others(answered, vendors[0], shared.kept[0][0])
    noiseless = sum(answered.round.contribution(vendor) for vendor in vendors[1:]) / UNIT
    deviation = budget.reader_deviation(answered.round.sensitivity, answered.round.share) / UNIT
    assert np.std(left - noiseless) / deviation == pytest.approx(1, abs=4 / np.sqrt(2 * len(left)))
    assert deviation > budget.hidden_deviation(answered.round.sensitivity, answered.round.share) / UNIT


def test_a_seed_decides_everything(vendors: list[Ratings]) -> None:
    method = Sharing(5.0, model=SMALL)
    first, again, other = (method.share(vendors, seed) for seed in (1, 1, 2))
    assert all((a.total == b.total).all() for a, b in zip(first.answers, again.answers, strict=True))
    assert (first.answers[0].total != other.answers[0].total).any()
    user, item = vendors[1].user[:50], vendors[1].item[:50]
    predictions = [method.predictor(first, 1, vendors[1], 9).predict(user, item) for _ in range(2)]
    assert (predictions[0] == predictions[1]).all()
    assert ((predictions[0] >= 1) & (predictions[0] <= 5)).all()


def test_prior_knows_better_the_less_noise_there_is(vendors: list[Ratings]) -> None:
    deviations = []
    for epsilon in (3.0, 8.0, 20.0):
        method = Sharing(epsilon)
        shared, budget = method.share(vendors, 3), method.budget(4)
        prior = item_prior(shared.answers, vendors[0], shared.kept[0], budget, rank=2)
        assert prior.pseudo is not None
        deviations.append(float(np.median(prior.pseudo.deviation)))
    assert deviations[0] > deviations[1] > deviations[2]


def test_a_release_that_tells_nothing_leaves_a_vendor_as_it_is_alone(vendors: list[Ratings]) -> None:
    method, alone = Sharing(0.01, model=SMALL), Local(SMALL)
    user, item = vendors[1].user[:50], vendors[1].item[:50]
    shared = method.predictor(method.share(vendors, 3), 1, vendors[1], 9).predict(user, item)
    assert (shared == alone.predictor(None, 1, vendors[1], 9).predict(user, item)).all()


def test_others_help_a_small_vendor() -> None:
    """The biases of the others' users, at a weak ε, predict a small vendor's ratings better than it can alone."""
    world = ratings_world(1500, 150, 45_000, seed=2)
    parts = [folds(ratings)[0] for ratings in partition(world, 30, seed=0)]
    train = [part.train for part in parts]
    method, gains = Sharing(10.0, model=GibbsMF(rank=2, iterations=40, burn_in=10)), []
    shared = method.share(train, 0)
    for number in range(6):
        test = parts[number].test
        together = method.predictor(shared, number, train[number], 0)
        alone = method.model.fit(train[number], seed=0)
        errors = [np.sqrt(np.mean((m.predict(test.user, test.item) - test.value) ** 2)) for m in (alone, together)]
        gains.append(errors[0] - errors[1])
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_vertical_split_is_refused() -> None:
    vertical = partition(ratings_world(60, 30, 600, seed=1), 3, distribution=Distribution.VERTICAL)
    with pytest.raises(DiscreetError, match="cannot have user-level privacy"):
        Sharing(1.0).share(vertical, 0)


def test_vendors_that_do_not_fit_are_refused(vendors: list[Ratings]) -> None:
    other_scale = dataclasses.replace(vendors[1], scale=(0.0, 10.0))
    other_items = dataclasses.replace(
        vendors[1], items=dataclasses.replace(vendors[1].items, ids=["x", *vendors[1].items.ids[1:]])
    )
    for second, message in ((other_scale, "scale"), (other_items, "one catalogue")):
        with pytest.raises(DiscreetError, match=message):
            Sharing(1.0).share([vendors[0], second], 0)
    with pytest.raises(DiscreetError, match="at least 2 vendors"):
        Sharing(1.0).share(vendors[:1], 0)


def test_a_vendor_answers_no_more_than_its_budget(vendors: list[Ratings]) -> None:
    vendor = Vendor(vendors[0], SharingBudget(1.0, 1e-5, 4), SimulatedNoise(0))
    items = len(vendors[0].items)
    vendor.answer(Opening.even(0.7, items))
    for share in (0.4, 0.0, -0.2, float("nan")):
        with pytest.raises(ValueError, match="too much"):
            vendor.answer(Opening.even(share, items))
    vendor.answer(Opening.even(0.3, items))


def test_estimates_are_calibrated_and_shrunk() -> None:
    rng = np.random.default_rng(0)
    for deviation in (0.3, 3.0):
        weight = rng.gamma(0.7, 20, 3000)
        bias = rng.normal(0, BIAS_VARIANCE**0.5, 3000)
        sampling = np.sqrt(deviation**2 + RATING_VARIANCE * RATING_WEIGHT * weight)
        sums = weight * bias + sampling * rng.standard_normal(3000)
        counts = COUNT_WEIGHT * weight + deviation * rng.standard_normal(3000)
        known = item_estimates(Openings.of(np.concatenate((sums, counts)), deviation))
        error = np.mean((known.bias - bias) ** 2)
        naive = np.clip(sums / np.maximum(counts / COUNT_WEIGHT, 0.1), -2, 2)
        assert error < min(BIAS_VARIANCE, np.mean((naive - bias) ** 2))
        posterior = 1 / (1 / BIAS_VARIANCE + known.deviation**-2)
        assert error == pytest.approx(posterior.mean(), rel=0.1)
        assert np.corrcoef(known.weight, weight)[0, 1] > 0.9


def test_own_counts_tell_of_weights_that_noise_hides() -> None:
    rng = np.random.default_rng(6)
    weight = rng.gamma(0.7, 20, 3000)
    own = rng.poisson(3 * weight)
    noise = 30.0
    counts = COUNT_WEIGHT * weight + noise * rng.standard_normal(3000)
    opened = Openings.of(np.concatenate((noise * rng.standard_normal(3000), counts)), noise)
    without, beside = item_estimates(opened), item_estimates(opened, OwnCounts(own))
    assert np.corrcoef(beside.weight, weight)[0, 1] > 0.95 > np.corrcoef(without.weight, weight)[0, 1]
    clear = Openings.of(np.concatenate((np.zeros(3000), COUNT_WEIGHT * weight + rng.standard_normal(3000))), 1.0)
    alone, stranger = item_estimates(clear), item_estimates(clear, OwnCounts(rng.permutation(own)))
    assert stranger.weight == pytest.approx(alone.weight), "counts that have nothing to do with it are not used"


def test_colluders_are_allowed_for_where_there_is_somebody_to_hide_behind() -> None:
    assert [Sharing(1.0).budget(vendors).colluders for vendors in (2, 3, 10)] == [0, 1, 1]
    assert Sharing(1.0, colluders=0).budget(10).colluders == 0
    price = Sharing(1.0).budget(10).reader_deviation(1.0, 1.0) / Sharing(1.0, colluders=0).budget(10).reader_deviation(
        1.0, 1.0
    )
    assert price == pytest.approx((9 / 8) ** 0.5)


def test_a_second_opening_adds_what_it_knows() -> None:
    rng = np.random.default_rng(3)
    weight, bias = rng.gamma(0.7, 20, 3000), rng.normal(0, 0.5, 3000)
    emphasis = 3 / np.sqrt(weight + 1)
    truth = np.concatenate((weight * bias, COUNT_WEIGHT * weight))
    first = Openings.of(truth + 2 * rng.standard_normal(6000), 2.0)
    offset = item_estimates(first).bias
    rest = np.concatenate((weight * (bias - offset), COUNT_WEIGHT * weight))
    both = first.joined(np.tile(emphasis, 2) * rest + rng.standard_normal(6000), 1.0, emphasis, offset)
    assert np.allclose(both.relative, emphasis, rtol=0.05)
    errors = [np.mean((item_estimates(known).bias - bias) ** 2) for known in (first, both)]
    assert errors[1] < 0.8 * errors[0]
    left = both.sums - weight * (bias - both.shift)
    assert np.std(left / both.deviation) == pytest.approx(1, abs=0.1)


def test_basis_finds_a_direction_in_the_pairs() -> None:
    rng = np.random.default_rng(1)
    direction = rng.standard_normal(60)
    upper = (np.outer(direction, direction)[np.triu_indices(60, 1)] + rng.normal(0, 0.5, 1770)) * UNIT
    found = basis(upper.astype(np.int64), 60, 1)[:, 0]
    assert abs(found @ direction) / np.linalg.norm(found) / np.linalg.norm(direction) > 0.95


def test_audits_are_registered_and_nothing_else_leaks() -> None:
    names = [audit.setting for audit in registered() if audit.mechanism == "sharing"]
    assert sum("a user added" in name for name in names) >= 3
    for releases in (audits._SILENT, audits._LOUD):
        for device in (audits.questions_and_answers, audits.questions):
            assert leaks(device, audits._READERS, releases) == []


def test_an_audit_fails_when_vendors_add_too_little_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = audits.user_added((Opening.even(1.0, audits._ITEMS),), 10.0, "too little noise", 4000)
    assert audit.holds(audit.examination.lower_bound(1e-3, 0))
    honest = SharingBudget.vendor_deviation

    def half(self: SharingBudget, sensitivity: float, share: float) -> Fraction:
        return honest(self, sensitivity, share) / 2

    monkeypatch.setattr(SharingBudget, "vendor_deviation", half)
    assert not audit.holds(audit.examination.lower_bound(1e-3, 0))
