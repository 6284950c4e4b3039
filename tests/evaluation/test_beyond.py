"""Diversity, coverage and popularity lift, by hand on two slates."""

import numpy as np
import pytest

from discreet.data.news import Impressions
from discreet.evaluation.beyond import beyond_accuracy


@pytest.fixture
def two_slates():
    """Six articles in the first slate, two in the second."""
    shown = np.array([0, 1, 2, 3, 4, 5, 0, 6], np.int32)
    zero = np.zeros(2, np.int64)
    return Impressions(
        reader=np.array([0, 1], np.int32),
        time=zero,
        slate=np.array([0, 6, 8]),
        shown=shown,
        clicked=np.zeros(8, np.bool_),
        timeline=np.zeros(0, np.int32),
        history_start=zero,
        history_stop=zero,
    )


def test_by_hand(two_slates):
    vectors = np.zeros((7, 2), np.float32)
    vectors[[0, 1, 2]] = [1, 0]
    vectors[[3, 4, 5, 6]] = [0, 1]
    scores = np.array([6.0, 5, 4, 3, 2, 1, 1, 2])
    clicks = np.array([6, 0, 0, 0, 0, 0, 2])
    found = beyond_accuracy(scores, two_slates, vectors, clicks)
    # first slate: 0, 1, 2 | 3, 4: four pairs of ten are alike
    np.testing.assert_allclose(found["diversity@5"], [0.6, 1.0])
    assert found["coverage@5"].mean() == pytest.approx(6 / 7)  # all but article 5
    np.testing.assert_allclose(found["lift@5"], [(6 / 5) / 1 - 1, 0.0])


def test_equal_scores_rank_in_the_order_of_the_slate(two_slates):
    vectors = np.eye(7, dtype=np.float32)
    found = beyond_accuracy(np.zeros(8), two_slates, vectors, np.array([0, 0, 0, 0, 0, 5, 0]))
    assert found["lift@5"][0] == -1
    assert found["lift@5"][1] == 0
