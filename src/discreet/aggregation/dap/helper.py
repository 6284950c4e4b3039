"""The helper, apart from HTTP: it verifies and counts what the leader brings, and tells a batch's share once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from discreet.aggregation.dap.aggregator_store import Counted, Store
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.batches import (
    check_collection,
    check_no_extension,
    check_parameter,
    decoded,
    id_of,
    window_time,
)
from discreet.aggregation.dap.messages import (
    AggregateShare,
    AggregateShareReq,
    AggregationJobContinueReq,
    AggregationJobInitReq,
    AggregationJobResp,
    ReportError,
    ReportMetadata,
    VerifyInit,
    VerifyResp,
    VerifyRespType,
    strictly_increasing,
)
from discreet.aggregation.dap.problems import DapProblem, ProblemType
from discreet.aggregation.dap.retention import clock_problem, forget_old
from discreet.aggregation.dap.shares import Sealing
from discreet.aggregation.dap.tables import answers
from discreet.aggregation.prio3 import VerifierInput
from discreet.aggregation.prio3.ping_pong import FinishedWithOutbound, helper_init

_JOB, _SHARE = "job", "share"


@dataclass(frozen=True)
class Answer:
    """What a request created: the resource's id, and what it says."""

    id: bytes
    body: bytes


class Helper:
    """One process of a helper; several may share a database.

    Args:
        store: Its database.
        sealing: Its keys.
        agreements: Its tasks.
        threads: How many processors verification may use.
    """

    def __init__(self, store: Store, sealing: Sealing, agreements: Iterable[Agreement], threads: int = 1) -> None:
        self.store, self.sealing, self._threads = store, sealing, threads
        self.tasks = {one.task.id: (one, store.open_task(one.task.id, one.task.window_seconds)) for one in agreements}

    def start_job(self, task_id: bytes, body: bytes) -> Answer:
        """Verify the reports of an aggregation job and count the valid ones; the same request has the same answer."""
        agreement, task = self._task(task_id)
        request = decoded(AggregationJobInitReq, body)
        if not strictly_increasing(request.extensions):
            raise DapProblem(ProblemType.INVALID_MESSAGE, "the extensions are not in increasing order")
        check_no_extension(request.extensions)
        check_parameter(request.agg_param)
        if request.verification_key_id:
            raise DapProblem(ProblemType.INVALID_MESSAGE, "the verification key of this task has the identifier 0")
        ids = [init.report_share.report_metadata.report_id for init in request.verify_inits]
        if len(set(ids)) != len(ids):
            raise DapProblem(ProblemType.INVALID_MESSAGE, "a report is in the job twice")
        job = id_of(body)
        known = self.job(task_id, job)
        if known is None:
            verified = self._verified(agreement, request.verify_inits)
            known = self._counted(agreement, task, job, request.verify_inits, verified)
        return Answer(job, known)

    def job(self, task_id: bytes, job: bytes) -> bytes | None:
        """The answer to an aggregation job; None if there is no such job."""
        return self._answer(task_id, job, _JOB)

    def continue_job(self, task_id: bytes, job: bytes, body: bytes) -> None:
        """Prio3 has one step, so every continuation is aborted."""
        if self.job(task_id, job) is None:
            raise DapProblem(ProblemType.UNRECOGNIZED_AGGREGATION_JOB, "there is no such aggregation job", 404)
        if decoded(AggregationJobContinueReq, body).step == 0:
            raise DapProblem(ProblemType.INVALID_MESSAGE, "a continuation has step 1 or more")
        raise DapProblem(ProblemType.STEP_MISMATCH, "the jobs of this task are finished after step 0")

    def delete_job(self, task_id: bytes, job: bytes) -> None:
        """Forget the answer to a job. The reports stay counted, and known."""
        self._delete(task_id, job, _JOB)

    def share(self, task_id: bytes, body: bytes) -> Answer:
        """The aggregate share of a batch, noised and sealed to the collector: once, and the same if asked again."""
        agreement, task = self._task(task_id)
        request = decoded(AggregateShareReq, body)
        queried = check_collection(agreement, request.collection_job_req)
        time = window_time(agreement, request.batch_selector)
        if time != queried:
            raise DapProblem(ProblemType.INVALID_MESSAGE, "the batch is not what the collector asks for")
        key = id_of(body)
        with self.store.locked(task) as connection:
            known = connection.execute(select(answers.c.body).where(_is(task, key, _SHARE))).scalar()
            if known is not None:
                return Answer(key, bytes(known))
            if time < self.store.forgotten(connection, task):
                raise DapProblem(ProblemType.BATCH_INVALID, "the batch is so old that it was deleted")
            if self.store.collected_times(connection, task, [time]):
                raise DapProblem(ProblemType.BATCH_OVERLAP, "the batch was collected before")
            batch = self.store.batch(connection, task, agreement.prio3, time)
            if batch.count < agreement.task.min_batch:
                raise DapProblem(ProblemType.INVALID_BATCH_SIZE, "the batch has too few reports")
            if (batch.count, batch.checksum) != (request.report_count, request.checksum):
                raise DapProblem(ProblemType.BATCH_MISMATCH, "the helper has counted other reports than the leader")
            sealed = AggregateShare(self.sealing.seal(agreement, request.collection_job_req, batch.share)).encode()
            self.store.note_collected(connection, task, time)
            row = {"task": task, "id": key, "kind": _SHARE, "time": time, "body": sealed}
            connection.execute(insert(answers).values(row))
        return Answer(key, sealed)

    def known_share(self, task_id: bytes, key: bytes) -> bytes | None:
        """A share that was given to the collector; None if there is none."""
        return self._answer(task_id, key, _SHARE)

    def delete_share(self, task_id: bytes, key: bytes) -> None:
        """Forget a share that was given. The batch stays collected: its share is not given again."""
        self._delete(task_id, key, _SHARE)

    def forget(self, seconds: float) -> None:
        """Delete what is about windows that ended so long before the newest one."""
        forget_old(self.store, self.tasks.values(), self.sealing.clock(), seconds)

    def clock_problem(self) -> str:
        """What speaks against the clock; empty where nothing does."""
        return clock_problem(self.store, self.tasks.values(), self.sealing.clock())

    def _task(self, task_id: bytes) -> tuple[Agreement, int]:
        found = self.tasks.get(task_id)
        if found is None:
            raise DapProblem(ProblemType.UNRECOGNIZED_TASK, "this helper does not have this task", 404)
        return found

    def _verified(
        self, agreement: Agreement, inits: tuple[VerifyInit, ...]
    ) -> list[FinishedWithOutbound | ReportError]:
        shares = [one.report_share for one in inits]
        opened = [
            self.sealing.time_problem(agreement, one.report_metadata.time)
            or self.sealing.open(agreement, one.report_metadata, one.public_share, one.encrypted_input_share)
            for one in shares
        ]
        good = [
            (share, init.payload) for share, init in zip(opened, inits, strict=True) if isinstance(share, VerifierInput)
        ]
        done = iter(
            helper_init(
                agreement.prio3,
                agreement.verify_key,
                agreement.context,
                [share for share, _ in good],
                [payload for _, payload in good],
                self._threads,
            )
        )
        return [
            share if isinstance(share, ReportError) else next(done) or ReportError.VDAF_VERIFY_ERROR for share in opened
        ]

    def _counted(
        self,
        agreement: Agreement,
        task: int,
        job: bytes,
        inits: tuple[VerifyInit, ...],
        verified: list[FinishedWithOutbound | ReportError],
    ) -> bytes:
        """Count what was verified, in one transaction with the answer."""
        about = [init.report_share.report_metadata for init in inits]
        with self.store.locked(task) as connection:
            known = connection.execute(select(answers.c.body).where(_is(task, job, _JOB))).scalar()
            if known is not None:  # the same request came twice at once
                return bytes(known)
            forgotten = self.store.forgotten(connection, task)
            times = (
                one.time for one, result in zip(about, verified, strict=True) if not isinstance(result, ReportError)
            )
            closed = self.store.collected_times(connection, task, times)
            results = [
                result if isinstance(result, ReportError) else _late(one.time, forgotten, closed) or result
                for one, result in zip(about, verified, strict=True)
            ]
            valid = [
                Counted(one.report_id, one.time, result.out_share)
                for one, result in zip(about, results, strict=True)
                if isinstance(result, FinishedWithOutbound)
            ]
            new = self.store.note_seen(connection, task, [(one.time, one.report_id) for one in valid])
            counted = [one for one in valid if (one.time, one.report_id) in new]
            self.store.add_to_buckets(connection, task, agreement.prio3, counted)
            body = AggregationJobResp(
                tuple(_response(one, result, new) for one, result in zip(about, results, strict=True))
            ).encode()
            last = max((one.time for one in valid), default=agreement.first_time)
            row = {"task": task, "id": job, "kind": _JOB, "time": last, "body": body}
            connection.execute(insert(answers).values(row))
        return body

    def _answer(self, task_id: bytes, key: bytes, kind: str) -> bytes | None:
        _, task = self._task(task_id)
        with self.store.engine.connect() as connection:
            found = connection.execute(select(answers.c.body).where(_is(task, key, kind))).scalar()
        return None if found is None else bytes(found)

    def _delete(self, task_id: bytes, key: bytes, kind: str) -> None:
        _, task = self._task(task_id)
        with self.store.locked(task) as connection:
            connection.execute(delete(answers).where(_is(task, key, kind)))


def _late(time: int, forgotten: int, closed: set[int]) -> ReportError | None:
    if time < forgotten:
        return ReportError.REPORT_DROPPED
    return ReportError.BATCH_COLLECTED if time in closed else None


def _response(
    about: ReportMetadata, result: FinishedWithOutbound | ReportError, new: set[tuple[int, bytes]]
) -> VerifyResp:
    if isinstance(result, FinishedWithOutbound) and (about.time, about.report_id) not in new:
        result = ReportError.REPORT_REPLAYED
    if isinstance(result, ReportError):
        return VerifyResp(about.report_id, VerifyRespType.REJECT, report_error=result)
    return VerifyResp(about.report_id, VerifyRespType.CONTINUE, payload=result.outbound)


def _is(task: int, key: bytes, kind: str) -> Any:
    return (answers.c.task == task) & (answers.c.id == key) & (answers.c.kind == kind)
