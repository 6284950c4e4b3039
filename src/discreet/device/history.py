"""What a device remembers: clicks, the slates they were made in, which epochs were sketched, reports not yet sent.

One SQLite file, readable by its owner only. Every change is one transaction, so a crash leaves the old state or the
new. Nothing here leaves the device but through `Device` and the reports that it made.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DiscreetError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS click (
    number INTEGER PRIMARY KEY, time INTEGER NOT NULL, epoch INTEGER NOT NULL, article TEXT NOT NULL,
    category TEXT NOT NULL, open INTEGER NOT NULL, slate TEXT, space TEXT NOT NULL, topic INTEGER NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS click_by_epoch ON click (epoch);
CREATE TABLE IF NOT EXISTS slate (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, model TEXT NOT NULL,
    articles TEXT NOT NULL, signature TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS sketch (
    epoch INTEGER PRIMARY KEY, space TEXT NOT NULL, clicks INTEGER NOT NULL, pseudonym TEXT NOT NULL,
    reported INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS report (number INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class Click:
    """One click; `is_open` is 1 if it may be told in clear.

    `space`, `topic` and `vector` are the article's at the time, for when it is no longer published.
    """

    time: int
    epoch: int
    article: str
    category: str
    is_open: int
    slate: str | None
    space: str
    topic: int
    vector: bytes


@dataclass(frozen=True)
class Slate:
    """The articles that a server sent, in its order, with its signature."""

    id: str
    model: str
    articles: tuple[str, ...]
    signature: str


@dataclass(frozen=True)
class SketchPlan:
    """In which space an epoch is sketched, from how many sensitive clicks, and under which name it is reported."""

    epoch: int
    space: str
    clicks: int
    pseudonym: str
    reported: int = 0


class History:
    """The file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._one_at_a_time = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
            for setting in ("journal_mode = DELETE", "synchronous = FULL", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise self._unusable(error) from error
        with self._transaction() as connection:
            for statement in _SCHEMA.strip().split(";\n"):
                connection.execute(statement)

    def add_click(self, click: Click) -> None:
        """Remember a click."""
        c = click
        row = (c.time, c.epoch, c.article, c.category, c.is_open, c.slate, c.space, c.topic, c.vector)
        with self._transaction() as connection:
            connection.execute("INSERT INTO click VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def clicks(self, *, epoch: int | None = None, slate: str | None = None) -> list[Click]:
        """The clicks of an epoch or of a slate, or all, in the order they were made."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT time, epoch, article, category, open, slate, space, topic, vector FROM click"
                " WHERE epoch = COALESCE(?, epoch) AND (? IS NULL OR slate = ?) ORDER BY number",
                (epoch, slate, slate),
            ).fetchall()
        return [Click(*row) for row in rows]

    def add_slate(self, slate: Slate, epoch: int) -> None:
        """Remember a slate that was shown."""
        row = (slate.id, epoch, slate.model, json.dumps(slate.articles), slate.signature)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO slate VALUES (NULL, ?, ?, ?, ?, ?)", row)

    def finished_slates(self, current_epoch: int) -> list[Slate]:
        """The slates that another one followed, or whose epoch is over, in the order they were shown."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, model, articles, signature FROM slate"
                " WHERE number < (SELECT MAX(number) FROM slate) OR epoch < ? ORDER BY number",
                (current_epoch,),
            ).fetchall()
        return [Slate(name, model, tuple(json.loads(articles)), signature) for name, model, articles, signature in rows]

    def close_slate(self, slate_id: str, report: str | None) -> None:
        """Forget a slate and, in the same breath, put its report among those to be sent."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM slate WHERE id = ?", (slate_id,))
            if report is not None:
                connection.execute("INSERT INTO report VALUES (NULL, ?)", (report,))

    def sketch_plan(self, epoch: int) -> SketchPlan | None:
        """What was decided about an epoch, if it was."""
        with self._transaction() as connection:
            row = connection.execute("SELECT * FROM sketch WHERE epoch = ?", (epoch,)).fetchone()
        return None if row is None else SketchPlan(*row)

    def plan_sketch(self, plan: SketchPlan) -> None:
        """Decide, before anything is released, in which space an epoch is sketched: it is never sketched in another."""
        row = (plan.epoch, plan.space, plan.clicks, plan.pseudonym, plan.reported)
        with self._transaction() as connection:
            connection.execute("INSERT INTO sketch VALUES (?, ?, ?, ?, ?)", row)

    def report_sketch(self, epoch: int, report: str) -> None:
        """Put an epoch's report among those to be sent, once."""
        with self._transaction() as connection:
            changed = connection.execute("UPDATE sketch SET reported = 1 WHERE epoch = ? AND reported = 0", (epoch,))
            if changed.rowcount:
                connection.execute("INSERT INTO report VALUES (NULL, ?)", (report,))

    def reports(self) -> list[tuple[int, str]]:
        """The reports that are still to be sent, by number, the oldest first."""
        with self._transaction() as connection:
            return connection.execute("SELECT number, body FROM report ORDER BY number").fetchall()

    def drop_report(self, number: int) -> None:
        """A report that was taken, or refused for good."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM report WHERE number = ?", (number,))

    def setting(self, name: str) -> str | None:
        """A kept setting."""
        with self._transaction() as connection:
            row = connection.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def keep_setting(self, name: str, value: str) -> None:
        """Keep a setting."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def forget(self) -> None:
        """Everything but the settings goes, and is overwritten in the file."""
        with self._transaction() as connection:
            for table in ("click", "slate", "sketch", "report"):
                connection.execute(f"DELETE FROM {table}")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._one_at_a_time:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _unusable(self, error: sqlite3.Error) -> DiscreetError:
        return DiscreetError(f"{self.path}: the history cannot be read or written ({error})")
