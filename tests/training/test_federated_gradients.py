"""The simulator gives what the loop gives: the same gradients, losses and numbers of samples."""

import copy
import math
import threading

import numpy as np
import pytest
import torch
from conditioning import Promise, distance, norm
from small_log import make_impressions, make_table

from discreet.models.model_registry import MODELS, make_model
from discreet.training import layout, simulator
from discreet.training.clients import Clients
from discreet.training.draws import laplace
from discreet.training.loop import client_difference, client_gradient
from discreet.training.network import Network
from discreet.training.objective import Objective
from discreet.training.reduction import clip_coordinates, clip_norms, sum_clients
from discreet.training.simulator import client_differences, client_gradients, summed_gradient
from discreet.training.threads import by_threads

SMALL = {"size": 8, "query_size": 6, "history_length": 10, "title_words": 9}
WORDS = {"word_size": 5}
HEADS = {"heads": 2}
CHANGES = {
    "nrms": SMALL | WORDS | HEADS,
    "naml": SMALL | WORDS | {"abstract_words": 7, "category_size": 4},
    "fednewsrec": SMALL | WORDS | HEADS | {"filters": 8, "recent": 4},
    "fm": SMALL | {"size": 9},
    "dfm": SMALL,
    "ebnr": SMALL | {"recent": 4, "auto_encoder_steps": 2},
    "dkn": SMALL | WORDS | {"entity_size": 3},
    "dan": SMALL | WORDS | {"entity_size": 3, "recent": 4},
    "npa": SMALL | WORDS | {"reader_id_size": 3},
    "plm_nr": SMALL | HEADS,
    "bilinear": SMALL,
}


def basis_interest(parameters, readers, randomness):
    """PrivateRec's shape of interest: attention over public vectors, noise, ReLU, reconstruction."""
    basis = parameters["basis"]
    attention = torch.softmax(readers @ basis.T / basis.shape[1] ** 0.5, dim=-1)
    noised = torch.relu(attention + randomness)
    return noised / (noised.sum(-1, keepdim=True) + 1e-3) @ basis


def make_case(name, dtype, *, private=False, growing=False, **changes):
    table = make_table(reader_id=name == "npa")
    model = make_model(name, "small", table, 3, **CHANGES[name], **changes).to(dtype)
    network = Network(model)
    parameters = network.parameters()
    generator = torch.Generator().manual_seed(5)
    for value in parameters.values():  # no parameter stays at zero, where gradients vanish
        value += 0.3 * torch.randn(value.shape, generator=generator, dtype=torch.float64).to(dtype)
    clients = Clients.from_impressions(make_impressions(growing=growing), history_length=10)
    samples = clients.draw(np.arange(len(clients)), seed=1, round_=2)
    objective = Objective()
    if private and not network.candidate_aware:
        parameters["basis"] = torch.randn(3, model.reader_size, generator=generator, dtype=torch.float64).to(dtype)
        samples = samples.with_masked_clicks(0.3).with_permuted_labels(0.6)
        samples = samples.with_randomness(laplace(samples.view_uniforms("attention", 3), 0.1))
        objective = Objective(basis_interest)
    return network, table, parameters, samples, objective


def relative_error(found, expected):
    return distance(found, expected) / norm(expected)


def by_loop(network, table, parameters, samples, objective):
    positions = range(len(samples.clients))
    return [client_gradient(network, table, parameters, samples.select(np.array([p])), objective) for p in positions]


FIRST = ("fednewsrec", "nrms", "naml", "plm_nr", "bilinear")
CASES = [
    (n, d, g, p)
    for n in FIRST
    for d in (torch.float32, torch.float64)
    for g in (False, True)
    for p in (False, True)
    if n == FIRST[0] or (d == torch.float64) ^ g ^ (not p)  # elsewhere every pair of choices, not every triple
]
CASES += [(n, torch.float32, True, False) for n in CHANGES.keys() - set(FIRST)]
CASES += [(n, torch.float64, False, True) for n in ("npa", "dfm")]


