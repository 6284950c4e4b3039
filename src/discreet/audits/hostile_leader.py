"""Audit of vendors' nodes and their helper against a leader that lies, registered when this module is imported.

A conversation is made from a seed, and held twice, with other raw data at one vendor. What vendors give is replaced by
vectors that depend on the task alone, and its two shares are random, so of a share the length alone is compared; of all
else every byte. Then the leader hands shares to the helper, of all vendors or some, of one task or several: it must
open a sum of all vendors that received one job and one task, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from random import Random
from unittest.mock import patch

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.split_sum import SplitShare, SplitTerms
from discreet.aggregation.split_sum.helper_request import HelperRequest
from discreet.aggregation.split_sum.split_helper import SplitHelper
from discreet.audits.audit_registry import Audit, Exact, register
from discreet.audits.hostile_nodes import Fault, World
from discreet.audits.hostile_vendors import JOB, PURCHASES, VENDORS, SharingScript, stage
from discreet.audits.node_lies import lied
from discreet.edge.node.host import Host
from discreet.nodes import Assignment, Contribute, OpenJob
from discreet.nodes.requests import Done, SplitRequest, job_digest, purpose, read_answer, task_digest
from discreet.privacy.guarantee import Status

_ROUNDS = 4


@dataclass(frozen=True)
class HostileLeader(Exact):
    """Conversations with a lying leader as an examination: nothing is learnt (0), or what it likes (ε is infinite)."""

    conversations: int

    def lower_bound(self, error: float, seed: int) -> float:
        """Infinity if any conversation shows a fault, else 0. What nodes say to their operators is not shown."""
        seeds = range(seed * self.conversations, (seed + 1) * self.conversations)
        return math.inf if Context().run(lambda: next(leader_faults(seeds), None)) else 0.0


def leader_faults(seeds: Sequence[int]) -> Iterator[Fault]:
    """What goes wrong in the conversations of these seeds."""
    with patch("os.fsync"), stage() as (worlds, script):
        for seed in seeds:
            other = Random(seed).randrange(1, len(worlds))
            plain, changed = (_Leader(worlds[number], script, seed) for number in (0, other))
            if plain.seen != changed.seen:
                yield Fault(seed, f"a leader can tell world {other} from world 0")
            yield from (Fault(seed, what) for what in plain.broken)


class _Leader:
    """One conversation.

    Attributes:
        seen: All answers, and what of a share does not follow from its random seed.
        broken: What the helper has opened and should not have.
        opened: How many sums it has opened.
    """

    def __init__(self, world: World, script: SharingScript, seed: int) -> None:
        self.seen: list[bytes] = []
        self.broken: list[str] = []
        self.opened = 0
        self._rng, self._script = Random(seed), script
        keys = {node: Ed25519PrivateKey.from_private_bytes(self._rng.randbytes(32)) for node in VENDORS}
        identities = {node: Identity(node, key) for node, key in keys.items()}
        self._roster = {node: one.public for node, one in identities.items()}
        key = generate_key(1)
        openers = world.openers()
        self._hosts = {
            node: Host(one, self._roster, _released(node, openers[node]), key.config)
            for node, one in identities.items()
        }
        self._helper = SplitHelper(key, self._roster, purpose)
        self._sent: list[bytes] = []
        self._shares: list[tuple[SplitRequest, SplitShare]] = []
        self._job = replace(self._rng.choice((JOB, PURCHASES)), aggregation="two aggregators").to_bytes()
        for _ in range(self._rng.randrange(1, _ROUNDS + 1)):
            self._round()

    def _round(self) -> None:
        rng, number = self._rng, len(self._shares) // len(VENDORS)
        description = self._description()
        task, length = self._script.task(rng, description, number)
        for node in VENDORS:
            request = self._request(description, task, length)
            if rng.random() < 0.15:
                request = self._request(self._description(), self._script.task(rng, description, number)[0], length)
            data = request.to_bytes()
            for sent in lied(rng, data, self._sent) if rng.random() < 0.15 else [data]:
                self._sent.append(sent)
                self._ask(node, sent, request if sent == data else None)
        for _ in range(3):
            self._collect()

    def _description(self) -> bytes:
        return self._script.description(self._rng) if self._rng.random() < 0.2 else self._job

    def _request(self, description: bytes, task: bytes, length: int) -> SplitRequest:
        job = job_digest(description)
        terms = SplitTerms(purpose(job, task_digest(task), self._roster), self._roster, length)
        return SplitRequest(context=terms.digest, job=job, length=length, task=task, description=description)

    def _ask(self, node: int, sent: bytes, request: SplitRequest | None) -> None:
        answered = self._hosts[node].answer(sent)
        answer = read_answer(answered)
        if not isinstance(answer, Done):
            self.seen.append(answered)
            return
        share = SplitShare.from_bytes(answer.message)
        self.seen.append(b"%d: %s: %d" % (node, share.context, len(answered)))
        if request is not None:
            self._shares.append((request, share))

    def _collect(self) -> None:
        """Ask the helper for some mixture of the shares that were given."""
        if not self._shares:
            return
        rng = self._rng
        request, _ = rng.choice(self._shares)
        fitting = [(r, s) for r, s in self._shares if r == request or rng.random() < 0.2]
        chosen = {share.party: (asked, share) for asked, share in rng.sample(fitting, len(fitting))}
        terms = SplitTerms(purpose(request.job, task_digest(request.task), self._roster), self._roster, request.length)
        asked = HelperRequest.of(
            terms, request.job, task_digest(request.task), {party: share for party, (_, share) in chosen.items()}
        )
        try:
            self._helper.answer(asked.to_bytes())
        except Refused as refusal:
            self.seen.append(f"{type(refusal).__name__}: {refusal}".encode())
            return
        self.seen.append(b"opened")
        self.opened += 1
        meant = {(one.job, one.task, one.length) for one, _ in chosen.values()}
        if len(meant) > 1 or sorted(chosen) != list(VENDORS):
            self.broken.append("the helper has opened a sum of different questions, or without a vendor")


def _released(node: int, open_job: OpenJob) -> OpenJob:
    """Jobs whose contributions are made, and then replaced by what depends on the task alone."""

    def opened(description: bytes) -> Contribute:
        contribute = open_job(description)

        def fixed(assignment: Assignment) -> Contribution:
            given = contribute(assignment)
            return replace(given, values=np.full(len(given.values), node, np.int64))

        return fixed

    return opened


CONVERSATIONS = 300
register(
    Audit("vendors", f"a lying leader, {CONVERSATIONS} conversations", Status.PROVED, 0.0, HostileLeader(CONVERSATIONS))
)
