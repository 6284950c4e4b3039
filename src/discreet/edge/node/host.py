"""A node's side: the long-lived part that keeps data, keys and the round it is in, and answers the server's requests.

The server names whom it invites, but a host takes their keys from its own roster and accepts two plans only, the usual
one and that which needs everybody, and these only where they hide a node from as many as may collude in that roster.
So a server can neither surround it with nodes of its own making nor lower the quorum.

Job, task and roster go into the terms of the round (`requests.purpose`), which all nodes sign: a server that tells one
node another job or task than the others has that node in a round by itself, which never opens.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from threading import Lock
from typing import TypeVar

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.messages import HpkeConfig
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.refusals import MalformedMessage, OutOfTurn, Refused
from discreet.aggregation.secure_sum.sum_client import SumClient
from discreet.aggregation.secure_sum.sum_messages import Advertised, Delivery, SumMessage, SurvivorAgreements, Survivors
from discreet.aggregation.secure_sum.sum_plan import COLLUDING, SumPlan
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms
from discreet.aggregation.split_sum import SplitShare, SplitTerms, split
from discreet.errors import DiscreetError, InputError
from discreet.nodes.node_transport import Assignment, Contribute, OpenJob
from discreet.nodes.requests import (
    NO_CONTEXT,
    Begin,
    Done,
    NodeRefusal,
    Proceed,
    SplitRequest,
    Unknown,
    job_digest,
    purpose,
    read_request,
    task_digest,
)

BITS = 64
"""Nodes give int64 vectors, summed mod 2⁶⁴."""
MAX_JOBS = 4
"""How many jobs a host keeps open; it asks for the description of a job again that it has closed."""
MAX_NAMES = 4096
"""How many names of rounds a host remembers. One that begins again after that has new keys, so it is another round."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


class OtherRound(Refused):
    """A request of a round that this node is not in."""


class WrongTerms(Refused):
    """Terms of a round that a node does not accept from its server."""


class NoContribution(Refused):
    """The node's own job, data or ledger says no; or its code has failed."""


@dataclass(frozen=True)
class _Round:
    """The round that a host is in."""

    terms: SumTerms
    client: SumClient
    contribute: Contribute
    task: bytes


