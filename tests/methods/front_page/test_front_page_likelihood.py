"""The likelihood of a released count is the one of the mechanism that released it."""

import numpy as np
import pytest
from scipy.stats import poisson

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.task import NoiseKind
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import popularity_task
from discreet.privacy.noise import SimulatedNoise, rounded_up

LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN


def noise_masses(scale, reach, kind=LAPLACE):
    power = 1 if kind is LAPLACE else 2
    one = np.exp(-((np.abs(np.arange(-reach, reach + 1)) / scale) ** power) / power)
    one /= one.sum()
    return np.convolve(one, one)  # from -2 reach to 2 reach


@pytest.mark.parametrize("kind", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize(("scale", "copies"), [(1.0, 1), (0.3, 1), (2.0, 1), (1.0, 5), (7.3, 3)])
def test_equals_the_convolution(scale, copies, kind):
    reach = 180
    masses = noise_masses(scale, reach, kind)
    released = np.array([-3, 0, 1, 7])
    expected = np.array([0.05, 1.0, 4.0])
    direct = np.zeros((4, 3))
    for k in range(60):
        direct += masses[released[:, None] - copies * k + 2 * reach] * poisson.pmf(k, expected)
    found = CountLikelihood(scale, copies, kind)(released, np.tile(np.log(expected), (4, 1)))
    np.testing.assert_allclose(found, np.log(direct), atol=2e-3)


def test_variance_is_that_of_two_aggregators():
    likelihood = CountLikelihood(2.0)
    drawn = sum(SimulatedNoise(seed).discrete_laplace(rounded_up(2.0), 200_000) for seed in (1, 2))
    assert likelihood.variance == pytest.approx(drawn.var(), rel=0.03)


@pytest.mark.parametrize("scale", [0.3, 0.7, 2.0, 30.5])
def test_variance_of_gaussian_noise_is_that_of_its_masses(scale):
    masses, places = noise_masses(scale, 600, GAUSSIAN), np.arange(-1200, 1201)
    assert CountLikelihood(scale, noise=GAUSSIAN).variance == pytest.approx(masses @ places**2)
    drawn = sum(SimulatedNoise(seed).discrete_gaussian(rounded_up(scale), 200_000) for seed in (1, 2))
    assert CountLikelihood(scale, noise=GAUSSIAN).variance == pytest.approx(drawn.var(), rel=0.03)


def test_gaussian_counts_are_as_likely_as_they_are_drawn():
    expected, scale, draws = 3.0, 1.5, 400_000
    noise = sum(SimulatedNoise(seed).discrete_gaussian(rounded_up(scale), draws) for seed in (1, 2))
    drawn = np.random.default_rng(0).poisson(expected, draws) + noise
    released = np.arange(-4, 13)
    share = (drawn == released[:, None]).mean(axis=1)
    found = np.exp(CountLikelihood(scale, noise=GAUSSIAN)(released, np.full((len(released), 1), np.log(expected))))
    assert (np.abs(found[:, 0] - share) <= 5 * np.sqrt(share / draws) + 2e-3 * share).all()


@pytest.mark.parametrize("price", [DayPrice(0.5), DayPrice(0.5, 1e-6)])
def test_a_tasks_likelihood_is_that_of_its_noise(price):
    task = popularity_task(900, price, 3, length=10)
    found = CountLikelihood.of(task, 7)
    assert (found.scale, found.copies, found.noise) == (float(task.noise_scale), 7, price.noise)
    assert found.variance**0.5 == pytest.approx(noise_deviation(task), rel=1e-6)


@pytest.mark.parametrize("kind", [LAPLACE, GAUSSIAN])
def test_many_clicks_go_on_smoothly_as_normal(kind):
    likelihood = CountLikelihood(1.0, noise=kind)
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
