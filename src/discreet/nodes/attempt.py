"""One round of a secure sum over nodes: five times, ask all who are left and take what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.aggregation.secure_sum.refusals import MalformedMessage, Refused, Replay
from discreet.aggregation.secure_sum.sum_messages import SumMessage
from discreet.aggregation.secure_sum.sum_server import EXPECTED, SumResult, SumServer
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms
from discreet.nodes.failures import NodeFailures
from discreet.nodes.node_transport import Nodes
from discreet.nodes.requests import (
    NO_CONTEXT,
    Begin,
    Done,
    NodeRefusal,
    Proceed,
    Unknown,
    job_digest,
    read_answer,
    task_digest,
)
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Job:
    """A job, what it promises, and the nodes that have opened it as far as the server knows."""

    description: bytes
    guarantee: Guarantee
    known_to: set[int] = field(default_factory=set)


class Attempt:
    """A round from its terms to its sum."""

    def __init__(
        self, terms: SumTerms, job: Job, nodes: Nodes, timeout: float, opening: float, failures: NodeFailures
    ) -> None:
        self._terms = terms
        self._job = job
        self._nodes = nodes
        self._timeout = timeout
        self._opening = max(timeout, opening)
        self._failures = failures
        self._server = SumServer(terms, job.guarantee)

    def run(self, task: bytes) -> SumResult:
        """The five steps, each with those who have taken the last.

        Raises:
            Refused: if too few are left, or a wrong share spoils the sum.
        """
        server = self._server
        here = self._begin(task)
        here = self._proceed(Step.SHARE, dict.fromkeys(here, server.advertised()))
        deliveries = server.deliveries()
        here = self._proceed(Step.MASK, {node: deliveries[node] for node in here}, task)
        here = self._proceed(Step.AGREE, dict.fromkeys(here, server.survivors()))
        self._proceed(Step.UNMASK, dict.fromkeys(here, server.agreements()))
        return server.total()

    def _begin(self, task: bytes) -> list[int]:
        """Step 0. A node that was restarted no longer knows the job, and gets it again.

        A node that has to open the job, reading all of its data, has more time for this step.
        """
        invited = list(self._terms.roster)
        new = set(invited) - self._job.known_to
        timeout = self._opening if new else self._timeout
        answers = self._ask(Step.ADVERTISE, {n: self._invitation(task, n in new) for n in invited}, timeout)
        forgetful = [node for node, answer in answers.items() if isinstance(answer, Unknown)]
        if forgetful:
            invitations = dict.fromkeys(forgetful, self._invitation(task, tell=True))
            answers |= self._ask(Step.ADVERTISE, invitations, self._opening)
        here = self._receive(Step.ADVERTISE, answers)
        self._job.known_to.update(here)
        return here

    def _invitation(self, task: bytes, tell: bool) -> bytes:
        terms, plan = self._terms, self._terms.plan
        return Begin(
            context=terms.digest,
            round_id=terms.round_id,
            invited=tuple(terms.roster),
            plan=(plan.clients, plan.degree, plan.threshold, plan.quorum),
            length=terms.length,
            bits=terms.bits,
            job=job_digest(self._job.description),
            task=task_digest(task),
            description=self._job.description if tell else None,
        ).to_bytes()

    def _proceed(self, step: Step, messages: Mapping[int, SumMessage], task: bytes = b"") -> list[int]:
        """A later step: who of those that are given a message has taken it."""
        requests = {
            node: Proceed(context=self._terms.digest, step=step, message=message.to_bytes(), task=task).to_bytes()
            for node, message in messages.items()
        }
        return self._receive(step, self._ask(step, requests, self._timeout))

    def _ask(
        self, step: Step, requests: Mapping[int, bytes], timeout: float
    ) -> dict[int, Done | NodeRefusal | Unknown]:
        """The answers that have come, are answers, and belong to this round."""
        came = self._nodes.ask(requests, timeout)
        answers = {}
        for node in requests:
            if node not in came:
                self._failures.no_answer(node, step)
                continue
            try:
                answer = read_answer(bytes(came[node]))
                unread = isinstance(answer, NodeRefusal) and answer.context == NO_CONTEXT
                if answer.context != self._terms.digest and not unread:
                    raise Replay(node)
                answers[node] = answer
            except Refused as refusal:
                self._failures.bad_answer(node, step, refusal)
        return answers

    def _receive(self, step: Step, answers: Mapping[int, Done | NodeRefusal | Unknown]) -> list[int]:
        """Who has taken the step; what one node sends changes nothing for the others."""
        here = []
        for node, answer in answers.items():
            match answer:
                case Done():
                    try:
                        self._take(step, node, answer)
                        here.append(node)
                    except Refused as refusal:
                        self._failures.bad_answer(node, step, refusal)
                case NodeRefusal():
                    self._failures.refusal(node, answer)
                case Unknown():
                    self._failures.bad_answer(node, step, MalformedMessage("it does not know a job that it was sent"))
        return here

    def _take(self, step: Step, node: int, answer: Done) -> None:
        message = EXPECTED[step].from_bytes(answer.message)
        if message.sender != node:
            raise MalformedMessage(f"it answers in the name of node {message.sender}")
        self._server.receive(message)