class Host:
    """A node's answers to its server.

    It is in one round at a time, and a new one abandons the last. It never begins a round twice, so that it never masks
    two inputs in one. Several threads may ask it; they are answered one after the other.
    """

    def __init__(
        self, identity: Identity, roster: Mapping[int, bytes], open_job: OpenJob, helper: HpkeConfig | None = None
    ) -> None:
        """Prepare to answer.

        Args:
            identity: the node's number and signing key.
            roster: the public key of every node that may be in a sum, this one's included; not from the server.
            open_job: makes of a job's description the function that contributes to its sums.
            helper: the public key of the helper, for sums by two aggregators; not from the server.

        Raises:
            DiscreetError: if the identity is not the one in the roster.
        """
        if roster.get(identity.client) != identity.public:
            raise DiscreetError(f"the roster does not have node {identity.client} with this node's key: make it again")
        self._identity = identity
        self._roster = dict(roster)
        self._open_job = open_job
        self._helper = helper
        self._jobs: OrderedDict[bytes, Contribute] = OrderedDict()
        self._begun: OrderedDict[bytes, None] = OrderedDict()
        self._round: _Round | None = None
        self._lock = Lock()

    def answer(self, request: bytes) -> bytes:
        """The answer to one request; a refusal to one that is malformed, of another round or not to be granted."""
        with self._lock:
            context = NO_CONTEXT
            try:
                asked = read_request(bytes(request))
                context = asked.context
                done = self._answered(asked)
            except Exception as error:
                refusal = error if isinstance(error, Refused) else _own(error)
                permanent = isinstance(refusal, WrongTerms | NoContribution)
                reason = f"{type(refusal).__name__}: {refusal}"
                return NodeRefusal(context=context, reason=reason, permanent=permanent).to_bytes()
            if done is None:
                return Unknown(context=context).to_bytes()
            return Done(context=context, message=done.to_bytes()).to_bytes()

    def _answered(self, asked: Begin | Proceed | SplitRequest) -> SumMessage | SplitShare | None:
        match asked:
            case Begin():
                return self._begin(asked)
            case SplitRequest():
                return self._split(asked)
            case _:
                return self._proceed(asked)

    def _split(self, asked: SplitRequest) -> SplitShare | None:
        """A share for the leader with one for the helper in it, or None if the host needs the job's description."""
        if self._helper is None:
            raise WrongTerms("this node has no key of a helper (helper.key.pub), so it does not sum by two aggregators")
        try:
            terms = SplitTerms(purpose(asked.job, task_digest(asked.task), self._roster), self._roster, asked.length)
        except ValueError as error:
            raise WrongTerms(str(error)) from error
        if terms.digest != asked.context:
            raise WrongTerms(
                "the server means another job, task or roster than it tells this node, or than this node has"
            )
        contribute = self._job(asked)
        if contribute is None:
            return None
        everybody = tuple(sorted(self._roster))
        meant = Assignment(asked.task, everybody, len(everybody), len(everybody), "two aggregators")
        return split(_checked(contribute(meant), asked.length), terms, self._identity, self._helper)

    def _begin(self, asked: Begin) -> SumMessage | None:
        """Step 0 of a round, or None if the host needs the job's description first."""
        terms = self._checked_terms(asked)
        if terms.round_id in self._begun:
            raise OutOfTurn("this node has begun this round before")
        contribute = self._job(asked)
        if contribute is None:
            return None
        _remember(self._begun, terms.round_id, None, MAX_NAMES)
        self._round = _Round(terms, SumClient(terms, self._identity), contribute, asked.task)
        return self._round.client.advertise()

    def _checked_terms(self, asked: Begin) -> SumTerms:
        """The terms with this node's own roster, if they are such as a node accepts."""
        strangers = set(asked.invited) - self._roster.keys()
        if strangers:
            raise WrongTerms(f"node {min(strangers)} is invited, but is not in the roster of this node")
        if self._identity.client not in asked.invited:
            raise WrongTerms("this node is asked to take part in a round to which it is not invited")
        if len(asked.invited) < 2:
            raise WrongTerms("a secure sum needs at least 2 nodes")
        if asked.bits != BITS:
            raise WrongTerms(f"nodes sum mod 2^{BITS}, not mod 2^{asked.bits}")
        keys = {node: self._roster[node] for node in asked.invited}
        meaning = purpose(asked.job, asked.task, self._roster)
        try:
            terms = SumTerms(asked.round_id, keys, self._checked_plan(asked), asked.length, asked.bits, meaning)
        except ValueError as error:
            raise WrongTerms(str(error)) from error
        if terms.digest != asked.context:
            raise WrongTerms(
                "the server means another job, task or roster than it tells this node, or than this node has"
            )
        return terms

    def _checked_plan(self, asked: Begin) -> SumPlan:
        """The plan, if it is one of the two that nodes accept, and hides a node from a tenth of all that there are.

        The server chose whom to invite, so all of those that collude with it may be among them.
        """
        size, known = len(asked.invited), len(self._roster)
        plan = next(
            (p for p in (SumPlan.default(size), SumPlan.complete(size, size)) if astuple(p) == asked.plan), None
        )
        if plan is None:
            raise WrongTerms(f"the plan of the round is not the one for {size} nodes")
        colluding = max(1, int(COLLUDING * known))
        if not plan.risks(colluding, size - plan.quorum).private:
            raise WrongTerms(
                f"of the {known} nodes in the roster {colluding} may collude, too many for a sum over {size} of them;"
                " invite more nodes"
            )
        return plan

    def _job(self, asked: Begin | SplitRequest) -> Contribute | None:
        """The job's function: opened before, or now if its description has come along."""
        if asked.job not in self._jobs and asked.description is not None:
            if job_digest(asked.description) != asked.job:
                raise MalformedMessage("the description of the job does not have its digest")
            _remember(self._jobs, asked.job, self._open_job(asked.description), MAX_JOBS)
        if asked.job in self._jobs:
            self._jobs.move_to_end(asked.job)
        return self._jobs.get(asked.job)

    def _proceed(self, asked: Proceed) -> SumMessage:
        """A later step. One that refuses ends the round for this node, as the secure sum wants it."""
        now = self._round
        if now is None or now.terms.digest != asked.context:
            raise OtherRound("this node is not in that round: it is in another, or has been started again")
        if now.client.step != asked.step:
            raise OutOfTurn(f"this node is at step {now.client.step.name}, not {asked.step.name}")
        try:
            return self._step(now, asked)
        except Exception:
            self._round = None
            raise

    def _step(self, now: _Round, asked: Proceed) -> SumMessage:
        match asked.step:
            case Step.SHARE:
                return now.client.share_keys(Advertised.from_bytes(asked.message))
            case Step.MASK:
                delivery = Delivery.from_bytes(asked.message)
                now.client.check(delivery)
                if task_digest(asked.task) != now.task:
                    raise MalformedMessage("the task is not the one that the round began with")
                return now.client.mask(delivery, self._contribution(now, asked.task))
            case Step.AGREE:
                return now.client.agree(Survivors.from_bytes(asked.message))
            case _:
                return now.client.unmask(SurvivorAgreements.from_bytes(asked.message))

    def _contribution(self, now: _Round, task: bytes) -> Contribution:
        terms = now.terms
        asked = Assignment(task, tuple(terms.roster), terms.plan.quorum, known=len(self._roster))
        return _checked(now.contribute(asked), terms.length)


def _checked(contribution: Contribution, length: int) -> Contribution:
    """What a node gives, if it is of the right type and length."""
    if not isinstance(contribution, Contribution):
        raise TypeError("only a Contribution leaves a node")
    if len(contribution.values) != length:
        raise NoContribution(f"the round sums {length} entries, the node has {len(contribution.values)}")
    return contribution


def _remember(kept: OrderedDict[bytes, T], name: bytes, value: T, limit: int) -> None:
    """Keep one more, and at most so many: the one that was used longest ago goes."""
    kept[name] = value
    while len(kept) > limit:
        kept.popitem(last=False)


def _own(error: Exception) -> NoContribution:
    """A refusal for the node's own reasons, in words that are the same whatever its data is.

    Those meant for people are passed on: they speak of what the server sent, and of what the node's operator has set.
    Of one of the node's own files, and of a mistake in the program, the server learns nothing more.
    """
    if isinstance(error, InputError):
        _log.error("%s", error)
        return NoContribution("the node cannot use one of its files; its own log says which")
    if isinstance(error, DiscreetError):
        return NoContribution(str(error))
    _log.error("a request could not be answered", exc_info=error)
    return NoContribution("the node has failed; its own log says where")
