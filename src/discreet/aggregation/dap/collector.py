"""The collector: it asks the leader for a window's sum, and opens and merges both aggregators' shares."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path

from discreet.aggregation.aggregator_noise import ImpossibleSumError, require_possible, signed
from discreet.aggregation.dap.agreement import PublicTask
from discreet.aggregation.dap.hpke import HpkeKey, aggregate_share_info, unseal
from discreet.aggregation.dap.messages import CollectionJobReq, CollectionJobResp, Role
from discreet.aggregation.dap.problems import ProblemType, encode_id
from discreet.aggregation.dap.transport import Peer, PeerError
from discreet.aggregation.dap.wire import MessageError
from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError

_log = logging.getLogger(__name__)

_WHY = {
    ProblemType.INVALID_BATCH_SIZE: "fewer contributions than min_batch; ask again when there are more",
    ProblemType.BATCH_OVERLAP: "it was collected already, by another request",
    ProblemType.BATCH_MISMATCH: "leader and helper have counted different reports",
    ProblemType.UNRECOGNIZED_TASK: "the leader does not have this task; are its terms the same?",
}

Ask = Callable[[Task, CollectionJobReq], CollectionJobResp]
"""How a collector gets the answer to a request; a `PeerError` if there is none."""


def asking(token: str, authorities: Path | None = None, sleep: Callable[[float], None] = time.sleep) -> Ask:
    """Ask a leader over HTTP, and wait until it is ready.

    Args:
        token: What authorises the collector to the leader.
        authorities: A file with the certificates that are trusted, for https; by default the system's.
        sleep: How to wait between two questions.
    """

    def ask(task: Task, request: CollectionJobReq) -> CollectionJobResp:
        return asked(Peer(task.leader, token, authorities, sleep), task, request)

    return ask


def asked(leader: Peer, task: Task, request: CollectionJobReq) -> CollectionJobResp:
    """The answer of a leader."""
    path = f"/tasks/{encode_id(task.id)}/collection_jobs"
    created = leader.create(path, request, CollectionJobReq, CollectionJobResp)
    try:
        return CollectionJobResp.decode(created.body)
    except MessageError as error:
        raise PeerError(f"{leader.url}: {error}") from None


class Collector:
    """Collects the sums of tasks.

    Args:
        key: The collector's key, whose public part both aggregators have.
        ask: How to ask the leader: `asking`, or by hand where both are one process.
    """

    def __init__(self, key: HpkeKey, ask: Ask) -> None:
        self._key, self._ask = key, ask

    def collect(self, task: Task, window: int) -> NoisySum:
        """The noised sum of a window. It may be asked for again, and is the same: a window is collected once."""
        public = PublicTask(task)
        request = public.collection_of(window)
        try:
            answer = self._ask(task, request)
        except PeerError as error:
            if error.kind in _WHY:
                raise DiscreetError(f"window {window} of task {task.name}: {_WHY[error.kind]}") from error
            raise
        if answer.interval.encode() != request.query.config:
            raise DiscreetError(f"window {window} of task {task.name}: the answer is about another interval")
        try:
            return self._merged(public, request, answer)
        except ImpossibleSumError as error:
            _log.warning("an impossible sum was refused", extra={"fields": {"task": task.name, "window": window}})
            raise ImpossibleSumError(f"window {window} of task {task.name}: {error}") from None

    def _merged(self, public: PublicTask, request: CollectionJobReq, answer: CollectionJobResp) -> NoisySum:
        aad = public.aggregate_share_aad(request)
        sealed = (
            (Role.LEADER, answer.leader_encrypted_agg_share),
            (Role.HELPER, answer.helper_encrypted_agg_share),
        )
        prio3 = public.prio3
        shares = [
            prio3.decode_agg_share(unseal(self._key, aggregate_share_info(role), aad, share)) for role, share in sealed
        ]
        values = public.task.summed(signed(prio3.circuit.field, prio3.merge(shares)), answer.report_count)
        require_possible(public.task, values, answer.report_count)
        return NoisySum(values, public.task.guarantee(), answer.report_count)
