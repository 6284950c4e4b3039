"""What a server might try with nodes that train: nothing but noised sums comes of it."""

import dataclasses
import math
import shutil

import numpy as np
import pytest
import torch
from rounds_by_hand import described, open_job

from discreet.edge.node.in_process import on_one_machine
from discreet.errors import DiscreetError
from discreet.methods.dp_fedavg import UNIT, DPFedAvg
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.methods.training_job import write_task
from discreet.nodes import Assignment
from discreet.nodes.configuration import NodeSettings
from discreet.training.participation_book import BookFile
from discreet.training.randomness import SecretRandomness


@pytest.fixture
def node(world, tmp_path):
    return NodeSettings(folder=tmp_path / "node-2", number=2, data=world, part="2/4")


def contribution(contribute, method, task, number=1):
    start = method.setup(task, 7).start
    given = contribute(Assignment(write_task(start, number), invited=(1, 2, 3, 4), quorum=3, known=4))
    return given.values


def test_noise_from_a_seed_that_the_server_knows_is_no_noise(task, node):
    method = DPFedRec(rounds=1, epsilon=0.01, calibration="exact", model="nrms")
    assert method.guarantee(method.setup(task, 7).start).epsilon <= node.max_epsilon
    with pytest.raises(DiscreetError, match="guarantees nothing"):
        open_job(node, described(method, task, 7).to_bytes())


@pytest.mark.parametrize("steps", [1, 2])
def test_parameters_that_make_updates_overflow_tell_nothing(task, node, tmp_path, steps):
    method = DPFedAvg(rounds=3, local_steps=steps)
    setup = method.setup(task, 7, randomness=SecretRandomness(BookFile(tmp_path / "book", "all")))
    huge = {name: torch.full_like(value, 3e38) for name, value in setup.start.items()}
    computed = np.concatenate(list(method._computed(setup, huge, 1, np.arange(len(setup.clients)))))
    assert not np.isfinite(computed).all()
    updates = np.concatenate(list(method.updates(setup, huge, 1, np.arange(len(setup.clients)))))
    fine = np.isfinite(computed).all(axis=1)
    assert np.array_equal(updates[fine], computed[fine])
    assert not updates[~fine].any()
    contribute = open_job(node, described(method, task, 7).to_bytes())
    given = contribute(Assignment(write_task(huge, 1), invited=(1, 2, 3, 4), quorum=3, known=4))
    assert given.values.shape == (method.length(huge),)


def test_a_node_never_centres_on_what_its_own_readers_were_shown(task, node):
    for model in ("bilinear", "plm_nr"):
        told = described(DPFedAvg(model=model, epsilon=math.inf), task, 7)
        for centre in (np.zeros(0, np.float32), told.centre[:1], told.centre[:-1]):
            with pytest.raises(DiscreetError, match="the server has title vectors from"):
                dataclasses.replace(told, centre=centre).task(task.data)


def test_the_server_names_no_file_of_a_node(task, world, monkeypatch):
    asked = []
    monkeypatch.setattr("discreet.methods.method.encode_texts", lambda texts, source: asked.append(source))
    told = dataclasses.replace(described(DPFedAvg(), task, 7), text=str(world / "news.tsv"))
    with pytest.raises(AttributeError):
        told.task(task.data)
    assert asked == ["auto"]


def test_titles_that_are_weighted_by_histories_leave_no_guarantee():
    assert DPFedAvg(model="plm_nr").guarantee({}).epsilon == math.inf
    assert DPFedAvg(model="nrms").guarantee({}).epsilon <= 3.0


def test_rounds_are_not_added_to_a_training_that_has_begun(task, tmp_path):
    """The noise of each round was made for as many as were promised."""
    checkpoint = tmp_path / "checkpoint"
    DPFedAvg(rounds=2, fraction=0.5).train(task, 1, checkpoint)
    with pytest.raises(DiscreetError, match="another training \\(rounds differ\\)"):
        DPFedAvg(rounds=4, fraction=0.5).train(task, 1, checkpoint)


def test_nobody_joins_again_when_the_book_is_lost(task, node):
    method = DPFedAvg(rounds=3)
    description = described(method, task, 7).to_bytes()
    contribution(open_job(node, description), method, task)
    shutil.rmtree(node.folder / "participations")
    with pytest.raises(DiscreetError, match="book of who has joined is lost"):
        contribution(open_job(node, description), method, task, 2)


def test_what_is_refused_is_not_charged(task, node):
    method = DPFedAvg(rounds=3)
    contribute = open_job(node, described(method, task, 7).to_bytes())
    with pytest.raises(DiscreetError, match="round 9"):
        contribution(contribute, method, task, 9)
    assert not (node.folder / "spent").exists()


