"""A row's draw has the moments that the formula says, and does not depend on the number of threads."""

import numba
import numpy as np
import pytest
from scipy.stats import kstest

from discreet.vendors.gibbs.random import fill_normal, row_stream
from discreet.vendors.gibbs.rows import PseudoRows, RowPrior, design, draw_rows, neighbours

RNG = np.random.default_rng(5)
SIZE = 4
NOISE_PRECISION = 1.7


def known(rows, observations=()):
    start = np.zeros(rows + 1, np.int64)
    for row, _, _ in observations:
        start[row + 1 :] += 1
    direction = np.array([along for _, along, _ in observations], float).reshape(-1, SIZE)
    return PseudoRows(start, direction, np.array([value for _, _, value in observations], float))


def some_ratings(rows, others, share=0.4):
    row, other = np.nonzero(RNG.random((rows, others)) < share)
    return row.astype(np.int32), other.astype(np.int32), RNG.normal(size=len(row)).astype(np.float32)


def draw(ratings, rows, other_rows, prior, observations, key):
    draws, means, errors = np.zeros((rows, SIZE)), np.zeros((rows, SIZE)), np.zeros(rows)
    data = neighbours(*ratings, rows, 0)
    draw_rows(
        data,
        design(other_rows, np.ones(len(other_rows))),
        np.full(rows, NOISE_PRECISION),
        prior,
        observations,
        np.uint64(key),
        draws,
        means,
        errors,
    )
    return draws, means, errors


def exact(ratings, row, other_rows, mean, precision, observations):
    """The normal distribution of a row, by numpy."""
    mine = ratings[0] == row
    design = np.column_stack((np.ones(mine.sum()), other_rows[ratings[1][mine], 1:]))
    target = ratings[2][mine] - other_rows[ratings[1][mine], 0]
    total = precision + NOISE_PRECISION * design.T @ design
    moment = precision @ mean + NOISE_PRECISION * design.T @ target
    for of_row, along, value in observations:
        if of_row == row:
            total = total + np.outer(along, along)
            moment = moment + np.asarray(along) * value
    covariance = np.linalg.inv(total)
    return covariance @ moment, covariance, design, target


@pytest.mark.parametrize("others", [7, 900])
def test_mean_and_residuals_are_the_closed_form(others):
    rows = 11
    ratings, other_rows = some_ratings(rows, others), RNG.normal(size=(others, SIZE))
    half = RNG.normal(size=(2, SIZE, SIZE))
    precision = half @ half.transpose(0, 2, 1) + np.eye(SIZE)
    prior = RowPrior(RNG.normal(size=(rows, SIZE)), (np.arange(rows) % 2).astype(np.int32), precision)
    observations = [(2, RNG.normal(size=SIZE), 1.5), (2, RNG.normal(size=SIZE), -0.5), (9, RNG.normal(size=SIZE), 2.0)]
    draws, means, errors = draw(ratings, rows, other_rows, prior, known(rows, observations), 1)
    for row in range(rows):
        mean, _, design, target = exact(ratings, row, other_rows, prior.mean[row], precision[row % 2], observations)
        assert means[row] == pytest.approx(mean, abs=2e-5)
        assert errors[row] == pytest.approx(np.square(target - design @ draws[row]).sum(), rel=1e-4)


