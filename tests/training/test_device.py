"""Where torch computes: the choice, and that nothing of a round stays behind on another device."""

import threading
from contextvars import Context

import numpy as np
import pytest
import torch
from small_log import make_impressions, make_table

from discreet.errors import DiscreetError
from discreet.models.model_registry import MODELS, make_model
from discreet.training import torch_device as device
from discreet.training.clients import Clients
from discreet.training.dropout import Dropout
from discreet.training.layout import compact
from discreet.training.network import Network
from discreet.training.objective import Objective, gradient_of
from discreet.training.stacked import stack
from discreet.training.torch_device import chosen_device, moved, use_device

SIZES = {"size": 8, "query_size": 6, "history_length": 10, "title_words": 9, "dropout": 0.2}


@pytest.fixture(autouse=True)
def back_to_the_processor():
    yield
    use_device("cpu")


def test_cuda_is_refused_where_there_is_none_and_auto_takes_what_is_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    use_device("auto")
    assert chosen_device() == torch.device("cpu")
    with pytest.raises(DiscreetError, match="finds no GPU"):
        use_device("cuda")
    with pytest.raises(DiscreetError, match="is one of cpu, cuda, auto"):
        use_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    use_device("auto")
    assert chosen_device() == torch.device("cuda")
    use_device("cpu")
    assert chosen_device() == torch.device("cpu")


def test_the_environment_chooses_where_no_option_does(monkeypatch):
    monkeypatch.setenv("DISCREET_DEVICE", "auto")
    monkeypatch.setattr(device, "_finds_gpu", lambda: True)
    found = []
    thread = threading.Thread(target=lambda: found.append(chosen_device()))
    thread.start()
    thread.join()
    assert found == [torch.device("cuda")], "a node's thread, to which nobody said anything"
    monkeypatch.setenv("DISCREET_DEVICE", "")
    assert Context().run(chosen_device) == torch.device("cpu"), "said to be nothing"
    monkeypatch.setenv("DISCREET_DEVICE", "gpu")
    with pytest.raises(DiscreetError, match="DISCREET_DEVICE"):
        Context().run(chosen_device)


WORDS = {"word_size": 5}
HEADS = {"heads": 2}
CASES = {
    "nrms": WORDS | HEADS,
    "dkn": WORDS | {"entity_size": 3},
    "npa": WORDS,
    "naml": WORDS | {"abstract_words": 7},
    "fednewsrec": WORDS | HEADS | {"filters": 8, "recent": 4},
    "fm": {"size": 9},
    "dfm": {},
    "ebnr": {"recent": 4, "auto_encoder_steps": 2},
    "dan": WORDS | {"entity_size": 3, "recent": 4},
    "plm_nr": HEADS,
    "bilinear": {},
}


def some_words(words):
    """Where words have no values, some of them stand for those that differ."""
    return words[: len(words) // 3], torch.empty_like(words)


@pytest.mark.parametrize("name", list(MODELS))
def test_all_of_a_round_moves(monkeypatch, name):
    """On torch's device without values, a tensor that was left on the processor stops the computation."""
    monkeypatch.setattr("discreet.models.word_convolution.different_words", some_words)
    monkeypatch.setattr("discreet.models.fednewsrec.own_positions", lambda texts: [each.shape[1] - 2 for each in texts])
    monkeypatch.setattr(device, "chosen_device", lambda: torch.device("meta"))
    monkeypatch.setattr("discreet.training.network.chosen_device", lambda: torch.device("meta"))
    table = make_table(reader_id=name == "npa")
    network = Network(make_model(name, "small", table, 3, **SIZES | CASES[name]))
    clients = Clients.from_impressions(make_impressions(), history_length=10)
    samples = clients.draw(np.arange(len(clients)), seed=1, round_=2)
    leaves = {
        key: value.to("meta").requires_grad_() for key, value in network.model.named_parameters() if value.requires_grad
    }
    dropout = Dropout.of(network.model)
    layout = moved(compact(samples, table, 10, dropout=dropout), network.device)
    losses = layout.losses(network, leaves, Objective())
    assert losses.device.type == "meta"
    assert losses.shape == (len(samples),)
    assert {value.device.type for value in gradient_of(losses.sum(), leaves).values()} == {"meta"}
    stacked = moved(stack(samples, table, 10, dropout), network.device)
    assert {part.device.type for part in (*stacked.articles.values(), stacked.clicks, stacked.weight)} == {"meta"}
