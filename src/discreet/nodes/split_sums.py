"""The server's side of sums by two aggregators: it is the leader. It asks every node once, and then the helper.

A node that is silent is asked again until the timeout: nodes need not be there at the same time. All nodes of the
roster are in each sum.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path

from discreet.aggregation.dap.transport import Peer
from discreet.aggregation.secure_sum.masks import signed
from discreet.aggregation.secure_sum.refusals import MalformedMessage, Refused
from discreet.aggregation.secure_sum.sum_terms import Step
from discreet.aggregation.split_sum.helper_request import AskHelper, HelperRequest, read_masks
from discreet.aggregation.split_sum.split_shares import SplitShare, SplitTerms
from discreet.errors import DiscreetError
from discreet.nodes.failures import NodeFailures
from discreet.nodes.node_transport import Nodes, NodeSum
from discreet.nodes.requests import (
    NO_CONTEXT,
    Done,
    NodeRefusal,
    SplitRequest,
    Unknown,
    job_digest,
    purpose,
    read_answer,
    task_digest,
)
from discreet.privacy.guarantee import Guarantee

SUM_PATH = "/sum"
_BETWEEN_LOOKS = 0.05


class SplitSums:
    """The sums of one job, with a helper."""

    def __init__(
        self,
        nodes: Nodes,
        roster: Mapping[int, bytes],
        job: bytes,
        guarantee: Guarantee,
        helper: AskHelper,
        *,
        timeout: float,
    ) -> None:
        """Prepare to sum.

        Args:
            nodes: the way to the nodes.
            roster: the nodes' public keys, the same as the nodes and the helper have.
            job: the job's description, which each node opens once.
            guarantee: what the job promises to those whose data nodes host; it goes with each sum.
            helper: the way to the helper.
            timeout: how many seconds nodes have to answer, and to come back.
        """
        self._nodes = nodes
        self._roster = dict(roster)
        self._job = job
        self._guarantee = guarantee
        self._helper = helper
        self._timeout = timeout
        self._told: set[int] = set()

    def sum(self, task: bytes, length: int) -> NodeSum:
        """The exact sum of what all nodes contribute to a task.

        Raises:
            DiscreetError: if it cannot be had, with who has answered, why others have not, and what to do.
        """
        meaning = purpose(job_digest(self._job), task_digest(task), self._roster)
        terms = SplitTerms(meaning, self._roster, length)
        shares = self._gather(terms, task)
        request = HelperRequest.of(terms, job_digest(self._job), task_digest(task), shares)
        total = read_masks(self._helper(request.to_bytes()), terms)
        for share in shares.values():
            total = total + share.masked
        return NodeSum(signed(total.astype("<u8")), tuple(sorted(shares)), self._guarantee)

    def _gather(self, terms: SplitTerms, task: bytes) -> dict[int, SplitShare]:
        """Every node's share."""
        failures, shares = NodeFailures(), dict[int, SplitShare]()
        deadline = time.monotonic() + self._timeout
        while True:
            here = (self._nodes.present() & self._roster.keys()) - shares.keys()
            failures.new_round(here)
            shares |= self._ask(terms, task, here, failures)
            if len(shares) == len(self._roster):
                return shares
            if failures.permanent or time.monotonic() >= deadline:
                raise DiscreetError(failures.in_one_line(self._roster, self._nodes.present(), self._timeout))
            failures.waiting(len(self._nodes.present() & self._roster.keys()), len(self._roster))
            time.sleep(_BETWEEN_LOOKS)

    def _ask(
        self, terms: SplitTerms, task: bytes, here: Collection[int], failures: NodeFailures
    ) -> dict[int, SplitShare]:
        """The shares of those nodes that give one; a node that does not know the job is told it when asked again."""
        requests = {
            node: SplitRequest(
                context=terms.digest,
                job=job_digest(self._job),
                length=terms.length,
                task=task,
                description=None if node in self._told else self._job,
            ).to_bytes()
            for node in sorted(here)
        }
        came, shares = self._nodes.ask(requests, self._timeout), dict[int, SplitShare]()
        for node in requests:
            if node not in came:
                failures.no_answer(node, Step.MASK)
                continue
            try:
                match self._read(terms, node, bytes(came[node])):
                    case SplitShare() as share:
                        shares[node] = share
                        self._told.add(node)
                    case NodeRefusal() as refusal:
                        failures.refusal(node, refusal)
                    case Unknown():
                        self._told.discard(node)
            except Refused as refused:
                failures.bad_answer(node, Step.MASK, refused)
        return shares

    def _read(self, terms: SplitTerms, node: int, data: bytes) -> SplitShare | NodeRefusal | Unknown:
        answer = read_answer(data)
        unread = isinstance(answer, NodeRefusal) and answer.context == NO_CONTEXT
        if answer.context != terms.digest and not unread:
            raise MalformedMessage("it answers a question of another sum")
        if not isinstance(answer, Done):
            return answer
        share = SplitShare.from_bytes(answer.message)
        share.check(terms, node)
        return share


def helper_at(url: str, authorities: Path | None = None) -> AskHelper:
    """The way to a helper over HTTP: one request, one answer."""
    peer = Peer(url, authorities=authorities)

    def ask(request: bytes) -> bytes:
        reply = peer.ask("POST", peer.url + SUM_PATH, request, "application/octet-stream")
        if reply.status != 200:
            said = "".join(c if c.isprintable() else " " for c in reply.body.decode(errors="replace"))[:200].strip()
            raise DiscreetError(f"{url}: the helper has answered {reply.status}: {said or 'no reason'}")
        return reply.body

    return ask