@pytest.mark.parametrize(("name", "dtype", "growing", "private"), sorted(CASES, key=str))
def test_simulator_equals_loop(monkeypatch, name, dtype, growing, private):
    network, table, parameters, samples, objective = make_case(name, dtype, private=private, growing=growing)
    exact = Network(copy.deepcopy(network.model).double())
    promise = Promise(lambda values: by_loop(exact, table, values, samples, objective), parameters, dtype)
    expected = promise.exact
    weights = np.arange(1.0, len(expected) + 1)

    summed = summed_gradient(network, table, parameters, samples, weights, objective)
    total = {n: sum(w * e.gradient[n] for w, e in zip(weights, expected, strict=True)) for n in parameters}
    assert distance(summed.gradient, total) < weights @ promise.gradient
    assert (np.abs(summed.losses - [e.loss for e in expected]) < promise.loss).all()
    assert samples.counts.tolist() == [e.samples for e in expected]

    for work in (0, math.inf):  # one by one, and side by side
        monkeypatch.setattr(simulator, "STACKED_WORK", work)
        seen = []
        for chunk in client_gradients(network, table, parameters, samples, objective):
            for place, position in enumerate(chunk.positions):
                own = {n: value[place] for n, value in chunk.gradients.items()}
                assert distance(own, expected[position].gradient) < promise.gradient[position]
                assert abs(chunk.losses[place] - expected[position].loss) < promise.loss[position]
            seen += chunk.positions.tolist()
        assert sorted(seen) == list(range(len(expected)))


@pytest.mark.parametrize("name", ["nrms", "dkn", "npa"])
def test_dropout_drops_the_same_in_simulator_and_loop(monkeypatch, name):
    network, table, parameters, samples, objective = make_case(name, torch.float64, dropout=0.3)
    whole = make_case(name, torch.float64)[0]
    expected = by_loop(network, table, parameters, samples, objective)
    without = by_loop(whole, table, parameters, samples, objective)
    assert all(abs(own.loss - other.loss) > 1e-6 for own, other in zip(expected, without, strict=True))
    ones = np.ones(len(expected))
    total = {n: sum(e.gradient[n] for e in expected) for n in parameters}
    summed = summed_gradient(network, table, parameters, samples, ones, objective)
    assert relative_error(summed.gradient, total) < 1e-10
    for work in (0, math.inf):
        monkeypatch.setattr(simulator, "STACKED_WORK", work)
        chunks = list(client_gradients(network, table, parameters, samples, objective))
        assert relative_error(sum_clients(chunks, ones, clip_norms(1e9)).gradient, total) < 1e-10


