"""A server that lies to nodes, and two questions: do they all answer as if their data were another, and is one?

A conversation is made from a seed. It is held with the same nodes twice, with other raw data at one of them and the
same releases: what a node gives to a secure sum is made, and then replaced by a vector that depends on the task alone.
All else that leaves the nodes must be the same, byte by byte: answers, refusals, their number and their order.

And whatever the server says, it must hold of every sum that nodes open: all in it received the same job and the same
task, and it hides each from a tenth of all nodes that it knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Context
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from random import Random
from types import SimpleNamespace
from typing import NamedTuple, Protocol
from unittest.mock import patch

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum import secret_sharing as sharing
from discreet.aggregation.secure_sum import sum_client as client
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.secure_sum.sum_messages import MaskedInput, SumMessage, Unmasking
from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.aggregation.secure_sum.sum_server import EXPECTED, SumServer
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms
from discreet.audits.audit_registry import Exact
from discreet.audits.node_lies import lied
from discreet.edge.node.host import Host
from discreet.nodes.node_transport import Assignment, Contribute, OpenJob
from discreet.nodes.requests import Begin, Done, Proceed, job_digest, purpose, read_answer, task_digest
from discreet.privacy.guarantee import Guarantee, Scope

MAX_ROUNDS = 4
_GHOSTS = (0, 0, 0, 0, 0, 0, 20, 36)
"""How many nodes are in the roster and never there."""


class Script(Protocol):
    """What a lying server asks of the nodes of one kind of job, honest or not."""

    def description(self, rng: Random) -> bytes:
        """Of a job."""
        ...

    def task(self, rng: Random, description: bytes, asked: int) -> tuple[bytes, int]:
        """A task of it, and how long a contribution to it is; `asked` rounds were answered before."""
        ...


class World(Protocol):
    """Nodes with their data."""

    def openers(self) -> Mapping[int, OpenJob]:
        """How each of them opens jobs, as if nobody had asked it for anything before."""
        ...


class Instruction(NamedTuple):
    """What a node had received when it contributed."""

    description: bytes
    assignment: Assignment


class Fault(NamedTuple):
    """What a conversation has shown, and the seed that repeats it."""

    seed: int
    what: str


Stage = Callable[[], AbstractContextManager[tuple[Sequence[World], Script]]]
"""Worlds that differ in raw data alone, and what the server asks them."""


@dataclass(frozen=True)
class HostileCoordinator(Exact):
    """Conversations with a lying server as an examination: nothing is learnt (0), or what it likes (ε is infinite)."""

    stage: Stage
    conversations: int

    def lower_bound(self, error: float, seed: int) -> float:
        """Infinity if any conversation shows a fault, else 0. What nodes say to their operators is not shown."""
        seeds = range(seed * self.conversations, (seed + 1) * self.conversations)
        return math.inf if Context().run(lambda: next(faults(self.stage, seeds), None)) else 0.0


def faults(stage: Stage, seeds: Sequence[int]) -> Iterator[Fault]:
    """What goes wrong in the conversations of these seeds. Nothing that nodes write needs to outlive a power cut."""
    with patch("os.fsync"), stage() as (worlds, script):
        for seed in seeds:
            yield from _faults(worlds, script, seed)


def _faults(worlds: Sequence[World], script: Script, seed: int) -> Iterator[Fault]:
    rng = Random(seed)
    other = rng.choice(range(1, len(worlds)))
    plain, changed = (_converse(worlds[number], script, seed) for number in (0, other))
    for number, (one, two) in enumerate(zip(plain.seen, changed.seen, strict=False)):
        if one != two:
            yield Fault(seed, f"message {number} tells world {other} from world 0: {one[:150]!r}, {two[:150]!r}")
            break
    else:
        if len(plain.seen) != len(changed.seen):
            yield Fault(seed, f"{len(plain.seen)} messages in world 0, {len(changed.seen)} in world {other}")
    yield from (Fault(seed, what) for what in plain.broken())


def _converse(world: World, script: Script, seed: int) -> Conversation:
    with _repeatable_keys(seed):
        conversation = Conversation(world.openers(), script, Random(seed))
        conversation.run()
    return conversation


@dataclass
class Conversation:
    """A server that lies, with all nodes; made of nothing but `rng` and of what nodes answer.

    Attributes:
        seen: what it sent and what it saw.
        given: for each session, what the nodes in it received.
        opened: the sessions of which a node has given shares.
    """

    jobs: Mapping[int, OpenJob]
    script: Script
    rng: Random
    seen: list[bytes] = field(default_factory=list)
    given: dict[bytes, list[Instruction]] = field(default_factory=dict)
    opened: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        keys = {node: Ed25519PrivateKey.from_private_bytes(self.rng.randbytes(32)) for node in sorted(self.jobs)}
        identities = {node: Identity(node, key) for node, key in keys.items()}
        ghosts = range(max(self.jobs) + 1, max(self.jobs) + 1 + self.rng.choice(_GHOSTS))
        self.roster = {node: one.public for node, one in identities.items()} | {
            n: self.rng.randbytes(32) for n in ghosts
        }
        self._last: dict[int, Instruction] = {}
        self._hosts = {
            node: Host(one, self.roster, self._released(node, self.jobs[node])) for node, one in identities.items()
        }
        self._requests: list[bytes] = []
        self._names: list[bytes] = []

    def run(self) -> None:
        """A few rounds, of which some are honest but for what they ask for."""
        for _ in range(self.rng.randrange(1, MAX_ROUNDS + 1)):
            self._lying = self.rng.choice((0.0, 0.0, 0.05, 0.25))
            try:
                self._round()
            except Refused:
                continue  # too few are left

    def broken(self) -> Iterator[str]:
        """Which of the promises to nodes that were in an opened sum were not kept."""
        for session in self.opened:
            sent = self.given.get(session, [])
            if len({(one.description, one.assignment) for one in sent}) > 1:
                yield "nodes that received different jobs or tasks are in one sum"
            for one in sent:
                n, quorum, known = len(one.assignment.invited), one.assignment.quorum, one.assignment.known
                if 2 * quorum <= n + max(1, known // 10):
                    yield f"a sum of {quorum} among {n} nodes hides nobody from a tenth of {known}"

    def _round(self) -> None:
        terms, sent = self._terms()
        server = SumServer(terms, Guarantee.unprotected("a lying server's sum", Scope.ROUND))
        begins = {node: self._begin(terms, *sent[node]) for node in sent}
        contexts = {node: begin.context for node, begin in begins.items()}
        here = self._step(server, Step.ADVERTISE, {node: begin.to_bytes() for node, begin in begins.items()})
        messages: Mapping[int, SumMessage] = dict.fromkeys(here, server.advertised())
        for step in list(Step)[1:5]:
            requests = {
                node: Proceed(
                    context=contexts[node],
                    step=step,
                    message=messages[node].to_bytes(),
                    task=self._late(sent[node]) if step == Step.MASK else b"",
                ).to_bytes()
                for node in here
                if node in messages
            }
            here = self._step(server, step, requests)
            if step == Step.SHARE:
                messages = server.deliveries()
            elif step == Step.MASK:
                messages = dict.fromkeys(here, server.survivors())
            elif step == Step.AGREE:
                messages = dict.fromkeys(here, server.agreements())

    def _terms(self) -> tuple[SumTerms, dict[int, tuple[bytes, bytes]]]:
        """Whom to invite to what; now and then, one of them gets another job or another task."""
        rng, alive = self.rng, sorted(self._hosts)
        invited = (
            alive if rng.random() < 0.8 else sorted(rng.sample(sorted(self.roster), rng.randrange(2, len(alive) + 1)))
        )
        description = self.script.description(rng)
        task, length = self.script.task(rng, description, len(self.given))
        sent = {node: (description, task) for node in invited if node in self._hosts}
        if sent and rng.random() < 0.25:
            victim, another = rng.choice(list(sent)), self.script.description(rng)
            sent[victim] = rng.choice(
                ((another, task), (description, self.script.task(rng, description, len(self.given))[0]))
            )
        size = len(invited)
        plan = rng.choice((SumPlan.default(size), SumPlan.complete(size, size), SumPlan.complete(size, size)))
        name = rng.choice(self._names) if self._names and rng.random() < 0.1 else rng.randbytes(16)
        self._names.append(name)
        meaning = purpose(job_digest(description), task_digest(task), self.roster)
        return SumTerms(name, {node: self.roster[node] for node in invited}, plan, length, 64, meaning), sent

    def _late(self, sent: tuple[bytes, bytes]) -> bytes:
        """The task that a node is asked for in the end: now and then not the one that its round began with."""
        description, task = sent
        return self.script.task(self.rng, description, len(self.given))[0] if self.rng.random() < 0.06 else task

    def _begin(self, terms: SumTerms, description: bytes, task: bytes) -> Begin:
        job, asked = job_digest(description), task_digest(task)
        meaning = purpose(job, asked, self.roster)
        own = SumTerms(terms.round_id, terms.roster, terms.plan, terms.length, terms.bits, meaning)
        plan = astuple(terms.plan)
        shared = (terms.round_id, tuple(terms.roster), plan, terms.length, terms.bits, job, asked)
        names = ("round_id", "invited", "plan", "length", "bits", "job", "task")
        sent = description if self.rng.random() < 0.9 else None
        return Begin(context=own.digest, description=sent, **dict(zip(names, shared, strict=True)))  # type: ignore[arg-type]

    def _step(self, server: SumServer, step: Step, requests: Mapping[int, bytes]) -> list[int]:
        """Ask everybody, with lies or without; who has answered what the server can use."""
        here = []
        for node, request in requests.items():
            lies = self.rng.random() < self._lying
            for sent in lied(self.rng, request, self._requests) if lies else [request]:
                message = self._ask(node, sent)
                self._requests.append(sent)
                try:
                    if message is not None:
                        server.receive(EXPECTED[step].from_bytes(message))
                        here.append(node)
                except Refused:
                    continue
        return here

    def _ask(self, node: int, sent: bytes) -> bytes | None:
        """What the node answers, kept as it is; its message, if it has taken a step."""
        self._last.pop(node, None)
        answered = self._hosts[node].answer(sent)
        self.seen.append(b"to %d: %s: %s" % (node, sha256(sent).digest(), answered))
        answer = read_answer(answered)
        if not isinstance(answer, Done):
            return None
        if node in self._last:
            self.given.setdefault(MaskedInput.from_bytes(answer.message).context, []).append(self._last[node])
        with suppress(Refused):
            self.opened.add(Unmasking.from_bytes(answer.message).context)
        return answer.message

    def _released(self, node: int, open_job: OpenJob) -> OpenJob:
        """Jobs whose contributions are made, and then replaced by what depends on the task alone."""

        def opened(description: bytes) -> Contribute:
            contribute = open_job(description)

            def fixed(assignment: Assignment) -> Contribution:
                given = contribute(assignment)
                self._last[node] = Instruction(description, assignment)
                seed = sha256(b"%d|%s|%s" % (node, description, assignment.task)).digest()
                values = np.random.default_rng(int.from_bytes(seed)).integers(-(2**62), 2**62, len(given.values))
                return replace(given, values=values)

            return fixed

        return opened


@contextmanager
def _repeatable_keys(seed: int) -> Iterator[None]:
    """Let all keys of secure sums follow from the seed inside this block, so that conversations can be compared."""
    stream = Random(f"keys {seed}")
    keys = SimpleNamespace(generate=lambda: X25519PrivateKey.from_private_bytes(stream.randbytes(32)))
    randomness = SimpleNamespace(token_bytes=stream.randbytes, randbelow=stream.randrange)
    with (
        patch.object(client, "X25519PrivateKey", keys),
        patch.object(client, "secrets", randomness),
        patch.object(sharing, "secrets", randomness),
    ):
        yield
