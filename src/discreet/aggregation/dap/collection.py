"""Collection jobs at the leader: close a batch, fix the leader's noised share, get the helper's, tell the collector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Row

from discreet.aggregation.dap.aggregator_store import Batch
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.batches import check_collection, decoded, id_of
from discreet.aggregation.dap.leader import Leader
from discreet.aggregation.dap.leader_store import Closed
from discreet.aggregation.dap.messages import (
    AggregateShare,
    AggregateShareReq,
    BatchMode,
    BatchSelector,
    CollectionJobReq,
    CollectionJobResp,
    HpkeCiphertext,
    Interval,
)
from discreet.aggregation.dap.problems import DapProblem, ProblemType, encode_id
from discreet.aggregation.dap.transport import PeerError
from discreet.aggregation.dap.wire import MessageError

_FINAL = (
    ProblemType.INVALID_MESSAGE,
    ProblemType.BATCH_INVALID,
    ProblemType.INVALID_BATCH_SIZE,
    ProblemType.INVALID_AGGREGATION_PARAMETER,
    ProblemType.BATCH_MISMATCH,
    ProblemType.BATCH_OVERLAP,
    ProblemType.UNSUPPORTED_EXTENSION,
    ProblemType.INVALID_EXTENSION,
)


class CollectionJobs:
    """The collection jobs of a leader.

    Args:
        leader: Whose they are.
        wake: Called when there is something to do.
    """

    def __init__(self, leader: Leader, wake: Callable[[], None] = lambda: None) -> None:
        self._leader, self._store, self._wake = leader, leader.store, wake

    def create(self, task_id: bytes, body: bytes) -> bytes:
        """Begin a collection job; its id. The same request has the same job."""
        agreement, task = self._leader.task(task_id)
        time = check_collection(agreement, decoded(CollectionJobReq, body))
        key = id_of(body)
        store = self._store
        with store.locked(task) as connection:
            if store.is_known(connection, task, key):
                store.try_again(connection, task, key)
            else:
                if time < store.forgotten(connection, task):
                    raise DapProblem(ProblemType.BATCH_INVALID, "the batch is so old that it was deleted")
                if store.collected_times(connection, task, [time]):
                    raise DapProblem(ProblemType.BATCH_OVERLAP, "the batch was collected before")
                store.new_collection(connection, task, key, time, body)
        self._wake()
        return key

    def answer(self, task_id: bytes, key: bytes) -> bytes | None:
        """What a collection job has given; None if it is not ready."""
        _, task = self._leader.task(task_id)
        found = self._store.collection(task, key)
        if found is None:
            raise DapProblem(None, "there is no such collection job", 404)
        if found.problem is not None:
            raise DapProblem(ProblemType(found.problem), "the collection job has failed")
        return None if found.answer is None else bytes(found.answer)

    def delete(self, task_id: bytes, key: bytes) -> None:
        """Forget a collection job. What was collected stays so."""
        self._store.delete_collection(self._leader.task(task_id)[1], key)

    def run(self, task_id: bytes) -> bool:
        """Bring all collection jobs of a task as far as they can go; False if the helper could not be asked."""
        agreement, task = self._leader.task(task_id)
        now, reached = self._leader.sealing.clock(), True
        for job in self._store.open_collections(task):
            if job.share is None and agreement.task.sent_until(job.time - agreement.first_time) <= now:
                self._close(agreement, task, job)
        for job in self._store.open_collections(task):
            if job.share is not None:
                reached = self._finish(agreement, task, job) and reached
        return reached

    def _close(self, agreement: Agreement, task: int, job: Row[Any]) -> None:
        request = CollectionJobReq.decode(bytes(job.request))

        def fix(batch: Batch) -> Closed | None:
            if batch.count < agreement.task.min_batch:
                return None
            selector = BatchSelector(BatchMode.TIME_INTERVAL, Interval(job.time, 1).encode())
            asked = AggregateShareReq(request, selector, batch.count, batch.checksum)
            sealed = self._leader.sealing.seal(agreement, request, batch.share)
            return Closed(asked.encode(), sealed.encode())

        self._store.fix_share(task, bytes(job.id), job.time, agreement.prio3, fix)

    def _finish(self, agreement: Agreement, task: int, job: Row[Any]) -> bool:
        """Get the helper's share for a closed batch. Until it comes, the same request is sent again."""
        key, asked = bytes(job.id), bytes(job.share_request)
        path = f"/tasks/{encode_id(agreement.task.id)}/aggregate_shares"
        try:
            created = self._leader.peers(agreement.task.helper).create(path, asked, AggregateShareReq, AggregateShare)
            share = AggregateShare.decode(created.body)
        except PeerError as error:
            if error.kind in _FINAL:
                self._store.end_collection(task, key, problem=error.kind)
            return error.kind in _FINAL
        except MessageError:
            self._store.end_collection(task, key, problem=ProblemType.INVALID_MESSAGE)
            return True
        answer = CollectionJobResp(
            AggregateShareReq.decode(asked).report_count,
            Interval(job.time, 1),
            HpkeCiphertext.decode(bytes(job.share)),
            share.encrypted_aggregate_share,
        )
        self._store.end_collection(task, key, answer=answer.encode())
        return True