@pytest.mark.parametrize("name", list(MODELS))
def test_every_parameter_agrees_and_learns(name):
    network, table, parameters, samples, objective = make_case(name, torch.float64, private=True)
    expected = by_loop(network, table, parameters, samples, objective)
    found = summed_gradient(network, table, parameters, samples, np.ones(len(expected)), objective).gradient
    assert found.keys() == parameters.keys()
    for parameter in parameters:
        total = sum(e.gradient[parameter] for e in expected)
        assert total.abs().max() > 1e-9, parameter
        torch.testing.assert_close(found[parameter], total, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", list(MODELS))
def test_rounds_too_large_to_keep_are_computed_again(monkeypatch, name):
    network, table, parameters, samples, objective = make_case(name, torch.float64, private=True)
    weights = np.ones(len(samples.clients))
    kept = summed_gradient(network, table, parameters, samples, weights, objective)
    monkeypatch.setattr(layout, "KEPT_POSITIONS", 0)
    monkeypatch.setattr(layout, "BUCKET_POSITIONS", 20)
    again = summed_gradient(network, table, parameters, samples, weights, objective)
    assert relative_error(again.gradient, kept.gradient) < 1e-10
    np.testing.assert_allclose(again.losses, kept.losses, rtol=1e-10)


@pytest.mark.parametrize("name", list(MODELS))
def test_local_steps_equal_those_of_the_loop(name):
    network, table, parameters, samples, objective = make_case(name, torch.float64, private=True)
    steps = {"steps": 3, "rate": 0.1, "objective": objective}
    for chunk in client_differences(network, table, parameters, samples, **steps):
        (position,) = chunk.positions
        expected = client_difference(network, table, parameters, samples.select(chunk.positions), **steps)
        own = {n: value[0] for n, value in chunk.gradients.items()}
        assert relative_error(own, expected.gradient) < 1e-8, position
        assert chunk.losses[0] == pytest.approx(expected.loss, rel=1e-8)


def test_one_local_step_is_the_mean_gradient():
    network, table, parameters, samples, objective = make_case("nrms", torch.float64)
    one = samples.select(np.array([0]))
    gradient = client_gradient(network, table, parameters, one, objective)
    difference = client_difference(network, table, parameters, one, 1, 0.5, objective)
    expected = {n: 0.5 / len(one) * value for n, value in gradient.gradient.items()}
    assert relative_error(difference.gradient, expected) < 1e-12


def clip_one(gradient, bound):
    """A client's gradient scaled down to a norm, spelt out."""
    norm = sum(float((value**2).sum()) for value in gradient.values()) ** 0.5
    return {name: value * min(1.0, bound / norm) for name, value in gradient.items()}


@pytest.mark.parametrize("kind", ["coordinates", "norms"])
def test_clipped_sums_equal_those_of_the_loop(kind):
    network, table, parameters, samples, objective = make_case("fednewsrec", torch.float64)
    weights = np.linspace(0.5, 2, len(samples.clients))
    expected = dict.fromkeys(parameters, 0.0)
    changed = 0
    for weight, own in zip(weights, by_loop(network, table, parameters, samples, objective), strict=True):
        if kind == "coordinates":
            clipped = {n: v.clamp(-0.05, 0.05) for n, v in own.gradient.items()}
        else:
            clipped = clip_one(own.gradient, 0.3)
        changed += any(not torch.equal(clipped[n], v) for n, v in own.gradient.items())
        expected = {n: expected[n] + weight * clipped[n] for n in parameters}
    clip = clip_coordinates(0.05) if kind == "coordinates" else clip_norms(0.3)
    found = sum_clients(client_gradients(network, table, parameters, samples, objective), weights, clip)
    assert relative_error(found.gradient, expected) < 1e-8
    assert changed > 1


def test_loss_by_hand():
    readers = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    candidates = torch.tensor([[[1.0, 5.0], [0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0], [1.0, 1.0], [3.0, -1.0]]])
    scores = torch.einsum("nd,ncd->nc", readers, candidates)
    losses = Objective().losses(scores, torch.tensor([0, 1]))
    first = np.log(np.exp(1) + np.exp(0) + np.exp(2)) - 1
    second = np.log(np.exp(0) + np.exp(2) + np.exp(-2)) - 2
    np.testing.assert_allclose(losses.numpy(), [first, second], rtol=1e-6)


def test_gradients_are_the_same_bits_each_time():
    network, table, parameters, samples, objective = make_case("naml", torch.float32, private=True)
    weights = np.ones(len(samples.clients))
    first, second = (summed_gradient(network, table, parameters, samples, weights, objective) for _ in range(2))
    assert all(torch.equal(first.gradient[name], second.gradient[name]) for name in parameters)


def test_threads_share_clients_and_change_no_bit(monkeypatch):
    monkeypatch.setattr(simulator, "STACKED_WORK", 0)
    network, table, parameters, samples, objective = make_case("fednewsrec", torch.float32)
    before = network.parameters()
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)  # the fixture sets one again
        found.append(list(client_gradients(network, table, parameters, samples, objective)))
        assert torch.get_num_threads() == threads
    for one, other in zip(*found, strict=True):
        assert one.positions.tolist() == other.positions.tolist()
        assert one.losses.tolist() == other.losses.tolist()
        assert all(torch.equal(one.gradients[name], other.gradients[name]) for name in parameters)
    assert all(torch.equal(value, before[name]) for name, value in network.parameters().items())


def test_an_error_of_one_client_ends_all_threads():
    network, *_ = make_case("fednewsrec", torch.float32)

    def fail(_, number):
        if number == 2:
            raise ValueError("client 2")
        return number

    torch.set_num_threads(2)
    with pytest.raises(ValueError, match="client 2"):
        list(by_threads(network, fail, 40))
    assert torch.get_num_threads() == 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("clients")]
