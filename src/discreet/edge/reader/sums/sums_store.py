"""What a device remembers of tasks: terms by name, the latest window of each, and what was given of a day's total.

One SQLite file, readable by its owner only. What is written is on the disk before a contribution is sent.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from discreet.aggregation.task import Task
from discreet.edge.reader.device_file import DeviceFile
from discreet.errors import DiscreetError
from discreet.protocol.check import limits

_SCHEMA = """
CREATE TABLE IF NOT EXISTS task (
    name TEXT PRIMARY KEY, id BLOB NOT NULL UNIQUE, terms TEXT NOT NULL, since INTEGER NOT NULL, cells TEXT,
    window INTEGER NOT NULL, period INTEGER NOT NULL, given INTEGER NOT NULL, counted TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS secret (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), value BLOB NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class Known:
    """A task that the device contributes to.

    Attributes:
        task: Its terms.
        since: When the device came to know it, in seconds since 1970.
        cells: What each value stands for, if that is the same in all windows.
        window: The latest window that the device contributed to; −1 before the first.
        period: Its period.
        given: How much of `max_total` was given in that period.
        counted: Which articles were counted in it.
    """

    task: Task
    since: int
    cells: tuple[str, ...]
    window: int
    period: int
    given: int
    counted: frozenset[str]


class TaskStore(DeviceFile):
    """The file."""

    schema: ClassVar = _SCHEMA
    contents: ClassVar = "tasks"
    synchronous: ClassVar = "EXTRA"

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
            self.secret: bytes = connection.execute("SELECT value FROM secret").fetchone()[0]

    def require_unchanged(self, task: Task) -> None:
        """An error if other terms are known under the task's name, for ever, or if no more names can be kept."""
        with self._transaction() as connection:
            row = connection.execute("SELECT id FROM task WHERE name = ?", (task.name,)).fetchone()
            (count,) = connection.execute("SELECT COUNT(*) FROM task").fetchone()
        if row is not None and row[0] != task.id:
            raise DiscreetError("its terms are not those that were published under its name")
        if row is None and count >= limits.max_task_names:
            raise DiscreetError("this device has seen too many tasks")

    def add(self, task: Task, cells: Sequence[str], now: int) -> None:
        """Remember a task."""
        kept = json.dumps(list(cells))
        row = (task.name, task.id, task.terms.decode(), now, kept, -1, -1, 0, "[]")
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def known(self) -> list[Known]:
        """All tasks, in the order of their ids."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT terms, since, cells, window, period, given, counted FROM task"
                " WHERE cells IS NOT NULL ORDER BY id"
            ).fetchall()
        return [
            Known(_task(terms), since, tuple(json.loads(cells)), window, period, given, counted)
            for terms, since, cells, window, period, given, counted in (
                (*row[:6], frozenset(json.loads(row[6]))) for row in rows
            )
        ]

    def contribute(self, known: Known, window: int, given: int, counted: frozenset[str]) -> bool:
        """Write down that a window is contributed to, on the disk; False if the task is not as it was known.

        Args:
            known: The task, as it was read.
            window: The window.
            given: How much of `max_total` is given in the window's period, with this contribution.
            counted: The articles that are counted in it.
        """
        task = known.task
        row = (window, task.period(window), given, json.dumps(sorted(counted)), task.id, known.window)
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE task SET window = ?, period = ?, given = ?, counted = ? WHERE id = ? AND window = ?", row
            )
            return changed.rowcount == 1

    def skip(self, task: Task, window: int) -> None:
        """Write down that a window is never contributed to."""
        with self._transaction() as connection:
            connection.execute("UPDATE task SET window = ? WHERE id = ? AND window < ?", (window, task.id, window))

    def drop_ended(self, now: int) -> None:
        """Of tasks that are over, keep the name and the id alone: they stay taken for ever."""
        over = [known.task for known in self.known() if known.task.sent_until(known.task.windows - 1) <= now]
        with self._transaction() as connection:
            connection.executemany(
                "UPDATE task SET terms = '', cells = NULL, counted = '[]' WHERE id = ?", [(task.id,) for task in over]
            )

    def forget(self) -> None:
        """All of it goes, so that nothing that a server handed out survives. The ledger still knows what was paid."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM task")
            self.secret = secrets.token_bytes(32)
            connection.execute("UPDATE secret SET value = ?", (self.secret,))


@lru_cache(maxsize=limits.max_tasks)
def _task(terms: str) -> Task:
    """A task by its terms, which never change."""
    return Task.from_json(json.loads(terms))
