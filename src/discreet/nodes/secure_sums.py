"""The server's side: secure sums over whichever nodes are there, until one succeeds.

A node that is silent, late, garbled or refuses is out for the rest of the round. A round that has lost its quorum is
begun again, with fresh keys, among those that are left; if these are too few, with those that come back.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping

from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.aggregation.secure_sum.sum_terms import ROUND_ID_BYTES, SumTerms
from discreet.errors import DiscreetError
from discreet.nodes.attempt import Attempt, Job
from discreet.nodes.failures import NodeFailures
from discreet.nodes.node_transport import Nodes, NodeSum
from discreet.nodes.requests import job_digest, purpose, task_digest
from discreet.privacy.guarantee import Guarantee

ATTEMPTS = 4
"""How often a sum is begun before the server gives up, by default."""
MIN_NODES = 2
_PAUSE = 0.25
"""What part of its timeout the server lets pass before it asks a silent node again that it cannot do without."""
_BETWEEN_LOOKS = 0.05


class LostRound(DiscreetError):  # noqa: N818 (named for what has happened)
    """The quorum was lost while a sum was made. Nothing is known of it; another sum may succeed."""


class SecureSums:
    """The secure sums of one job."""

    def __init__(
        self,
        nodes: Nodes,
        roster: Mapping[int, bytes],
        job: bytes,
        guarantee: Guarantee,
        *,
        timeout: float,
        opening: float = 0.0,
        bits: int = 64,
        everybody: bool = False,
        attempts: int = ATTEMPTS,
    ) -> None:
        """Prepare to sum.

        Args:
            nodes: the way to the nodes.
            roster: the nodes' public keys, the same as the nodes have.
            job: the job's description, which each node opens once.
            guarantee: what the job promises to those whose data nodes host; it goes with each sum.
            timeout: how many seconds nodes have for each step, and to come back when too few are there.
            opening: how many they have, if that is more, for the first step, in which they open the job.
            bits: sums are mod 2^bits; hosts accept 64 only.
            everybody: whether only a sum of all nodes in the roster will do; one that leaves is then waited for.
            attempts: how often a sum is begun. Each may have every node contribute again, so where a contribution costs
                privacy, once is right.
        """
        if len(roster) < MIN_NODES:
            raise DiscreetError(f"a secure sum needs at least {MIN_NODES} nodes, and the roster has {len(roster)}")
        self._nodes = nodes
        self._roster = dict(roster)
        self._job = Job(job, guarantee)
        self._timeout = timeout
        self._opening = opening
        self._bits = bits
        self._everybody = everybody
        self._min_nodes = len(roster) if everybody else MIN_NODES
        self._attempts = attempts
        self._failures: NodeFailures | None = None

    def sum(self, task: bytes, length: int) -> NodeSum:
        """The exact sum of what the nodes contribute to a task.

        Raises:
            DiscreetError: if it cannot be had, with who has answered, why others have not, and what to do; LostRound
                if that is for want of a quorum in a round that had begun.
        """
        failures, self._failures = NodeFailures(after=self._failures), None
        for _ in range(self._attempts):
            invited = self._gather(failures)
            if len(invited) < self._min_nodes:
                break
            failures.new_round(invited)
            terms = self._terms(invited, length, task)
            attempt = Attempt(terms, self._job, self._nodes, self._timeout, self._opening, failures)
            try:
                total = attempt.run(task)
            except Refused as refusal:
                failures.lost_round(refusal)
                continue
            return NodeSum(total.values, total.survivors, total.guarantee)
        self._failures = failures
        line = failures.in_one_line(self._roster, self._nodes.present(), self._timeout)
        hopeless = not failures.lost or len(self._roster.keys() - failures.permanent) < self._min_nodes
        raise DiscreetError(line) if hopeless else LostRound(line)

    def _gather(self, failures: NodeFailures) -> frozenset[int]:
        """Whom to invite: those who were no trouble in the last round, or else, after a while, all who are there."""
        start = time.monotonic()
        pause = _PAUSE * self._timeout if failures.silent else 0.0
        while True:
            present = self._nodes.present()
            for stranger in sorted(present - self._roster.keys()):
                failures.stranger(stranger)
            here = (present & self._roster.keys()) - failures.permanent
            reliable = here - failures.failed
            waited = time.monotonic() - start
            if len(reliable) >= self._min_nodes:
                return reliable
            if len(here) >= self._min_nodes and waited >= pause:
                return here
            if waited >= self._timeout or len(self._roster.keys() - failures.permanent) < self._min_nodes:
                return frozenset()
            failures.waiting(len(here), len(self._roster))
            time.sleep(_BETWEEN_LOOKS)

    def _terms(self, invited: frozenset[int], length: int, task: bytes) -> SumTerms:
        roster = {node: self._roster[node] for node in invited}
        plan = SumPlan.complete(len(roster), len(roster)) if self._everybody else SumPlan.default(len(roster))
        meaning = purpose(job_digest(self._job.description), task_digest(task), self._roster)
        return SumTerms(secrets.token_bytes(ROUND_ID_BYTES), roster, plan, length, self._bits, meaning)
