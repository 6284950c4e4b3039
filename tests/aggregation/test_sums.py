"""The simulator's sums: true without noise, bounded, collected once."""

from __future__ import annotations

import numpy as np
import pytest
from aggregation_tasks import task
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.aggregation.aggregator_noise import add_to_share, noise_deviation, share_noise, signed
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.prio3.fields import FIELD64, FIELD128, Field
from discreet.aggregation.sums import PlainSums
from discreet.errors import DiscreetError
from discreet.privacy.noise import SimulatedNoise

ROWS = np.array([[1, 0, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]])


def test_a_sum_is_the_truth_and_the_noise_of_two_aggregators() -> None:
    some = task()
    sums, noise = PlainSums(SimulatedNoise(1)), SimulatedNoise(1)
    for row in ROWS:
        sums.contribute(some, 3, Contribution.of(some, row))
    found = sums.collect(some, 3)
    assert (found.values == ROWS.sum(0) + share_noise(some, noise) + share_noise(some, noise)).all()
    assert found.contributions == 3
    assert found.guarantee == some.guarantee()


def test_rows_of_a_matrix_are_the_same_as_one_contribution_each() -> None:
    some = task()
    results = []
    for matrix in (ROWS, sparse.csr_matrix(ROWS), sparse.coo_array(ROWS)):
        sums = PlainSums(SimulatedNoise(1))
        sums.contribute_all(some, 0, matrix)
        results.append(sums.collect(some, 0))
    assert all((result.values == results[0].values).all() and result.contributions == 3 for result in results)


def test_a_matrix_with_a_row_out_of_bounds_adds_nothing() -> None:
    some, sums = task(), PlainSums(SimulatedNoise(1))
    for wrong in ([[1, 1, 1, 0, 0]], [[2, 0, 0, 0, 0]], [[-1, 1, 0, 0, 0]], [[1.0, 0, 0, 0, 0]], [[1, 0, 0, 0]]):
        with pytest.raises(DiscreetError):
            sums.contribute_all(some, 0, sparse.csr_matrix(wrong))
    doubled = sparse.coo_array((np.array([1, 1]), (np.array([0, 0]), np.array([2, 2]))), shape=(1, 5))
    with pytest.raises(DiscreetError):
        sums.contribute_all(some, 0, doubled)
    with pytest.raises(DiscreetError, match="0 contributions"):
        sums.collect(some, 0)


def test_a_histogram_has_no_row_of_zeros() -> None:
    some, sums = task(kind="histogram", max_total=1), PlainSums(SimulatedNoise(1))
    with pytest.raises(DiscreetError, match="exactly 1"):
        sums.contribute_all(some, 0, np.zeros((2, 5), np.int64))


def test_a_window_is_collected_once_and_takes_nothing_more() -> None:
    some, sums = task(), PlainSums(SimulatedNoise(1))
    sums.contribute_all(some, 0, ROWS)
    sums.collect(some, 0)
    with pytest.raises(DiscreetError, match="collected already"):
        sums.collect(some, 0)
    with pytest.raises(DiscreetError, match="collected already"):
        sums.contribute(some, 0, Contribution.of(some, ROWS[0]))
    with pytest.raises(DiscreetError, match="windows 0 to 23"):
        sums.contribute(some, 24, Contribution.of(some, ROWS[0]))


def test_too_small_a_batch_is_not_collected_and_stays_open() -> None:
    some, sums = task(min_batch=4), PlainSums(SimulatedNoise(1))
    sums.contribute_all(some, 0, ROWS)
    with pytest.raises(DiscreetError, match="fewer than the 4"):
        sums.collect(some, 0)
    sums.contribute_all(some, 0, ROWS)
    assert sums.collect(some, 0).contributions == 6


def test_a_contribution_under_another_promise_is_refused() -> None:
    with pytest.raises(DiscreetError, match="promises"):
        PlainSums(SimulatedNoise(1)).contribute(task(), 0, Contribution.of(task(epsilon=2), ROWS[0]))


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=lambda field: field.name)
@given(st.lists(st.tuples(st.integers(0, 2**61), st.integers(-(2**61), 2**61)), min_size=1, max_size=5))
@settings(deadline=None)
def test_shares_take_signed_noise(field: Field, pairs: list[tuple[int, int]]) -> None:
    shares, noise = zip(*pairs, strict=True)
    noisy = add_to_share(field, field.from_ints(shares), np.array(noise))
    assert signed(field, noisy).tolist() == [share + value for share, value in pairs]


@pytest.mark.parametrize("terms", [{}, {"noise": "discrete_gaussian", "delta": 1e-6}])
def test_the_deviation_of_a_collected_sum_is_as_said(terms: dict[str, object]) -> None:
    some = task(length=20_000, max_total=1, epsilon=0.5, **terms)
    sums = PlainSums(SimulatedNoise(5))
    sums.contribute_all(some, 0, sparse.csr_array((3, 20_000), dtype=np.int64))
    assert np.std(sums.collect(some, 0).values) == pytest.approx(noise_deviation(some), rel=0.03)


def test_a_day_of_fifty_thousand_readers_is_simulated() -> None:
    some = task(length=2_000, max_total=1, epsilon=1)
    sums = PlainSums(SimulatedNoise(2))
    clicks = sparse.random_array((50_000, 2_000), density=0.2 / 2_000, rng=np.random.default_rng(3), dtype=np.float64)
    matrix = (clicks > 0).astype(np.int64).tocsr()
    matrix = matrix[np.diff(matrix.indptr) <= 1]
    for window in range(24):
        sums.contribute_all(some, window, matrix)
        found = sums.collect(some, window)
    assert found.contributions == matrix.shape[0]
