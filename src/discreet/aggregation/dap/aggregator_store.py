"""What both aggregators keep: which reports they have seen, what those add up to, and what was collected.

Every transaction that changes something of a task begins by locking the task (`locked`): so writers wait for each
other, in SQLite and in PostgreSQL, and what a transaction has read stays true until it ends. What is committed is on
the disk. A process may be killed between any two statements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, delete, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.aggregation.dap.messages import CHECKSUM_SIZE
from discreet.aggregation.dap.tables import answers, buckets, collected, restores, seen, tasks
from discreet.aggregation.prio3 import Prio3

Words = NDArray[np.uint64]

MAX_SKEW_SECONDS = 300
"""How far a clock may be ahead of others: a report may be of a window that begins so much later."""
_AT_ONCE = 500
_SWEPT_AT_ONCE = 5000


@dataclass(frozen=True, eq=False)
class Counted:
    """A verified report on its way into its bucket."""

    report_id: bytes
    time: int
    out_share: Words


@dataclass(frozen=True, eq=False)
class Batch:
    """What the reports of a window add up to."""

    share: Words
    count: int
    checksum: bytes


class Store:
    """The database of an aggregator."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._insert: Any = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def open_task(self, task_id: bytes, window_seconds: int) -> int:
        """The number by which a task goes in this database.

        If the database was put back from a copy, windows may have been collected of which it does not know. So all that
        had begun then is forgotten.
        """
        with self.engine.begin() as connection:
            connection.execute(self._insert(tasks).values(id=task_id, forgotten=0).on_conflict_do_nothing())
            number = int(connection.execute(select(tasks.c.number).where(tasks.c.id == task_id)).scalar_one())
            restored = connection.execute(select(func.max(restores.c.time))).scalar()
        if restored is not None:
            self.forget(number, (int(restored) + MAX_SKEW_SECONDS) // window_seconds + 1)
        return number

    @contextmanager
    def locked(self, *numbers: int) -> Iterator[Connection]:
        """A transaction: no other one on the same tasks runs at the same time."""
        with self.engine.begin() as connection:
            for number in sorted(numbers):
                connection.execute(update(tasks).where(tasks.c.number == number).values(forgotten=tasks.c.forgotten))
            yield connection

    def forgotten(self, connection: Connection, task: int) -> int:
        """The time before which nothing is known of a task any more."""
        return int(connection.execute(select(tasks.c.forgotten).where(tasks.c.number == task)).scalar_one())

    def collected_times(self, connection: Connection, task: int, times: Iterable[int]) -> set[int]:
        """Which of these times were collected."""
        wanted = set(times)
        if not wanted:
            return set()
        near = (collected.c.task == task) & collected.c.time.between(min(wanted), max(wanted))
        return wanted.intersection(connection.execute(select(collected.c.time).where(near)).scalars())

    def note_seen(
        self, connection: Connection, task: int, reports: Sequence[tuple[int, bytes]]
    ) -> set[tuple[int, bytes]]:
        """Note times and ids of reports; those that are new. Nobody else notes any while the task is locked."""
        new = set(reports)
        for first in range(0, len(reports), _AT_ONCE):
            some = reports[first : first + _AT_ONCE]
            known = seen.c.time.in_({time for time, _ in some}) & seen.c.report_id.in_({key for _, key in some})
            found = connection.execute(select(seen.c.time, seen.c.report_id).where((seen.c.task == task) & known))
            new.difference_update((int(time), bytes(key)) for time, key in found)
        if new:
            rows = [{"task": task, "time": time, "report_id": key} for time, key in sorted(new)]
            connection.execute(insert(seen), rows)
        return new

    def add_to_buckets(self, connection: Connection, task: int, prio3: Prio3, reports: Iterable[Counted]) -> None:
        """Add verified reports to what their times have."""
        by_time: dict[int, list[Counted]] = {}
        for report in reports:
            by_time.setdefault(report.time, []).append(report)
        for time, group in by_time.items():
            mine = (buckets.c.task == task) & (buckets.c.time == time)
            found = connection.execute(select(buckets).where(mine)).first()
            shares = [report.out_share for report in group]
            checksum = _xor([bytes(CHECKSUM_SIZE), *(hashlib.sha256(report.report_id).digest() for report in group)])
            count = len(group)
            if found is not None:
                shares.append(prio3.decode_agg_share(bytes(found.share)))
                checksum, count = _xor([checksum, bytes(found.checksum)]), count + int(found.reports)
            share = prio3.encode_agg_share(prio3.merge(shares))
            row = {"task": task, "time": time, "share": share, "reports": count, "checksum": checksum}
            connection.execute(
                insert(buckets).values(row) if found is None else update(buckets).where(mine).values(row)
            )

    def batch(self, connection: Connection, task: int, prio3: Prio3, time: int) -> Batch:
        """What the reports of a time add up to."""
        mine = (buckets.c.task == task) & (buckets.c.time == time)
        row = connection.execute(select(buckets).where(mine)).first()
        if row is None:
            return Batch(prio3.agg_init(), 0, bytes(CHECKSUM_SIZE))
        return Batch(prio3.decode_agg_share(bytes(row.share)), int(row.reports), bytes(row.checksum))

    def note_collected(self, connection: Connection, task: int, time: int) -> None:
        """Close a time for ever. Its bucket is not needed any more, nor the ids of its reports (`sweep`)."""
        connection.execute(insert(collected).values(task=task, time=time))
        connection.execute(delete(buckets).where((buckets.c.task == task) & (buckets.c.time == time)))

    def newest(self, task: int) -> int | None:
        """The latest time of which a report was counted; both aggregators have verified it. None if there is none."""
        with self.engine.connect() as connection:
            times = [
                connection.execute(select(func.max(table.c.time)).where(table.c.task == task)).scalar()
                for table in (buckets, collected)
            ]
        return max((int(time) for time in times if time is not None), default=None)

    def sweep(self, task: int) -> None:
        """Delete the ids of reports that are too old or collected: such reports are refused for that already.

        There may be millions, so some thousands are deleted at a time.
        """
        inside = seen.c.time.in_(select(collected.c.time).where(collected.c.task == task))
        old = seen.c.time < select(tasks.c.forgotten).where(tasks.c.number == task).scalar_subquery()
        ids = tuple_(seen.c.time, seen.c.report_id)
        for useless in (inside, old):
            some = select(seen.c.time, seen.c.report_id).where((seen.c.task == task) & useless).limit(_SWEPT_AT_ONCE)
            deleted = 1
            while deleted:
                with self.locked(task) as connection:
                    deleted = connection.execute(delete(seen).where((seen.c.task == task) & ids.in_(some))).rowcount

    def forget(self, task: int, before: int) -> None:
        """Delete all that is about times before one. From then on nothing of them is taken, whatever the clock says."""
        with self.locked(task) as connection:
            if before <= self.forgotten(connection, task):
                return
            connection.execute(update(tasks).where(tasks.c.number == task).values(forgotten=before))
            for table in (buckets, answers, collected):
                connection.execute(delete(table).where((table.c.task == task) & (table.c.time < before)))
            self._forget_more(connection, task, before)

    def _forget_more(self, connection: Connection, task: int, before: int) -> None:
        """What only one of the aggregators has."""


def _xor(digests: Sequence[bytes]) -> bytes:
    whole = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, CHECKSUM_SIZE)
    return bytes(np.bitwise_xor.reduce(whole, axis=0))
