"""What a leader keeps besides: reports that wait, its aggregation jobs, and collection jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from discreet.aggregation.dap.aggregator_store import Batch, Counted, Store
from discreet.aggregation.dap.messages import ReportError
from discreet.aggregation.dap.problems import ProblemType
from discreet.aggregation.dap.tables import collections, jobs, reports
from discreet.aggregation.prio3 import Prio3


@dataclass(frozen=True)
class Uploaded:
    """A report on its way to the disk."""

    report_id: bytes
    time: int
    encoded: bytes


@dataclass(frozen=True)
class Closed:
    """What closing a batch fixes.

    Attributes:
        share_request: The request for the helper's share.
        share: The leader's own, noised and sealed.
    """

    share_request: bytes
    share: bytes


class LeaderStore(Store):
    """The database of a leader."""

    def keep(self, uploads: Sequence[tuple[int, Sequence[Uploaded]]]) -> list[list[ReportError | None]]:
        """Keep reports of some tasks; when this returns they are on the disk. For each None, or why it was not kept.

        A report that is known already is discarded, without an error: its device did not get the answer.
        """
        with self.locked(*{task for task, _ in uploads}) as connection:
            return [self._keep(connection, task, some) for task, some in uploads]

    def waiting(self, task: int) -> int:
        """How many reports are in no job yet."""
        free = (reports.c.task == task) & reports.c.job.is_(None)
        with self.engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(reports).where(free)).scalar_one())

    def open_jobs(self, task: int) -> list[int]:
        """Jobs that are not finished, the oldest first."""
        with self.engine.connect() as connection:
            return list(
                connection.execute(select(jobs.c.number).where(jobs.c.task == task).order_by(jobs.c.number)).scalars()
            )

    def new_job(self, task: int, until: int, limit: int) -> int | None:
        """Put waiting reports, of times up to one, into a job; None if there are none."""
        with self.locked(task) as connection:
            free = (reports.c.task == task) & reports.c.job.is_(None) & (reports.c.time <= until)
            query = select(reports.c.number).where(free).order_by(reports.c.number).limit(limit)
            numbers = list(connection.execute(query).scalars())
            if not numbers:
                return None
            job = int(connection.execute(insert(jobs).values(task=task).returning(jobs.c.number)).scalar_one())
            connection.execute(update(reports).where(reports.c.number.in_(numbers)).values(job=job))
            return job

    def job(self, task: int, job: int) -> tuple[bytes | None, list[bytes]]:
        """A job's request, if it was fixed, and its reports."""
        mine = (reports.c.task == task) & (reports.c.job == job)
        with self.engine.connect() as connection:
            request = connection.execute(select(jobs.c.request).where(jobs.c.number == job)).scalar()
            found = connection.execute(select(reports.c.report).where(mine).order_by(reports.c.number)).scalars()
            return None if request is None else bytes(request), [bytes(report) for report in found]

    def fix_request(self, task: int, job: int, request: bytes) -> bytes:
        """Fix what is sent to the helper, now and ever again; what was fixed first counts."""
        with self.locked(task) as connection:
            free = (jobs.c.number == job) & jobs.c.request.is_(None)
            connection.execute(update(jobs).where(free).values(request=request))
            found = connection.execute(select(jobs.c.request).where(jobs.c.number == job)).scalar()
            return request if found is None else bytes(found)  # None: another process has finished it

    def finish(self, task: int, job: int, prio3: Prio3, counted: Sequence[Counted]) -> None:
        """Count a job's valid reports and let go of the job, once."""
        with self.locked(task) as connection:
            if not connection.execute(delete(jobs).where(jobs.c.number == job)).rowcount:
                return  # another process was first
            closed = self.collected_times(connection, task, (one.time for one in counted))
            first = self.forgotten(connection, task)
            good = [one for one in counted if one.time not in closed and one.time >= first]
            self.add_to_buckets(connection, task, prio3, good)
            connection.execute(delete(reports).where((reports.c.task == task) & (reports.c.job == job)))

    # Collection jobs

    def collection(self, task: int, key: bytes) -> Row[Any] | None:
        """A collection job; None if there is no such."""
        with self.engine.connect() as connection:
            return connection.execute(select(collections).where(_is(task, key))).first()

    def open_collections(self, task: int) -> list[Row[Any]]:
        """Collection jobs that are neither done nor failed."""
        mine = (collections.c.task == task) & collections.c.answer.is_(None) & collections.c.problem.is_(None)
        with self.engine.connect() as connection:
            return list(connection.execute(select(collections).where(mine).order_by(collections.c.time)))

    def new_collection(self, connection: Connection, task: int, key: bytes, time: int, request: bytes) -> None:
        """Begin a collection job. A window has one request, so it has one job."""
        connection.execute(insert(collections).values(task=task, id=key, time=time, request=request))

    def is_known(self, connection: Connection, task: int, key: bytes) -> bool:
        """Whether there is such a collection job."""
        return connection.execute(select(collections.c.id).where(_is(task, key))).first() is not None

    def try_again(self, connection: Connection, task: int, key: bytes) -> None:
        """Let a collection job that failed for want of reports wait for more."""
        small = (
            _is(task, key) & (collections.c.problem == ProblemType.INVALID_BATCH_SIZE) & collections.c.share.is_(None)
        )
        connection.execute(update(collections).where(small).values(problem=None))

    def is_pending(self, connection: Connection, task: int, time: int) -> bool:
        """Whether reports of a time are not counted or dropped yet."""
        mine = (reports.c.task == task) & (reports.c.time == time)
        return connection.execute(select(reports.c.number).where(mine).limit(1)).first() is not None

    def fix_share(self, task: int, key: bytes, time: int, prio3: Prio3, fix: Callable[[Batch], Closed | None]) -> None:
        """Close a batch, once all its reports are counted, with what `fix` makes of it; None if they are too few."""
        with self.locked(task) as connection:
            free = _is(task, key) & collections.c.share.is_(None) & collections.c.problem.is_(None)
            if connection.execute(select(collections.c.id).where(free)).first() is None:
                return  # another process was first, or the collector gave up
            if self.is_pending(connection, task, time):
                return
            fixed = fix(self.batch(connection, task, prio3, time))
            if fixed is None:
                connection.execute(update(collections).where(free).values(problem=ProblemType.INVALID_BATCH_SIZE))
                return
            self.note_collected(connection, task, time)
            connection.execute(update(collections).where(free).values(**vars(fixed)))

    def end_collection(self, task: int, key: bytes, **result: Any) -> None:
        """Note the answer of a collection job, or the problem it failed with; the first counts."""
        with self.locked(task) as connection:
            free = _is(task, key) & collections.c.answer.is_(None) & collections.c.problem.is_(None)
            connection.execute(update(collections).where(free).values(**result))

    def delete_collection(self, task: int, key: bytes) -> None:
        """Forget a collection job. What was collected stays so."""
        with self.locked(task) as connection:
            connection.execute(delete(collections).where(_is(task, key)))

    def _keep(self, connection: Connection, task: int, some: Sequence[Uploaded]) -> list[ReportError | None]:
        forgotten = self.forgotten(connection, task)
        closed = self.collected_times(connection, task, (one.time for one in some))
        results: list[ReportError | None] = [
            ReportError.REPORT_DROPPED
            if one.time < forgotten
            else ReportError.REPORT_REPLAYED
            if one.time in closed
            else None
            for one in some
        ]
        good = [one for one, problem in zip(some, results, strict=True) if problem is None]
        new = self.note_seen(connection, task, [(one.time, one.report_id) for one in good])
        rows = {
            (one.time, one.report_id): {"task": task, "time": one.time, "report": one.encoded}
            for one in good
            if (one.time, one.report_id) in new
        }
        if rows:
            connection.execute(insert(reports), list(rows.values()))
        return results

    def _forget_more(self, connection: Connection, task: int, before: int) -> None:
        old = (reports.c.task == task) & (reports.c.time < before) & reports.c.job.is_(None)
        connection.execute(delete(reports).where(old))
        connection.execute(delete(collections).where((collections.c.task == task) & (collections.c.time < before)))


def _is(task: int, key: bytes) -> Any:
    return (collections.c.task == task) & (collections.c.id == key)
