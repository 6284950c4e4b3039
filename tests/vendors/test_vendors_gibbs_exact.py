"""What is not drawn row by row, or not drawn at all, has the distribution that it would have by the plain formulas."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.synthetic.rating_world import ratings_world
from discreet.vendors.gibbs import GibbsMF, ItemPrior, PseudoObservations
from discreet.vendors.gibbs.chain import Chain
from discreet.vendors.gibbs.hyper import ItemHyper
from discreet.vendors.gibbs.observed import MeasuredRows, draw_measured

SIZE = 3


@pytest.fixture
def hyper():
    rng = np.random.default_rng(1)
    groups = (np.arange(60) % 3).astype(np.int32)
    made = ItemHyper(rng.normal(size=(60, 4)), groups, SIZE)
    half = rng.normal(size=(3, SIZE, SIZE)) * np.array([0.3, 1, 5])[:, None, None]
    made.precision = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(SIZE)
    return made


def dense(hyper, prior):
    """The precision of W in row-major order, written out."""
    total = np.diag(prior.ravel())
    for rows, precision in zip(hyper.members, hyper.precision, strict=True):
        part = hyper.features[rows]
        total += np.kron(part.T @ part, precision)
    return total


def test_conjugate_gradients_solve_as_a_factorisation_does(hyper):
    rng = np.random.default_rng(2)
    prior = rng.gamma(2.0, size=hyper.weights.shape)
    wanted = 100 * rng.normal(size=hyper.weights.shape)
    expected = np.linalg.solve(dense(hyper, prior), wanted.ravel()).reshape(wanted.shape)
    assert hyper._solve(wanted, prior) == pytest.approx(expected, abs=1e-6)


def test_weights_have_the_exact_mean_and_covariance(hyper):
    rng, repeats = np.random.default_rng(3), 1500
    prior, items = np.full(hyper.weights.shape, 0.1), rng.normal(size=(60, SIZE))
    halves = np.linalg.cholesky(hyper.precision)

    class Fixed:
        """Draws of τ are what they are here; everything else is random."""

        standard_normal = staticmethod(rng.standard_normal)

        @staticmethod
        def gamma(*_):
            return 0.1

    found = []
    for _ in range(repeats):
        hyper._draw_weights(Fixed(), items, halves)
        found.append(hyper.weights.ravel())
    covariance = np.linalg.inv(dense(hyper, prior))
    moment = sum(
        hyper.features[rows].T @ items[rows] @ precision
        for rows, precision in zip(hyper.members, hyper.precision, strict=True)
    )
    deviation = np.sqrt(np.diag(covariance))
    missed = (np.mean(found, axis=0) - covariance @ moment.ravel()) / deviation
    assert np.abs(missed).max() < 4.5 / np.sqrt(repeats)
    scale = np.outer(deviation, deviation)
    assert np.abs((np.cov(np.transpose(found)) - covariance) / scale).max() < 4.5 * np.sqrt(2 / repeats)


def test_measured_rows_have_the_exact_mean_and_covariance():
    rng, repeats = np.random.default_rng(4), 20_000
    half = rng.normal(size=(2, SIZE, SIZE))
    precision = half @ half.transpose(0, 2, 1) + np.eye(SIZE)
    mean, direction, value = rng.normal(size=(2, SIZE)), rng.normal(size=(2, SIZE)), np.array([2.0, -1.0])
    groups = [np.arange(repeats), np.arange(repeats, 2 * repeats)]
    measured = MeasuredRows(
        groups, [np.tile(along, (repeats, 1)) for along in direction], [np.full(repeats, each) for each in value]
    )
    draws, means = np.zeros((2 * repeats, SIZE)), np.zeros((2 * repeats, SIZE))
    draw_measured(rng, measured, np.repeat(mean, repeats, axis=0), precision, draws, means)
    for group, rows in enumerate(groups):
        covariance = np.linalg.inv(precision[group] + np.outer(direction[group], direction[group]))
        expected = covariance @ (precision[group] @ mean[group] + direction[group] * value[group])
        assert means[rows[0]] == pytest.approx(expected)
        deviation = np.sqrt(np.diag(covariance))
        assert np.abs((draws[rows].mean(axis=0) - expected) / deviation).max() < 4.5 / np.sqrt(repeats)
        found = np.cov(draws[rows].T) - covariance
        assert np.abs(found / np.outer(deviation, deviation)).max() < 4.5 * np.sqrt(2 / repeats)


@pytest.fixture(scope="module")
def wide():
    """Few users, and half of the items without a rating."""
    world = ratings_world(12, 60, 240, seed=5)
    keep = world.item % 2 == 0
    parts = {name: getattr(world, name)[keep] for name in ("user", "item", "value", "time")}
    return replace(world, **parts)


def summary(chain, steps=1600, burn_in=200):
    """Means and batch-wise standard errors of what a chain draws: noise, precision, W, scatter of rated items."""
    seen = []
    for step in range(steps + burn_in):
        chain.step()
        if step >= burn_in:
            rated = chain.items[np.diff(chain.by_item.start) > 0]
            weights = chain._hyper.weights
            seen.append([chain.noise_precision, *weights[:, 0], np.square(weights[:, 1]).sum(), *rated[:3, 0],
                         np.log(np.square(rated[:, 1:]).sum())])  # fmt: skip
    batches = np.reshape(seen, (20, -1, len(seen[0]))).mean(axis=1)
    return batches.mean(axis=0), batches.std(axis=0, ddof=1) / np.sqrt(20)


def test_items_that_are_integrated_out_change_nothing(wide):
    """Drawing every item, as a measurement that says nothing makes the chain do, gives the same posterior."""
    features = np.random.default_rng(6).normal(size=(60, 2))
    prior = ItemPrior(features, np.zeros(60, np.int32))
    cold = np.setdiff1d(np.arange(60), wide.item).astype(np.int32)
    nothing = PseudoObservations.of_biases(cold, np.zeros(len(cold)), np.full(len(cold), 1e6), rank=1)
    found = [summary(Chain(wide, each, 1, 7)) for each in (prior, replace(prior, pseudo=nothing))]
    (first, error), (second, other) = found
    assert np.abs((first - second) / np.hypot(error, other)).max() < 4.5


def test_an_item_without_rating_is_predicted_from_its_features(wide):
    features = np.random.default_rng(6).normal(size=(60, 2))
    fitted = GibbsMF(rank=2, iterations=30, burn_in=10).fit(wide, prior=ItemPrior(features, np.zeros(60, np.int32)))
    rows, user = fitted.item_rows(), 3
    expected = [
        np.mean(fitted.users[:, user, 0] + rows[:, item, 0] + (fitted.users[:, user, 1:] * rows[:, item, 1:]).sum(1))
        for item in range(60)
    ]
    predicted = fitted.predict(np.full(60, user), np.arange(60))
    assert predicted == pytest.approx(np.clip(fitted.mean + np.array(expected), 1, 5), abs=1e-5)
    assert fitted.items.shape[1] == len(np.unique(wide.item)), "rows of other items are not stored"


def test_similar_items_are_those_that_the_same_users_like(wide):
    fitted = GibbsMF(rank=2, iterations=30, burn_in=10).fit(wide)
    items, cosine = fitted.similar_items(4, 5)
    assert 4 not in items
    assert len(items) == 5
    assert (np.diff(cosine) <= 0).all()
    assert np.abs(cosine).max() <= 1 + 1e-9
    tastes = fitted.item_tastes()
    straight = np.corrcoef(tastes - tastes.mean(axis=1, keepdims=True))[4, items[0]]
    assert cosine[0] == pytest.approx(straight, abs=0.05)
    with pytest.raises(ValueError, match="item must be"):
        fitted.similar_items(60)
