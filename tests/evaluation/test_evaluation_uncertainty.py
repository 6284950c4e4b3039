import math

import numpy as np
import pytest

from discreet.evaluation.uncertainty import Difference, Estimate, estimate, paired_difference


def test_one_impression_per_reader_is_the_usual_standard_error():
    values = np.random.default_rng(1).normal(size=50)
    result = estimate(values, np.arange(50))
    assert result.mean == pytest.approx(values.mean())
    assert result.se == pytest.approx(values.std(ddof=1) / math.sqrt(50))


def test_copies_of_a_reader_add_no_certainty():
    values = np.random.default_rng(2).normal(size=30)
    once = estimate(values, np.arange(30))
    fivefold = estimate(np.repeat(values, 5), np.repeat(np.arange(30), 5))
    assert fivefold.se == pytest.approx(once.se)


def test_two_readers_by_hand():
    # Mean 1/2; reader sums of deviations +1/2·2 = 1 and −1; se² = 2/1 · (1 + 1) / 16.
    assert estimate(np.array([1.0, 1.0, 0.0, 0.0]), np.array([7, 7, 3, 3])).se == pytest.approx(0.5)


def test_matches_the_spread_over_repeated_samples_of_readers():
    rng = np.random.default_rng(3)
    means, errors = [], []
    for _ in range(600):
        impressions = rng.integers(1, 9, size=80)
        reader = np.repeat(np.arange(80), impressions)
        values = rng.normal(size=80)[reader] + rng.normal(size=len(reader))
        result = estimate(values, reader)
        means.append(result.mean)
        errors.append(result.se)
    spread = np.std(means, ddof=1)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.12)


def test_seeds_add_their_own_variance():
    readers = np.arange(4)
    base = np.array([0.1, 0.4, 0.3, 0.8])
    runs = [base, base + 0.2, base - 0.1]
    alone = estimate(base, readers)
    result = estimate(runs, readers)
    assert result.mean == pytest.approx(base.mean() + 0.1 / 3)
    assert result.se**2 == pytest.approx(alone.se**2 + np.var([0, 0.2, -0.1], ddof=1) / 3)


def test_paired_difference_cancels_what_both_share():
    rng = np.random.default_rng(4)
    hardness, reader = rng.normal(size=200), np.arange(200) // 2
    ours, theirs = hardness + 0.1 + 0.01 * rng.normal(size=200), hardness
    result = paired_difference(ours, theirs, reader)
    assert result.mean == pytest.approx(0.1, abs=4 * result.se)
    assert result.se < estimate(ours, reader).se / 10
    assert result.z == pytest.approx(result.mean / result.se)
    assert result.z > 10


def test_difference_of_methods_with_different_numbers_of_seeds():
    readers = np.arange(3)
    ours, theirs = [np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])], np.array([1.0, 2.0, 3.0])
    result = paired_difference(ours, theirs, readers)
    assert result.mean == pytest.approx(0.5)
    assert result.se == pytest.approx(math.sqrt(0.5 / 2))
    opposite = paired_difference(theirs, ours, readers)
    assert (opposite.mean, opposite.se) == (-result.mean, pytest.approx(result.se))


def test_the_seeds_of_both_sides_make_a_difference_less_sure():
    """Readers who agree leave only the seeds: var(0, 1)/2 of ours, var(0, 0.3, 0.6)/3 of theirs."""
    base = np.array([0.1, 0.4, 0.3])
    result = paired_difference([base, base + 1], [base, base + 0.3, base + 0.6], np.arange(3))
    assert result.mean == pytest.approx(0.5 - 0.3)
    assert result.se**2 == pytest.approx(0.5 / 2 + 0.09 / 3)


@pytest.mark.parametrize(("mean", "z"), [(0.0, 0.0), (0.1, math.inf), (-0.1, -math.inf)])
def test_z_of_a_difference_without_error(mean, z):
    assert Difference(mean, 0.0).z == z


def test_a_single_reader_leaves_the_error_unknown():
    result = estimate(np.array([0.2, 0.6]), np.zeros(2, dtype=int))
    assert math.isnan(result.se)
    assert result.to_json() == {"mean": pytest.approx(0.4), "se": None}


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        estimate(np.zeros(3), np.arange(4))
    with pytest.raises(ValueError, match="do not fit"):
        estimate(np.zeros(0), np.arange(0))


def test_in_words():
    assert str(Estimate(0.5, 0.01)) == "0.5000 ± 0.0100"
    assert str(Difference(0.5, 0.01)) == "+0.5000 ± 0.0100"
