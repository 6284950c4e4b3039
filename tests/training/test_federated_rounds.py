"""Rounds: the loss goes down, the same seed gives the same bits, resuming gives them too."""

import math
import random

import numpy as np
import pytest
import torch
from small_log import make_impressions, make_table

from discreet.errors import DiscreetError, InputError
from discreet.models.model_registry import make_model
from discreet.training.checkpoint import Checkpoint, CheckpointFile
from discreet.training.clients import Clients, choose_clients
from discreet.training.draws import round_generator
from discreet.training.gradient_noise import summed_laplace_like
from discreet.training.network import Network
from discreet.training.optimisers import SGD, FedAdam
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.rounds import RoundResult, Server
from discreet.training.simulator import client_gradients, summed_gradient

SIZES = {"size": 8, "heads": 2, "query_size": 6, "history_length": 10, "title_words": 9, "word_size": 5}


def make_round(seed=0, clipped=False):
    table = make_table()
    network = Network(make_model("nrms", "small", table, 3, **SIZES))
    clients = Clients.from_impressions(make_impressions(readers=30), history_length=10)

    def work(parameters, round_):
        chosen = choose_clients(len(clients), 6, seed, round_)
        samples = clients.draw(chosen, seed, round_)
        weights = samples.counts / samples.counts.sum()
        if clipped:
            chunks = client_gradients(network, table, parameters, samples)
            summed = sum_clients(chunks, weights, clip_coordinates(0.05))
            noise = summed_laplace_like(parameters, 0.001, weights, round_generator(seed, round_, "noise"))
            direction = {name: value + noise[name] for name, value in summed.gradient.items()}
        else:
            summed = summed_gradient(network, table, parameters, samples, weights)
            direction = summed.gradient
        return RoundResult(direction, float(summed.losses.sum() / len(samples)))

    return work, network.parameters()


def train_rounds(work, optimiser, parameters, rounds, **kept):
    with Server(parameters, optimiser, rounds, **kept) as server:
        for number in server:
            server.step(work(server.parameters, number))
    return server.state


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_loss_falls():
    work, parameters = make_round()
    state = train_rounds(work, FedAdam(rate=0.02), parameters, 80)
    assert state.round == len(state.losses) == 80
    assert np.mean(state.losses[:10]) == pytest.approx(math.log(5), rel=0.25)
    assert np.mean(state.losses[-10:]) < 0.9 * np.mean(state.losses[:10])


@pytest.mark.parametrize("clipped", [False, True])
def test_same_seed_same_bits_other_seed_other_bits(clipped):
    first, second, other = (train_rounds(*_args(make_round(seed, clipped)), 4).parameters for seed in (0, 0, 1))
    assert same(first, second)
    assert not same(first, other)


def _args(made):
    work, parameters = made
    return work, FedAdam(rate=0.02), parameters


@pytest.mark.parametrize("clipped", [False, True])
def test_resumed_training_ends_with_the_same_bits(tmp_path, clipped):
    whole = train_rounds(*_args(make_round(clipped=clipped)), 7)
    file = CheckpointFile(tmp_path / "run" / "checkpoint.safetensors", {"seed": "0"})
    train_rounds(*_args(make_round(clipped=clipped)), 3, file=file)
    resumed = train_rounds(*_args(make_round(clipped=clipped)), 7, file=file)
    assert resumed.round == whole.round
    assert resumed.losses == whole.losses
    assert same(resumed.parameters, whole.parameters)
    assert same(resumed.optimiser, whole.optimiser)


@pytest.mark.parametrize("optimiser", [SGD(rate=3e38), FedAdam(rate=3e38)])
def test_weights_that_are_no_numbers_end_the_training(optimiser):
    parameters = {"weights": torch.ones(2)}
    with pytest.raises(DiscreetError, match=r"diverged in round 1 \(weights are not finite\)"):
        train_rounds(lambda *_: RoundResult({"weights": torch.full((2,), 1e9)}, 1.0), optimiser, parameters, 2)


def test_interruption_saves_the_last_finished_round(tmp_path):
    work, parameters = make_round()
    file = CheckpointFile(tmp_path / "checkpoint.safetensors")

    def interrupted(values, round_):
        if round_ == 4:
            raise KeyboardInterrupt
        return work(values, round_)

    with pytest.raises(KeyboardInterrupt):
        train_rounds(interrupted, FedAdam(rate=0.02), parameters, 9, file=file)
    assert file.load().round == 3
    resumed = train_rounds(work, FedAdam(rate=0.02), parameters, 9, file=file)
    assert same(resumed.parameters, train_rounds(work, FedAdam(rate=0.02), parameters, 9).parameters)


