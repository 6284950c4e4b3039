"""Training over nodes: the same sums as by hand, whoever drops out, and refusals that say why."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from rounds_by_hand import assert_learnt, by_hand, described, open_job

from discreet.aggregation.secure_sum import Identity
from discreet.data.synthetic import news_world
from discreet.edge.node.host import Host
from discreet.edge.node.in_process import hosts_in_process, on_one_machine
from discreet.errors import DiscreetError
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.method import TrainingTask
from discreet.methods.node_rounds import NodeRounds
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.setup import Part
from discreet.methods.training_job import Description, read_task, write_task
from discreet.nodes import Assignment, LocalNodes
from discreet.nodes.configuration import NodeSettings
from discreet.training.optimisers import FedAdam
from discreet.training.parties import Parties
from discreet.training.randomness import PastRound

METHODS = [
    PrivateRec(rounds=3, fraction=0.2),
    FedRec(rounds=2, fraction=0.2),
    FedNewsRec(rounds=2, fraction=0.2),
    DPFedAvg(rounds=3, fraction=0.5),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_training_over_nodes_is_the_plain_sum_to_the_last_bit(task, method):
    state = method.train(task, 5, None, on_one_machine(task, 4))
    assert_learnt(state, by_hand(method, task, 5, 4, [(1, 2, 3, 4)] * method.rounds))
    assert state["nodes"].tolist() == [[False, True, True, True, True]] * method.rounds


class Leaving(LocalNodes):
    """Node 2 falls silent at the third question of the second round, and is never seen again."""

    asked = 0

    def present(self):
        return super().present() - ({2} if self.asked > 8 else set())

    def ask(self, requests, timeout):
        object.__setattr__(self, "asked", self.asked + 1)
        gone = {2} if self.asked >= 8 else set()
        return super().ask({node: request for node, request in requests.items() if node not in gone}, timeout)


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=lambda method: method.name)
def test_a_node_that_leaves_in_mid_round_is_not_in_the_sum_and_the_rest_goes_on(task, method):
    hosts, roster = hosts_in_process(task, 4)
    state = method.train(task, 5, None, NodeRounds(Leaving(hosts), roster, 1.0, simulated=True))
    assert [np.flatnonzero(row).tolist() for row in state["nodes"]] == [[1, 2, 3, 4], [1, 3, 4], [1, 3, 4]]
    assert_learnt(state, by_hand(method, task, 5, 4, [(1, 2, 3, 4), (1, 3, 4), (1, 3, 4)]))


@dataclasses.dataclass(frozen=True)
class Heard(LocalNodes):
    """Only some of the nodes are heard."""

    heard: tuple[int, ...]

    def ask(self, requests, timeout):
        return {node: answer for node, answer in super().ask(requests, timeout).items() if node in self.heard}


def test_a_round_without_a_quorum_is_lost_and_the_rest_goes_on_without_it(task):
    hosts, roster = hosts_in_process(task, 4)
    method = FedRec(rounds=2, fraction=0.2)
    state = method.train(task, 5, None, NodeRounds(Heard(hosts, (1, 2)), roster, 0.2))
    assert [np.flatnonzero(row).tolist() for row in state["nodes"]] == [[], [1, 2]]
    assert np.isnan(state["losses"]).tolist() == [True, False]


def test_three_lost_rounds_in_a_row_end_the_training(task, tmp_path):
    hosts, roster = hosts_in_process(task, 4)
    with pytest.raises(DiscreetError, match="no secure sum over the nodes"):
        FedRec(rounds=9, fraction=0.2).train(task, 5, tmp_path / "c", NodeRounds(Heard(hosts, (3,)), roster, 0.2))
    assert (tmp_path / "c").exists()


def test_a_resumed_training_over_nodes_ends_the_same(task, tmp_path):
    method, checkpoint = METHODS[3], tmp_path / "training"
    whole = method.train(task, 5, None, on_one_machine(task, 3))

    class EndsError(Exception):
        pass

    class Stops(LocalNodes):
        count = 0

        def ask(self, requests, timeout):
            object.__setattr__(self, "count", self.count + 1)
            if self.count > 8:
                raise EndsError
            return super().ask(requests, timeout)

    hosts, roster = hosts_in_process(task, 3)
    with pytest.raises(EndsError):
        method.train(task, 5, checkpoint, NodeRounds(Stops(hosts), roster, simulated=True))
    resumed = method.train(task, 5, checkpoint, on_one_machine(task, 3))
    for key in whole.keys() - {"watched"}:
        assert np.array_equal(whole[key], resumed[key], equal_nan=whole[key].dtype.kind == "f"), key


def test_the_description_says_everything(task):
    told = described(METHODS[3], task, 7)
    again = Description.from_bytes(told.to_bytes())
    assert again.method == METHODS[3]
    assert np.array_equal(again.centre, task.public_centre)
    assert again.to_bytes() == told.to_bytes()
    assert again.fixed.keys() == {"text_basis", "topic_basis"}
    assert np.array_equal(described(METHODS[0], task, 7).centre, task.text_centre)
    assert Description.from_bytes(described(FedRec(model="nrms"), task, 1).to_bytes()).method.model == "nrms"


@pytest.mark.parametrize(
    "wrong", [b"", b"[]", b"{}", b'{"kind": "train", "format": 9}', b'{"kind": "share", "format": 1}', b"\xff"]
)
def test_what_is_no_description_is_refused(wrong):
    with pytest.raises(DiscreetError):
        Description.from_bytes(wrong)


def test_a_baseline_is_no_job(task):
    told = described(FedRec(), task, 1).to_bytes().replace(b'"fedrec"', b'"content"')
    settings = told[told.index(b'"settings": {') : told.index(b"}", told.index(b'"settings": {')) + 1]
    with pytest.raises(DiscreetError, match="does not train over nodes"):
        Description.from_bytes(told.replace(settings, b'"settings": {}'))


def test_tasks_are_read_as_written_and_refused_otherwise(task):
    start = METHODS[0].setup(task, 1).start
    parameters, number = read_task(write_task(start, 12), start)
    assert number == 12
    assert list(parameters) == list(start)
    assert all(torch.equal(parameters[name], start[name]) for name in start)
    other = {**start, "basis": torch.zeros(2, 2)}
    lacking = {name: value for name, value in start.items() if name != "basis"}
    broken = {**start, "basis": start["basis"] * math.nan}
    for wrong in (other, lacking, broken):
        with pytest.raises(DiscreetError, match="the task's parameters"):
            read_task(write_task(wrong, 1), start)
    for damaged in (b"", b"1234567", write_task(start, 1)[:-5]):
        with pytest.raises(DiscreetError, match="cannot be read"):
            read_task(damaged, start)


def node(world, tmp_path, **changes):
    return NodeSettings(**{"folder": tmp_path, "number": 2, "data": world, "part": "2/4", **changes})


def ask_round(contribute, method, task, number):
    start = method.setup(task, 7).start
    given = contribute(Assignment(write_task(start, number), invited=(1, 2, 3, 4), quorum=3, known=4))
    return given.values


def test_a_node_opens_its_own_data_and_contributes_its_part(task, world, tmp_path):
    method, task = METHODS[0], dataclasses.replace(task, public_text=True)
    settings = node(world, tmp_path, max_epsilon=math.inf, noise="simulated")
    given = ask_round(open_job(settings, described(method, task, 7).to_bytes()), method, task, 2)
    own = method.contribution(method.setup(task, 7, Part(2, 2, 4)), method.setup(task, 7).start, 2, Parties(4, 3))
    assert np.array_equal(given, own)
    with pytest.raises(DiscreetError, match="round 4 is not one of the 3 rounds"):
        ask_round(open_job(settings, described(method, task, 7).to_bytes()), method, task, 4)


def test_a_node_refuses_what_its_readers_are_not_to_pay(task, world, tmp_path):
    for method, noise in ((METHODS[0], "secure"), (METHODS[3], "simulated")):
        with pytest.raises(DiscreetError, match="guarantees nothing"):
            open_job(node(world, tmp_path, noise=noise), described(method, task, 7).to_bytes())
    six = dataclasses.replace(METHODS[3], epsilon=6.0)
    first, second = (
        open_job(node(world, tmp_path), described(six, task, seed).to_bytes()) for seed in (7, 8)
    )  # nothing is spent before anything leaves
    ask_round(first, six, task, 1)
    ask_round(first, six, task, 2)
    for too_late in (
        lambda: ask_round(second, six, task, 1),
        lambda: open_job(node(world, tmp_path), described(six, task, 8).to_bytes()),
    ):
        with pytest.raises(DiscreetError, match="after 6 for other jobs"):
            too_late()


def test_secret_noise_is_fresh_and_ends_with_the_rounds(task, world, tmp_path):
    method = METHODS[3]
    contribute = open_job(node(world, tmp_path), described(method, task, 7).to_bytes())
    first, second, third = (ask_round(contribute, method, task, number) for number in (1, 2, 3))
    assert (first[:-1] != second[:-1]).mean() > 0.99
    assert first[-1] == second[-1] == third[-1] == method.setup(task, 7, Part(2, 2, 4)).readers
    contribute = open_job(node(world, tmp_path), described(method, task, 7).to_bytes())
    for past in (1, 2, 3):
        with pytest.raises(PastRound):
            ask_round(contribute, method, task, past)
    with pytest.raises(DiscreetError, match="round 4 is not one of the 3 rounds"):
        ask_round(contribute, method, task, 4)


def test_a_server_killed_in_a_round_loses_it_and_goes_on_with_secret_noise(task, world, tmp_path):
    method, checkpoint = DPFedAvg(rounds=3), tmp_path / "training"
    identities = {number: Identity.generate(number) for number in (1, 2, 3)}
    roster = {number: identity.public for number, identity in identities.items()}

    def host(number):
        settings = node(world, tmp_path / f"node-{number}", number=number, part=f"{number}/3")
        return Host(identities[number], roster, lambda description: open_job(settings, description)).answer

    class KilledError(Exception):
        pass

    class Kills(LocalNodes):
        count = 0

        def ask(self, requests, timeout):
            object.__setattr__(self, "count", self.count + 1)
            if self.count > 8:
                raise KilledError
            return super().ask(requests, timeout)

    hosts = {number: host(number) for number in roster}
    with pytest.raises(KilledError):  # after all nodes have contributed to the second round
        method.train(task, 5, checkpoint, NodeRounds(Kills(hosts), roster, 0.2))
    state = method.train(task, 5, checkpoint, NodeRounds(LocalNodes(hosts), roster, 0.2))
    assert [np.flatnonzero(row).tolist() for row in state["nodes"]] == [[1, 2, 3], [], [1, 2, 3]]
    assert "simulated" not in state


def test_a_node_with_other_articles_or_vectors_refuses(task, world, tmp_path):
    other = TrainingTask(news_world(120, seed=10), "hashed")
    with pytest.raises(DiscreetError, match="articles are not those of this node"):
        open_job(node(world, tmp_path), described(METHODS[3], other, 7).to_bytes())
    told = dataclasses.replace(described(METHODS[3], task, 7), source="a language model")
    with pytest.raises(DiscreetError, match="a language model, this node hashed"):
        open_job(node(world, tmp_path), told.to_bytes())


def test_nodes_of_a_protecting_method_keep_their_losses(task):
    method = METHODS[2]
    setup = method.setup(task, 1)
    alone = method.contribution(setup, setup.start, 1)
    among = method.contribution(setup, setup.start, 1, Parties(4, 3))
    assert alone[-1] > 0
    assert (among[-2:] == 0).all()
    assert np.array_equal(alone[:-2], among[:-2])
    assert isinstance(PrivateRec().optimiser(), FedAdam)


def test_a_node_without_readers_gives_nothing_but_its_noise(task):
    few = TrainingTask(task.data, "hashed")
    for method in METHODS:
        setup = method.setup(few, 1, Part(500, 500, 500))
        assert len(setup.clients) == 0
        given = method.contribution(setup, setup.start, 1, Parties(4, 3))
        if isinstance(method, DPFedAvg):
            assert given[-1] == 0
            assert (given[:-1] != 0).mean() > 0.99
        else:
            assert not given.any()