def test_draws_have_the_exact_mean_and_covariance():
    rows, others, repeats = 3, 6, 20_000
    ratings, other_rows = some_ratings(rows, others, share=0.7), RNG.normal(size=(others, SIZE))
    precision = np.diag([1.0, 2.0, 3.0, 4.0])[None]
    prior = RowPrior(RNG.normal(size=(rows, SIZE)), np.zeros(rows, np.int32), precision)
    data, others, nothing = neighbours(*ratings, rows, 0), design(other_rows, np.ones(len(other_rows))), known(rows)
    samples, means, errors = np.zeros((repeats, rows, SIZE)), np.zeros((rows, SIZE)), np.zeros(rows)
    for key in range(repeats):
        draw_rows(
            data, others, np.full(rows, NOISE_PRECISION), prior, nothing, np.uint64(key), samples[key], means, errors
        )
    for row in range(rows):
        mean, covariance, _, _ = exact(ratings, row, other_rows, prior.mean[row], precision[0], [])
        deviation = np.sqrt(np.diag(covariance))
        assert np.abs((samples[:, row].mean(axis=0) - mean) / deviation).max() < 4.5 / np.sqrt(repeats)
        found = np.cov(samples[:, row].T) / np.outer(deviation, deviation)
        assert np.abs(found - covariance / np.outer(deviation, deviation)).max() < 4.5 * np.sqrt(2 / repeats)
    between = np.corrcoef(samples[:, 0, 0], samples[:, 1, 0])[0, 1]
    assert abs(between) < 4.5 / np.sqrt(repeats), "rows are independent"


def test_threads_do_not_matter():
    rows, others = 101, 60
    ratings, other_rows = some_ratings(rows, others), RNG.normal(size=(others, SIZE))
    prior = RowPrior(np.zeros((rows, SIZE)), np.zeros(rows, np.int32), np.eye(SIZE)[None])
    before, found = numba.get_num_threads(), []
    try:
        for threads in sorted({1, numba.config.NUMBA_NUM_THREADS}):
            numba.set_num_threads(threads)
            found.append(draw(ratings, rows, other_rows, prior, known(rows), 3))
    finally:
        numba.set_num_threads(before)
    for one, other in zip(found[0], found[-1], strict=True):
        assert np.array_equal(one, other)


def test_numbers_of_a_stream_are_normal():
    many = np.zeros(50_001)
    fill_normal(row_stream(np.uint64(1), 0), many)
    assert kstest(many, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(many[:-1], many[1:])[0, 1]) < 4.5 / np.sqrt(len(many))


def test_rows_without_ratings_are_independent_draws_of_the_prior():
    rows = 20_000
    prior = RowPrior(np.zeros((rows, SIZE)), np.zeros(rows, np.int32), np.eye(SIZE)[None])
    nobody = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)
    draws, means, _ = draw(nobody, rows, np.zeros((1, SIZE)), prior, known(rows), 2)
    assert not means.any()
    assert kstest(draws.ravel(), "norm").pvalue > 1e-4
    assert kstest(np.square(draws).sum(axis=1), "chi2", (SIZE,)).pvalue > 1e-4
    assert np.abs(np.corrcoef(draws[:-1].T, draws[1:].T) - np.eye(2 * SIZE)).max() < 4.5 / np.sqrt(rows)


def test_weighted_rows_of_the_other_side_and_own_noise_count_as_precision():
    rows, others = 5, 40
    ratings, other_rows = some_ratings(rows, others), RNG.normal(size=(others, SIZE))
    weight, noise = RNG.gamma(2.0, size=others), RNG.gamma(2.0, size=rows)
    prior = RowPrior(np.zeros((rows, SIZE)), np.zeros(rows, np.int32), np.eye(SIZE)[None])
    draws, means, errors = np.zeros((rows, SIZE)), np.zeros((rows, SIZE)), np.zeros(rows)
    data = neighbours(*ratings, rows, 0)
    draw_rows(data, design(other_rows, weight), noise, prior, known(rows), np.uint64(1), draws, means, errors)
    for row in range(rows):
        mine = ratings[0] == row
        x = np.column_stack((np.ones(mine.sum()), other_rows[ratings[1][mine], 1:]))
        target, precision = ratings[2][mine] - other_rows[ratings[1][mine], 0], noise[row] * weight[ratings[1][mine]]
        expected = np.linalg.solve(np.eye(SIZE) + (x.T * precision) @ x, (x.T * precision) @ target)
        assert means[row] == pytest.approx(expected, abs=2e-5)
