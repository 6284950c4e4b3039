"""The averages of the thesis' Table 1 on MovieLens 1M, through the shipped mechanisms."""

import numpy as np
import pytest

from discreet.data.formats.movielens import read_ratings
from discreet.privacy.mechanisms import DPAverage, DPItemAverages
from discreet.privacy.noise import SimulatedNoise

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def ratings(shared_data):
    archive = shared_data / "movielens" / "ml-1m.zip"
    if not archive.is_file():
        pytest.skip("MovieLens 1M is not there")
    return read_ratings(archive)


@pytest.fixture(scope="module")
def split(ratings):
    test = np.random.default_rng(0).random(len(ratings)) < 0.1
    return ~test, test


def rmse(predicted, ratings, rows):
    return float(np.sqrt(np.mean((predicted - ratings.value[rows].astype(np.float64)) ** 2)))


@pytest.mark.parametrize("seed", range(5))
def test_global_average_at_epsilon_a_tenth(ratings, split, seed):
    train, test = split
    mechanism = DPAverage(epsilon=0.1, lowest=1, highest=5)
    average = mechanism.average(mechanism.release(ratings.value[train], SimulatedNoise(seed)))
    assert rmse(average, ratings, test) == pytest.approx(1.12, abs=0.006)


@pytest.mark.parametrize("seed", range(5))
def test_item_averages_at_epsilon_a_tenth_do_not_reach_the_published_098(ratings, split, seed):
    train, test = split
    mechanism = DPItemAverages(epsilon=0.1, lowest=1, highest=5, items=len(ratings.items))
    released = mechanism.release((ratings.item[train], ratings.value[train]), SimulatedNoise(seed))
    error = rmse(mechanism.item_averages(released)[ratings.item[test]], ratings, test)
    assert 1.01 < error < 1.05
