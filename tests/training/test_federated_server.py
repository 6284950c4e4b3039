"""The server: optimisers, and who takes part."""

import math

import numpy as np
import pytest
import torch

from discreet.training.clients import choose_clients, round_size
from discreet.training.optimisers import SGD, FedAdam


def test_sgd_by_hand():
    parameters, state = SGD(rate=0.5).step({"x": torch.tensor([1.0, 2.0])}, {"x": torch.tensor([2.0, -4.0])}, {})
    torch.testing.assert_close(parameters["x"], torch.tensor([0.0, 4.0]))
    assert state == {}


def test_fedadam_by_hand():
    """Two steps of Reddi et al. 2020, Alg. 2, in plain arithmetic."""
    rule = FedAdam(rate=0.1, beta1=0.9, beta2=0.99, tau=0.01)
    x = torch.tensor([1.0], dtype=torch.float64)
    parameters, state = {"x": x}, rule.init({"x": x})
    first, second, expected = 0.0, 0.01**2, 1.0
    for gradient in (2.0, -3.0):
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        expected -= 0.1 * first / (math.sqrt(second) + 0.01)
        direction = {"x": torch.tensor([gradient], dtype=torch.float64)}
        before = {name: value.clone() for name, value in (parameters | state).items()}
        following, memory = rule.step(parameters, direction, state)
        assert all(torch.equal(value, before[name]) for name, value in (parameters | state).items())
        parameters, state = following, memory
    assert parameters["x"].item() == pytest.approx(expected, rel=1e-12)


def test_round_size():
    assert round_size(50_000, 0.02) == 1000
    assert round_size(10, 0.01) == 1
    with pytest.raises(ValueError, match="fraction"):
        round_size(10, 0)


def test_clients_are_chosen_by_seed_and_round_without_repeats():
    first = choose_clients(1000, 64, seed=1, round_=1)
    assert len(set(first.tolist())) == 64
    np.testing.assert_array_equal(first, choose_clients(1000, 64, seed=1, round_=1))
    assert (first != choose_clients(1000, 64, seed=1, round_=2)).any()
    assert (first != choose_clients(1000, 64, seed=2, round_=1)).any()
    assert choose_clients(3, 64, seed=0, round_=0).tolist() == [0, 1, 2]


def test_every_client_is_chosen_equally_often():
    counts = np.bincount(np.concatenate([choose_clients(50, 10, 0, r) for r in range(2000)]), minlength=50)
    np.testing.assert_allclose(counts / 2000, 0.2, atol=0.045)  # 5 standard errors
