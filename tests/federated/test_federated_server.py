"""The server: aggregation, optimisers, participation, hostile clients."""

import math

import numpy as np
import pytest
import torch

from discreet.federated.optimisers import SGD, FedAdam
from discreet.federated.participation import arriving, choose_clients, round_size
from discreet.federated.server import Inbox, Refusal, Update

MODEL = {"weight": torch.zeros(2, 2), "bias": torch.zeros(2)}


def values(weight, bias):
    return {"weight": torch.full((2, 2), float(weight)), "bias": torch.full((2,), float(bias))}


def open_inbox(**settings):
    return Inbox(MODEL, 5, {1, 2, 3}, **settings)


def test_mean_is_weighted_by_samples():
    inbox = open_inbox()
    assert inbox.receive(Update(1, 5, values(1, 10), weight=3)) is None
    assert inbox.receive(Update(2, 5, values(5, 20), weight=1)) is None
    mean = inbox.mean()
    torch.testing.assert_close(mean["weight"], torch.full((2, 2), 2.0))
    torch.testing.assert_close(mean["bias"], torch.full((2,), 12.5))
    assert inbox.answered == {1, 2}


def test_nobody_answered_is_no_mean():
    assert open_inbox().mean() is None


WRONG = {
    "nan": (Update(2, 5, values(math.nan, 0)), Refusal.NOT_FINITE),
    "infinite": (Update(2, 5, values(0, -math.inf)), Refusal.NOT_FINITE),
    "late": (Update(2, 4, values(9, 9)), Refusal.STALE),
    "early": (Update(2, 6, values(9, 9)), Refusal.STALE),
    "replayed": (Update(1, 5, values(9, 9)), Refusal.REPLAYED),
    "uninvited": (Update(8, 5, values(9, 9)), Refusal.UNINVITED),
    "shape": (Update(2, 5, {"weight": torch.ones(4), "bias": torch.ones(2)}), Refusal.MISSHAPEN),
    "broadcastable": (Update(2, 5, {"weight": torch.ones(1, 2), "bias": torch.ones(2)}), Refusal.MISSHAPEN),
    "missing": (Update(2, 5, {"bias": torch.ones(2)}), Refusal.MISSHAPEN),
    "extra": (Update(2, 5, values(1, 1) | {"more": torch.ones(2)}), Refusal.MISSHAPEN),
    "type": (Update(2, 5, {k: v.double() for k, v in values(1, 1).items()}), Refusal.MISSHAPEN),
    "not a tensor": (Update(2, 5, {"weight": [[1, 1], [1, 1]], "bias": torch.ones(2)}), Refusal.MISSHAPEN),
    "weight zero": (Update(2, 5, values(9, 9), weight=0), Refusal.BAD_WEIGHT),
    "weight negative": (Update(2, 5, values(9, 9), weight=-1), Refusal.BAD_WEIGHT),
    "weight nan": (Update(2, 5, values(9, 9), weight=math.nan), Refusal.BAD_WEIGHT),
    "weight huge": (Update(2, 5, values(9, 9), weight=1e30), Refusal.BAD_WEIGHT),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_update_is_refused_counted_and_leaves_no_trace(case):
    update, reason = WRONG[case]
    inbox = open_inbox()
    inbox.receive(Update(1, 5, values(1, 2)))
    assert inbox.receive(update) is reason
    assert inbox.refused == {reason: 1}
    assert all(torch.equal(inbox.mean()[name], value) for name, value in values(1, 2).items())


def test_refused_client_may_answer_properly():
    inbox = open_inbox()
    inbox.receive(Update(2, 5, values(math.nan, 0)))
    assert inbox.receive(Update(2, 5, values(1, 1))) is None


def test_huge_updates_are_scaled_to_the_bound_and_never_overflow():
    inbox = open_inbox(norm_bound=1.0)
    for client in (1, 2):
        inbox.receive(Update(client, 5, values(3e38, -3e38)))
    mean = inbox.mean()
    assert inbox.bounded == 2
    assert math.sqrt(sum(float(v.square().sum()) for v in mean.values())) == pytest.approx(1.0, rel=1e-5)
    unbounded = open_inbox()
    for client in (1, 2):
        unbounded.receive(Update(client, 5, values(3e38, -3e38)))
    assert all(torch.isfinite(v).all() for v in unbounded.mean().values())


def test_small_updates_are_not_scaled():
    inbox = open_inbox(norm_bound=100.0)
    inbox.receive(Update(1, 5, values(1, 2)))
    assert inbox.bounded == 0
    assert torch.equal(inbox.mean()["bias"], torch.full((2,), 2.0))


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


def test_dropouts():
    chosen = np.arange(10_000)
    assert len(arriving(chosen, 0.25, 0, 0)) / 10_000 == pytest.approx(0.75, abs=0.02)
    assert arriving(chosen, 0.0, 0, 0).tolist() == chosen.tolist()
    assert (arriving(chosen, 0.25, 0, 0) == arriving(chosen, 0.25, 0, 0)).all()
