"""The likelihood of a released count is the one of the mechanism that released it."""

import numpy as np
import pytest
from scipy.stats import poisson

from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.privacy.noise import SimulatedNoise, rounded_up


def noise_masses(scale, reach):
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    one /= one.sum()
    return np.convolve(one, one)  # from -2 reach to 2 reach


@pytest.mark.parametrize(("scale", "copies"), [(1.0, 1), (0.3, 1), (2.0, 1), (1.0, 5)])
def test_equals_the_convolution(scale, copies):
    reach = 120
    masses = noise_masses(scale, reach)
    released = np.array([-3, 0, 1, 7])
    expected = np.array([0.05, 1.0, 4.0])
    direct = np.zeros((4, 3))
    for k in range(60):
        direct += masses[released[:, None] - copies * k + 2 * reach] * poisson.pmf(k, expected)
    found = CountLikelihood(scale, copies)(released, np.tile(np.log(expected), (4, 1)))
    np.testing.assert_allclose(found, np.log(direct), atol=2e-3)


def test_variance_is_that_of_two_aggregators():
    likelihood = CountLikelihood(2.0)
    drawn = sum(SimulatedNoise(seed).discrete_laplace(rounded_up(2.0), 200_000) for seed in (1, 2))
    assert likelihood.variance == pytest.approx(drawn.var(), rel=0.03)


def test_many_clicks_go_on_smoothly_as_normal():
    likelihood = CountLikelihood(1.0)
    around = np.log(32.0) + np.array([[-1e-6, 1e-6]])
    low, high = likelihood(np.array([40]), around)[0]
    assert low == pytest.approx(high, abs=1e-3)
    grid = np.linspace(np.log(50), np.log(800), 200)
    best = grid[likelihood(np.array([200]), grid[None]).argmax()]
    assert np.exp(best) == pytest.approx(200, rel=0.03)


def test_without_noise_it_is_poisson():
    logs = np.log(np.array([[0.5, 2.0, 8.0]]))
    found = CountLikelihood(0.0)(np.array([3]), logs)[0]
    wanted = poisson.logpmf(3, np.exp(logs[0]))
    np.testing.assert_allclose(found - found[0], wanted - wanted[0])
