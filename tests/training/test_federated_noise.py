"""The sum of clients' Laplace noise, drawn at once, has the distribution of the sum."""

import numpy as np
import pytest
import torch
from scipy import stats

from discreet.training.gradient_noise import client_laplace, summed_laplace, summed_laplace_like


@pytest.mark.parametrize("weights", [[1.0], [1.0] * 8, [0.5, 2.0, 2.0, 3.0], [1.0, 2.0, 4.0]])
def test_summed_laplace_has_the_distribution_of_the_sum(weights):
    rng = np.random.default_rng(11)
    count = 40_000
    found = summed_laplace((count,), 0.7, np.array(weights), rng).numpy()
    expected = sum(w * rng.laplace(0, 0.7, count) for w in weights)
    assert stats.ks_2samp(found, expected).pvalue > 1e-4
    # the sum of two squares would betray a shared variance between coordinates
    assert abs(np.corrcoef(np.abs(found[::2]), np.abs(found[1::2]))[0, 1]) < 0.03


def test_sum_of_equal_weights_is_a_difference_of_gammas():
    rng = np.random.default_rng(3)
    found = summed_laplace((40_000,), 2.0, np.ones(5), rng).numpy()
    expected = 2.0 * (rng.standard_gamma(5, 40_000) - rng.standard_gamma(5, 40_000))
    assert stats.ks_2samp(found, expected).pvalue > 1e-4


def test_client_noise_is_laplace():
    noise = client_laplace({"a": torch.zeros(200, 100)}, 0.3, np.random.default_rng(5))
    assert noise["a"].shape == (200, 100)
    assert stats.kstest(noise["a"].ravel().numpy(), stats.laplace(scale=0.3).cdf).pvalue > 1e-4


def test_noise_takes_the_shapes_and_types_of_the_parameters():
    values = {"a": torch.zeros(3, 4), "b": torch.zeros(5, dtype=torch.float64)}
    noise = summed_laplace_like(values, 1.0, np.ones(2), np.random.default_rng(0))
    assert {n: (v.shape, v.dtype) for n, v in noise.items()} == {n: (v.shape, v.dtype) for n, v in values.items()}
    assert all((v != 0).all() for v in noise.values())