def test_a_server_that_invites_few_brings_all_who_collude_with_it(task, node):
    """Of 30 nodes 3 may collude. Where 2 or 3 are invited, all others may be those; where 5 are, one is not."""
    method = DPFedAvg(rounds=3)
    contribute = open_job(node, described(method, task, 7).to_bytes())
    assignment = Assignment(write_task(method.setup(task, 7).start, 1), (1, 2, 3), quorum=3, known=30)
    with pytest.raises(DiscreetError, match="at most 2 may collude, not 3"):
        contribute(assignment)
    given = contribute(dataclasses.replace(assignment, invited=(1, 2, 3, 4, 5), quorum=4))
    assert given.values[:-1].std() > 0.9 * method.multiplier * UNIT


def test_a_node_with_simulated_noise_does_not_pass_for_one_with_secret_noise(task, node):
    method, simulating = DPFedAvg(rounds=3), dataclasses.replace(node, noise="simulated", max_epsilon=math.inf)
    with pytest.raises(DiscreetError, match="the server would take it for secret"):
        open_job(simulating, described(method, task, 7).to_bytes())
    open_job(simulating, described(method, task, 7, simulated=True).to_bytes())


def test_a_simulation_is_not_gone_on_with_as_if_it_had_been_real(task, tmp_path):
    checkpoint, method = tmp_path / "checkpoint", DPFedAvg(rounds=2, fraction=0.5)
    method.train(task, 1, checkpoint)
    real = dataclasses.replace(on_one_machine(task, 2), simulated=False)
    with pytest.raises(DiscreetError, match="another training \\(noise differ\\)"):
        method.train(task, 1, checkpoint, real)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rounds": 100_001}, "rounds of at most 100,000"),
        ({"negatives": 101}, "negatives of at most 100"),
        ({"local_steps": 101}, "local_steps of at most 100"),
    ],
)
def test_a_node_computes_no_more_than_nodes_allow(task, node, change, reason):
    told = dataclasses.replace(described(DPFedAvg(rounds=3), task, 7), method=DPFedAvg(**{"rounds": 3, **change}))
    with pytest.raises(DiscreetError, match=reason):
        open_job(node, told.to_bytes())


def test_a_promise_that_the_node_does_not_find_itself_is_refused(task, node):
    """It is in the description, and so in what all nodes of a sum sign."""
    told = described(DPFedAvg(rounds=3), task, 7)
    assert told.promise.startswith("ε = 3, δ = 1e-06 per user (zero out) against the server, lifetime")
    with pytest.raises(DiscreetError, match="promises readers something else"):
        open_job(node, dataclasses.replace(told, promise=told.promise.replace("ε = 3", "ε = 1")).to_bytes())


def test_numbers_that_are_none_are_refused_before_a_model_is_made_of_them(task, node):
    told = described(DPFedAvg(rounds=3), task, 7)
    wrong = [
        dataclasses.replace(told, centre=told.centre * np.float32(np.nan)),
        dataclasses.replace(told, fixed={name: part + np.float32(np.inf) for name, part in told.fixed.items()}),
    ]
    for one in wrong:
        with pytest.raises(DiscreetError, match=r"not finite|as servers write it"):
            open_job(node, one.to_bytes())
    for seed in (-1, 2**63):
        with pytest.raises(DiscreetError, match="seed"):
            open_job(node, dataclasses.replace(told, seed=seed).to_bytes())


def test_readers_that_cannot_be_used_are_no_reason_to_refuse(task, node, monkeypatch):
    """Their book is of other readers, or the program fails over them: noise goes out, and nobody joins."""
    method = DPFedAvg(rounds=3)
    contribute = open_job(node, described(method, task, 7).to_bytes())
    contribution(contribute, method, task)
    (book,) = (node.folder / "participations").iterdir()
    BookFile(book, "others").write(1, np.arange(3, dtype=np.int32), np.zeros(3, np.int64))
    second = contribution(contribute, method, task, 2)
    assert second[:-1].std() > 0.5 * method.multiplier * UNIT

    def fail(*_, **__):
        raise IndexError("reader 42 clicked on 7")

    book.unlink()
    other = dataclasses.replace(node, folder=node.folder.with_name("node-3"), number=3)
    contribute = open_job(other, described(method, task, 7).to_bytes())
    failing = method.setup(task, 7).clients.__class__
    draw = failing.draw
    monkeypatch.setattr(failing, "draw", lambda self, chosen, *a: fail() if len(chosen) else draw(self, chosen, *a))
    third = contribution(contribute, method, task, 1)
    assert third[:-1].std() > 0.5 * method.multiplier * UNIT
