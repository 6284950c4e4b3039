"""Sums over readers as whole numbers: exact, in whatever order, and refused where they are no sums of gradients."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError
from discreet.training.readers_sum import STEP, ReadersSum, flat, flat_rows, unflat

LIKE = {"second": torch.zeros(2, 3), "first": torch.zeros(4)}


def some_sum(seed: int) -> ReadersSum:
    generator = torch.Generator().manual_seed(seed)
    gradient = {name: torch.randn(value.shape, generator=generator) for name, value in LIKE.items()}
    return ReadersSum(gradient, weight=3.0, loss=1.75, samples=5)


def test_a_sum_survives_the_lattice_to_half_a_step():
    told = some_sum(0)
    back = ReadersSum.from_lattice(told.to_lattice(), LIKE)
    assert list(back.gradient) == list(LIKE)
    for name, value in told.gradient.items():
        assert (back.gradient[name] - value.double()).abs().max() <= STEP / 2
    assert (back.weight, back.loss, back.samples) == (3.0, 1.75, 5)


@given(st.permutations(range(6)))
def test_sums_are_the_same_in_every_order(order):
    vectors = [some_sum(seed).to_lattice() for seed in range(6)]
    expected = sum(vectors)
    assert np.array_equal(sum(vectors[place] for place in order), expected)


def test_the_mean_is_over_weights_and_nobody_has_none():
    total = some_sum(0).to_lattice() + some_sum(1).to_lattice()
    told = ReadersSum.from_lattice(total, LIKE)
    assert told.mean is not None
    assert torch.allclose(told.mean["first"], told.gradient["first"] / 6)
    assert told.mean_loss == 3.5 / 10
    nobody = ReadersSum.from_lattice(np.zeros_like(total), LIKE)
    assert nobody.mean is None
    assert np.isnan(nobody.mean_loss)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 1e10])
def test_what_is_no_gradient_is_refused(wrong):
    told = some_sum(0)
    told.gradient["first"][0] = wrong
    with pytest.raises(DiscreetError, match="diverged"):
        told.to_lattice()


def test_flat_and_back():
    told = some_sum(0).gradient
    back = unflat(flat(told), LIKE)
    assert all(torch.equal(back[name], told[name].double()) for name in LIKE)
    rows = flat_rows({name: torch.stack((value, 2 * value)) for name, value in told.items()})
    assert np.array_equal(rows[0], flat(told))
    assert np.array_equal(rows[1], 2 * flat(told))
    with pytest.raises(ValueError, match="11 values for 10 parameters"):
        unflat(np.zeros(11), LIKE)
