"""Windows that have closed, and what was learnt from their sums: each sum is used once, whatever crashes.

A window is written down when it ends, with its cells. Its sum is used in the one transaction that marks the window,
keeps the sum, writes what is then known, and names it as a model version. Whoever crashes before that collects the same
sum again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import Task
from discreet.serving.database_tables import collected, learnt, windows
from discreet.serving.learning.logged_exposure import due_cells, forget_exposure, settle_due, take_over
from discreet.serving.learning.model_versions import ModelVersions, NewVersion
from discreet.serving.learning.quality_estimates import MeasuredWindow, measures_quality
from discreet.serving.server_store import ServerStore

IMPOSSIBLE = "impossibleSum"
"""Why a window has no sum: it had one that its contributions could not have."""

_MEASURED = (collected.c.cells != "") & (collected.c.problem == "")


@dataclass(frozen=True, eq=False)
class ClosedWindow:
    """A window of a task that has ended.

    Attributes:
        task: The task's id, in hexadecimal digits.
        window: Its number.
        end: When it ended, in seconds since 1970.
        cells: The articles that its values stand for.
        exposure: Of each the exposure since it was last due, where that was logged; else the share of all exposure that
            it is taken to have had.
        logged: Whether the exposure was logged.
        shown: Where it was logged, what was shown since the last window that had cells, due or not, and its exposure.
    """

    task: str
    window: int
    end: int
    cells: list[str]
    exposure: NDArray[np.float64]
    logged: bool = False
    shown: dict[str, float] | None = None

    def slates_of_each(self, contributions: int) -> NDArray[np.float64]:
        """The exposure of each cell, in slates; where it was not logged, every contribution stands for one."""
        return self.exposure if self.logged else self.exposure * contributions


@dataclass(frozen=True, eq=False)
class UsedSum:
    """A released sum that was learnt from, with its window and its task."""

    closed: ClosedWindow
    task: Task
    found: NoisySum


@dataclass(frozen=True)
class Learnt:
    """What is known after so many sums; nothing before the first."""

    sums: int
    state: bytes


class WindowStore:
    """The windows of a served catalogue."""

    def __init__(self, store: ServerStore) -> None:
        self._engine, self._insert = store.engine, store.insert

    def close_window(self, closed: ClosedWindow) -> None:
        """Write down a window that has ended; the first who does it settles its cells."""
        with self._engine.begin() as connection:
            self._write(connection, closed)

    def close_told(self, task: Task, window: int, listed: Sequence[str]) -> None:
        """Write down a window that has ended, with the listed articles that are due; where none is, it has no sum."""
        name = task.id.hex()
        with self._engine.begin() as connection:
            take_over(connection, self._insert, name)
            found = due_cells(connection, task, window, listed)
            end = task.begins(window + 1)
            closed = ClosedWindow(name, window, end, found.cells, found.exposure, logged=True, shown=found.shown)
            if self._write(connection, closed):
                settle_due(connection, self._insert, name, found)

    def _write(self, connection: Connection, closed: ClosedWindow) -> bool:
        """Add the row of a window; False if it is there."""
        row = {
            "task": closed.task,
            "window": closed.window,
            "end": closed.end,
            "cells": json.dumps(closed.cells),
            "share": closed.exposure.astype("<f8").tobytes(),
            "waits": bool(closed.cells) or not closed.logged,
            "logged": closed.logged,
            "shown": None if closed.shown is None else zlib.compress(json.dumps(closed.shown).encode()),
        }
        return bool(connection.execute(self._insert(windows).values(**row).on_conflict_do_nothing()).rowcount)

    def cells(self, task: str, window: int) -> list[str] | None:
        """The cells of a window, if it was written down."""
        query = select(windows.c.cells).where((windows.c.task == task) & (windows.c.window == window))
        with self._engine.connect() as connection:
            found = connection.execute(query).scalar()
        return None if found is None else list(json.loads(found))

    def next_window(self, tasks: Sequence[str]) -> ClosedWindow | None:
        """Of the windows whose sum was not used yet, the one that ended first."""
        mine = windows.c.waits & windows.c.task.in_(tasks)
        with self._engine.connect() as connection:
            row = connection.execute(select(windows).where(mine).order_by(windows.c.end).limit(1)).first()
        if row is None:
            return None
        return _closed(row)

    def learnt(self, model: str) -> Learnt:
        """What a model's sums have taught."""
        with self._engine.connect() as connection:
            row = connection.execute(select(learnt.c.sums, learnt.c.state).where(learnt.c.model == model)).first()
        return Learnt(0, b"") if row is None else Learnt(int(row.sums), bytes(row.state))

    def use(
        self, closed: ClosedWindow, task: Task, found: NoisySum, before: Learnt, state: bytes, new: NewVersion
    ) -> bool:
        """Mark a window as used and keep its sum, and what is known then; False if another server was first."""
        with self._engine.begin() as connection:
            if not self._take(connection, closed, task, found):
                return False
            if not self._know(connection, before, state, new):
                connection.rollback()
                return False
            return True

    def renew(self, before: Learnt, state: bytes, new: NewVersion) -> bool:
        """Replace what is known of a model; False if a server has learnt meanwhile."""
        with self._engine.begin() as connection:
            return self._know(connection, before, state, new)

    def used(self) -> Iterator[UsedSum]:
        """All sums that popularity was learnt from and that are kept, in the order in which their windows ended."""
        same = (windows.c.task == collected.c.task) & (windows.c.window == collected.c.window)
        query = select(windows, collected.c.terms, collected.c.contributions, collected.c["values"])
        there = (collected.c.problem == "") & (collected.c.cells == "") & (func.length(collected.c["values"]) > 0)
        query = query.join(collected, same).where(there).order_by(windows.c.end, windows.c.task)
        with self._engine.connect() as connection:
            for row in connection.execute(query).all():
                values = np.frombuffer(zlib.decompress(row.values), "<i8").astype(np.int64)
                task = Task.from_json(json.loads(row.terms))
                yield UsedSum(_closed(row), task, NoisySum(values, task.guarantee(), int(row.contributions)))

    def _know(self, connection: Connection, before: Learnt, state: bytes, new: NewVersion) -> bool:
        """Write what is known after one more step, and name it; False if it is not as it was before."""
        row = {"model": new.model, "sums": new.sums, "state": state}
        mine = (learnt.c.model == new.model) & (learnt.c.sums == before.sums)
        if before.sums == 0:
            connection.execute(insert(learnt).values(**row))
        elif not connection.execute(update(learnt).where(mine).values(**row)).rowcount:
            return False
        ModelVersions.add(connection, self._insert, new, state)
        return True

    def measure(self, closed: ClosedWindow, task: Task, found: NoisySum) -> bool:
        """Mark a window as used and keep its sum, from which nothing is learnt; False if another server was first."""
        with self._engine.begin() as connection:
            return self._take(connection, closed, task, found)

    def drop(self, closed: ClosedWindow, task: Task, problem: str) -> None:
        """Use no sum of a window: there is none."""
        with self._engine.begin() as connection:
            self._take(connection, closed, task, None, problem)

    def count_measured(self) -> int:
        """How many sums of ranking quality there are."""
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(collected).where(_MEASURED)).scalar_one())

    def measured(self) -> list[MeasuredWindow]:
        """All sums of ranking quality, the earliest first."""
        query = select(collected).where(_MEASURED)
        with self._engine.connect() as connection:
            rows = connection.execute(query.order_by(collected.c.end, collected.c.task)).all()
        return [
            MeasuredWindow(
                Task.from_json(json.loads(row.terms)),
                int(row.window),
                tuple(json.loads(row.cells)),
                np.frombuffer(zlib.decompress(row.values), "<i8").astype(np.int64),
                int(row.contributions),
            )
            for row in rows
        ]

    def counted(self) -> list[dict[str, Any]]:
        """Of each task that ever had a window: how many closed, wait, gave a sum, had none, and contributions."""
        with self._engine.connect() as connection:
            unused = select(windows.c.task, func.count()).where(windows.c.waits).group_by(windows.c.task)
            waiting = {str(task): int(count) for task, count in connection.execute(unused)}
            rows = connection.execute(
                select(
                    collected.c.task,
                    func.max(collected.c.terms).label("terms"),
                    func.count().label("closed"),
                    func.sum(collected.c.contributions).label("contributions"),
                    func.max(collected.c.end).label("end"),
                ).group_by(collected.c.task)
            ).all()
            failed = connection.execute(
                select(collected.c.task, collected.c.problem, func.count())
                .where(collected.c.problem != "")
                .group_by(collected.c.task, collected.c.problem)
            ).all()
        made = []
        for row in rows:
            problems = {problem: count for task, problem, count in failed if task == row.task}
            made.append(
                {
                    "task": row.task,
                    "terms": json.loads(row.terms),
                    "collected": int(row.closed) - sum(problems.values()),
                    "without_sum": problems,
                    "waiting": waiting.pop(row.task, 0),
                    "contributions": int(row.contributions or 0),
                    "until": int(row.end),
                }
            )
        return made + [
            {
                "task": task,
                "terms": None,
                "collected": 0,
                "without_sum": {},
                "waiting": count,
                "contributions": 0,
                "until": 0,
            }
            for task, count in waiting.items()
        ]

    def forget(self, seconds: int) -> None:
        """Delete windows, used or not, that ended so long before the newest sum, whatever the clock says.

        What was learnt from them stays, and quality does.
        """
        with self._engine.begin() as connection:
            newest = connection.execute(select(func.max(collected.c.end)).where(collected.c.problem == "")).scalar()
            before = (newest or 0) - seconds
            connection.execute(delete(windows).where(windows.c.end < before))
            forget_exposure(connection)
            old = (collected.c.end < before) & (collected.c.cells == "")
            connection.execute(update(collected).where(old).values(values=b""))

    def _take(
        self, connection: Connection, closed: ClosedWindow, task: Task, found: NoisySum | None, problem: str = ""
    ) -> bool:
        """Mark a window, and write down what came of it; False if it was marked before."""
        if not connection.execute(update(windows).where(_waiting(closed)).values(waits=False)).rowcount:
            return False
        row = {
            "task": closed.task,
            "window": closed.window,
            "end": closed.end,
            "terms": task.terms.decode(),
            "cells": json.dumps(closed.cells) if measures_quality(task) else "",
            "contributions": 0 if found is None else found.contributions or 0,
            "problem": problem,
            "values": b"" if found is None else zlib.compress(found.values.astype("<i8").tobytes()),
        }
        connection.execute(self._insert(collected).values(**row).on_conflict_do_nothing())
        return True


def _closed(row: Any) -> ClosedWindow:
    exposure = np.frombuffer(row.share, "<f8").astype(np.float64)
    shown = None if row.shown is None else json.loads(zlib.decompress(row.shown))
    cells = json.loads(row.cells)
    return ClosedWindow(row.task, int(row.window), int(row.end), cells, exposure, bool(row.logged), shown)


def _waiting(closed: ClosedWindow) -> ColumnElement[bool]:
    return (windows.c.task == closed.task) & (windows.c.window == closed.window) & windows.c.waits
