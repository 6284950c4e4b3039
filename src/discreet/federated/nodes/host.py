"""A node's side: the long-lived part that keeps data, keys and the round it is in, and answers the server's requests.

The server names whom it invites, but a host takes their keys from its own roster and accepts two plans only, the usual
one and that which needs everybody, so that a server can neither surround it with nodes of its own making nor lower the
quorum.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError, InputError
from discreet.federated.nodes.requests import (
    NO_CONTEXT,
    Begin,
    Done,
    Proceed,
    Refusal,
    Unknown,
    job_digest,
    read_request,
)
from discreet.federated.nodes.transport import Assignment, Contribute, OpenJob
from discreet.federated.secure_sum.client import Client
from discreet.federated.secure_sum.keys import Identity
from discreet.federated.secure_sum.messages import Advertised, Agreements, Delivery, Message, Survivors
from discreet.federated.secure_sum.plan import Plan
from discreet.federated.secure_sum.refusals import MalformedMessage, OutOfTurn, Refused
from discreet.federated.secure_sum.terms import Step, Terms

BITS = 64
"""Nodes give int64 vectors, summed mod 2⁶⁴."""
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

    terms: Terms
    client: Client
    contribute: Contribute


class Host:
    """A node's answers to its server.

    It is in one round at a time, and a new one abandons the last. It never begins a round twice, so that it never masks
    two inputs in one. Several threads may ask it; they are answered one after the other.
    """

    def __init__(self, identity: Identity, roster: Mapping[int, bytes], open_job: OpenJob) -> None:
        """Prepare to answer.

        Args:
            identity: the node's number and signing key.
            roster: the public key of every node that may be in a sum, this one's included; not from the server.
            open_job: makes of a job's description the function that contributes to its sums.

        Raises:
            DiscreetError: if the identity is not the one in the roster.
        """
        if roster.get(identity.client) != identity.public:
            raise DiscreetError(f"the roster does not have node {identity.client} with this node's key: make it anew")
        self._identity = identity
        self._roster = dict(roster)
        self._open_job = open_job
        self._jobs: dict[bytes, Contribute] = {}
        self._begun: set[bytes] = set()
        self._round: _Round | None = None
        self._lock = Lock()

    def answer(self, request: bytes) -> bytes:
        """The answer to one request; a refusal to one that is malformed, of another round or not to be granted."""
        with self._lock:
            context = NO_CONTEXT
            try:
                asked = read_request(bytes(request))
                context = asked.context
                done = self._begin(asked) if isinstance(asked, Begin) else self._proceed(asked)
            except Exception as error:
                refusal = error if isinstance(error, Refused) else _own(error)
                lasting = isinstance(refusal, WrongTerms | NoContribution)
                reason = f"{type(refusal).__name__}: {refusal}"
                return Refusal(context=context, reason=reason, lasting=lasting).to_bytes()
            if done is None:
                return Unknown(context=context).to_bytes()
            return Done(context=context, message=done.to_bytes()).to_bytes()

    def _begin(self, asked: Begin) -> Message | None:
        """Step 0 of a round, or None if the job must be told first."""
        terms = self._checked_terms(asked)
        if terms.round_id in self._begun:
            raise OutOfTurn("this node has begun this round before")
        contribute = self._job(asked)
        if contribute is None:
            return None
        self._begun.add(terms.round_id)
        self._round = _Round(terms, Client(terms, self._identity), contribute)
        return self._round.client.advertise()

    def _checked_terms(self, asked: Begin) -> Terms:
        """The terms with this node's own roster, if they are such as a node accepts."""
        strangers = set(asked.invited) - self._roster.keys()
        if strangers:
            raise WrongTerms(f"node {min(strangers)} is invited, but is not in the roster of this node")
        if self._identity.client not in asked.invited:
            raise WrongTerms("this node is asked to take part in a round to which it is not invited")
        if len(asked.invited) < 2:
            raise WrongTerms("a secure sum needs at least 2 nodes")
        size = len(asked.invited)
        plan = next((p for p in (Plan.default(size), Plan.complete(size, size)) if astuple(p) == asked.plan), None)
        if plan is None:
            raise WrongTerms(f"the plan of the round is not the one for {len(asked.invited)} nodes")
        if asked.bits != BITS:
            raise WrongTerms(f"nodes sum mod 2^{BITS}, not mod 2^{asked.bits}")
        try:
            terms = Terms(asked.round_id, {n: self._roster[n] for n in asked.invited}, plan, asked.length, asked.bits)
        except ValueError as error:
            raise WrongTerms(str(error)) from error
        if terms.digest != asked.context:
            raise WrongTerms("the server knows other keys of the invited nodes than the roster of this node has")
        return terms

    def _job(self, asked: Begin) -> Contribute | None:
        """The job's function: opened before, or now if its description has come along."""
        if asked.job not in self._jobs and asked.description is not None:
            if job_digest(asked.description) != asked.job:
                raise MalformedMessage("the description of the job does not have its digest")
            self._jobs[asked.job] = self._open_job(asked.description)
        return self._jobs.get(asked.job)

    def _proceed(self, asked: Proceed) -> Message:
        """A later step. One that refuses ends the round for this node, as the secure sum wants it."""
        now = self._round
        if now is None or now.terms.digest != asked.context:
            raise OtherRound("this node is not in that round: it is in another, or has been started anew")
        if now.client.step != asked.step:
            raise OutOfTurn(f"this node is at step {now.client.step.name}, not {asked.step.name}")
        try:
            return self._step(now, asked)
        except Exception:
            self._round = None
            raise

    def _step(self, now: _Round, asked: Proceed) -> Message:
        match asked.step:
            case Step.SHARE:
                return now.client.share_keys(Advertised.from_bytes(asked.message))
            case Step.MASK:
                delivery = Delivery.from_bytes(asked.message)
                now.client.check(delivery)
                return now.client.mask(delivery, self._contribution(now, asked.task))
            case Step.AGREE:
                return now.client.agree(Survivors.from_bytes(asked.message))
            case _:
                return now.client.unmask(Agreements.from_bytes(asked.message))

    def _contribution(self, now: _Round, task: bytes) -> NDArray[np.int64]:
        terms = now.terms
        asked = Assignment(task, tuple(terms.roster), terms.plan.quorum, known=len(self._roster))
        vector = np.asarray(now.contribute(asked))
        if vector.dtype != np.int64 or vector.shape != (now.terms.length,):
            raise NoContribution(
                f"the round sums {now.terms.length} entries of int64, the node has {vector.shape} of {vector.dtype}"
            )
        return vector


def _own(error: Exception) -> NoContribution:
    """A refusal for the node's own reasons.

    Those meant for people are passed on. Of what is wrong with one of its files the server learns nothing more, and of
    any other exception the type only: the text might tell of the data.
    """
    if isinstance(error, InputError):
        _log.error("%s", error)
        return NoContribution("the node cannot use one of its files; its own log says which")
    if isinstance(error, DiscreetError):
        return NoContribution(str(error))
    _log.error("a request could not be answered", exc_info=error)
    return NoContribution(f"the node has failed with {type(error).__name__}; its own log says where")