def test_a_checkpoint_of_more_rounds_is_not_called_a_training_of_fewer(tmp_path):
    file = CheckpointFile(tmp_path / "checkpoint.safetensors")
    train_rounds(*_args(make_round()), 3, file=file)
    with pytest.raises(InputError, match="has 3 rounds already, not 2"):
        train_rounds(*_args(make_round()), 2, file=file)


def test_checkpoints_are_written_on_the_way(tmp_path):
    work, parameters = make_round()
    file = CheckpointFile(tmp_path / "checkpoint.safetensors")
    seen = []
    train_rounds(work, SGD(), parameters, 5, file=file, every=2, watch=lambda *_: seen.append(file.load()))
    assert [found.round if found else 0 for found in seen] == [0, 0, 2, 2, 4]
    assert file.load().round == 5


def test_finished_training_is_not_trained_further(tmp_path):
    work, parameters = make_round()
    file = CheckpointFile(tmp_path / "checkpoint.safetensors")
    first = train_rounds(work, SGD(), parameters, 2, file=file)
    again = train_rounds(work, SGD(), parameters, 2, file=file)
    assert same(first.parameters, again.parameters)


def test_checkpoint_of_another_training_is_refused(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    CheckpointFile(path, {"seed": "0", "method": "a"}).save(Checkpoint({"x": torch.ones(2)}))
    with pytest.raises(InputError, match=r"another training \(seed differ"):
        CheckpointFile(path, {"seed": "1", "method": "a"}).load()


def test_damaged_checkpoint_is_one_clear_error(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(InputError, match="damaged"):
        CheckpointFile(path).load()


def test_a_flipped_byte_anywhere_in_a_checkpoint_is_found(tmp_path):
    chance = random.Random(2)
    file = CheckpointFile(tmp_path / "c", {"seed": "1"})
    parameters = {"b": torch.ones(3), "a": torch.arange(6.0).reshape(2, 3)}
    file.save(Checkpoint(parameters, {"m": torch.zeros(2)}, 2, (0.5, math.nan), ((0,), (0, 1)), ((1, 0.625),)))
    found = file.load()
    assert list(found.parameters) == ["b", "a"]
    assert torch.equal(found.parameters["a"], parameters["a"])
    assert (found.round, found.losses[0], found.nodes, found.watched) == (2, 0.5, ((0,), (0, 1)), ((1, 0.625),))
    content = file.path.read_bytes()
    for _ in range(500):
        damaged = bytearray(content)
        damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.path.write_bytes(damaged)
        with pytest.raises(InputError, match="is damaged"):
            file.load()
    for length in range(0, len(content), 7):
        file.path.write_bytes(content[:length])
        with pytest.raises(InputError, match="is damaged"):
            file.load()


def test_what_was_watched_is_kept_when_training_goes_on(tmp_path):
    file = CheckpointFile(tmp_path / "c")
    work, start = make_round()

    def train(rounds, file=None):
        look = lambda state, _: state.round / 8 if state.round % 2 == 0 else None  # noqa: E731
        return train_rounds(work, SGD(0.1), start, rounds, file=file, watch=look).watched

    assert train(3, file) == ((2, 0.25),)
    assert train(6, file) == train(6) == ((2, 0.25), (4, 0.5), (6, 0.75))


def test_divergence_stops_with_the_last_good_round(tmp_path):
    file = CheckpointFile(tmp_path / "checkpoint.safetensors")
    start = {"x": torch.ones(2)}

    def work(parameters, round_):
        return RoundResult({"x": torch.full((2,), math.nan if round_ == 3 else 1.0)}, 0.0)

    with pytest.raises(DiscreetError, match="round 3"):
        train_rounds(work, SGD(rate=0.1), start, 9, file=file)
    assert file.load().round == 2
    torch.testing.assert_close(file.load().parameters["x"], torch.full((2,), 0.8))
    assert torch.equal(start["x"], torch.ones(2))


def test_round_without_answers_changes_nothing():
    state = train_rounds(lambda *_: RoundResult(None, math.nan), SGD(), {"x": torch.ones(2)}, 2)
    assert state.round == 2
    assert torch.equal(state.parameters["x"], torch.ones(2))
