"""Nodes in one process, and a wire between them and the server that can be tampered with."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from plain_contributions import NOTHING, plain

from discreet.aggregation.secure_sum import Identity, Step
from discreet.edge.node.host import Host
from discreet.nodes import SecureSums
from discreet.nodes.requests import Begin, read_request

PATIENCE = 0.2
JOB = b"give what the task asks for"
LENGTH = 3


def vector_of(node):
    return np.array([node, -(10**node), 2 * node], dtype=np.int64)


def sum_of(nodes):
    return sum(vector_of(node) for node in nodes).tolist()


def step_of(request):
    asked = read_request(request)
    return Step.ADVERTISE if isinstance(asked, Begin) else asked.step


@dataclass
class Town:
    """Identities, hosts, and a log of what the hosts were asked to open and to contribute."""

    count: int
    contribution: Any = None
    opened: list[tuple[int, bytes]] = field(default_factory=list)
    contributed: list[tuple[int, Any]] = field(default_factory=list)

    def __post_init__(self):
        self.identities = {node: Identity.generate(node) for node in range(1, self.count + 1)}
        self.roster = {node: identity.public for node, identity in self.identities.items()}
        self.hosts = {}
        for node in self.roster:
            self.start(node)

    def start(self, node, roster=None):
        """Start a node's host, or start it anew: it then has its keys and data, and has forgotten everything else."""

        def open_job(description):
            self.opened.append((node, description))

            def contribute(assignment):
                self.contributed.append((node, assignment))
                return plain(self.contribution(node, assignment) if self.contribution else vector_of(node))

            return contribute

        self.hosts[node] = Host(self.identities[node], roster or self.roster, open_job)


class Wire:
    """Carries requests and answers, asks `on_request` and `on_answer` first; what they make None is lost."""

    def __init__(self, town, on_request=None, on_answer=None):
        self.town = town
        self.on_request = on_request or (lambda node, step, request: request)
        self.on_answer = on_answer or (lambda node, step, answer: answer)
        self.away = set()
        self.requests = []
        self.answers = []

    def present(self):
        return frozenset(self.town.hosts) - self.away

    def ask(self, requests, timeout):
        assert timeout == PATIENCE
        came = {}
        for node, sent in requests.items():
            self.requests.append((node, step_of(sent), sent))
            request = self.on_request(node, step_of(sent), sent)
            if request is None or node in self.away:
                continue
            answer = self.town.hosts[node].answer(request)
            self.answers.append((node, step_of(sent), answer))
            answer = self.on_answer(node, step_of(sent), answer)
            if answer is not None:
                came[node] = answer
        return came

    def rounds(self):
        """How many rounds have begun."""
        return len({read_request(request).round_id for _, step, request in self.requests if step == Step.ADVERTISE})


def sums_over(wire, roster=None, **settings):
    return SecureSums(wire, roster or wire.town.roster, JOB, NOTHING, timeout=PATIENCE, **settings)
