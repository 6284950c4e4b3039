"""Rounds over nodes as one would do them by hand: contributions added in the open, one step after the other."""

import torch

from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.edge.node.training_node import job_opener
from discreet.methods.learnt import trained_parameters
from discreet.methods.setup import Part
from discreet.methods.training_job import Description
from discreet.training.parties import Parties


def described(method, task, seed, *, simulated=False):
    """The job of a training, as the server would describe it."""
    return Description.of(method, task, method.setup(task, seed), simulated=simulated)


def open_job(node, description):
    """Open a job at a node that has just been started."""
    return job_opener(node)(description)


def by_hand(method, task, seed, nodes, present):
    """The parameters after one round for each entry of `present`: the nodes whose contributions count in it."""
    setups = {node: method.setup(task, seed, Part(node, node, nodes)) for node in range(1, nodes + 1)}
    parameters = method.setup(task, seed).start
    optimiser = method.optimiser()
    memory = optimiser.init(parameters)
    parties = Parties(nodes, SumPlan.default(nodes).quorum)
    for number, who in enumerate(present, start=1):
        total = sum(method.contribution(setups[node], parameters, number, parties) for node in who)
        direction = method.result(parameters, total).direction
        parameters, memory = optimiser.step(parameters, direction, memory)
    return parameters


def assert_learnt(state, parameters):
    """That a run's weights are these, to the last bit."""
    learnt = trained_parameters(state)
    assert set(learnt) == set(parameters)
    for name, value in parameters.items():
        assert torch.equal(learnt[name], value), name
