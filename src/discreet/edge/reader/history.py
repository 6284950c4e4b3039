"""What a device remembers: clicks, slates, views, which epochs were sketched, open articles, reports not yet sent.

One SQLite file, readable by its owner only. Every change is one transaction, so a crash leaves the old state or the
new. Nothing here leaves the device but through `Device` and the reports that it made.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.device_file import DeviceFile
from discreet.edge.reader.views import View
from discreet.protocol.check import API, limits

_VIEW_SECONDS = 8 * 86_400
"""For how long views are kept: longer than any window of which they are measured."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS click (
    number INTEGER PRIMARY KEY, time INTEGER NOT NULL, epoch INTEGER NOT NULL, article TEXT NOT NULL,
    category TEXT NOT NULL, open INTEGER NOT NULL, slate TEXT, space TEXT NOT NULL, topic INTEGER NOT NULL,
    vector BLOB NOT NULL, section TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX IF NOT EXISTS click_by_epoch ON click (epoch);
CREATE TABLE IF NOT EXISTS shown (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, slate TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS view (
    number INTEGER PRIMARY KEY, time INTEGER NOT NULL, arm TEXT NOT NULL, articles TEXT NOT NULL,
    features TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE TABLE IF NOT EXISTS plan (
    epoch INTEGER PRIMARY KEY, space TEXT NOT NULL, told INTEGER, pseudonym TEXT NOT NULL, reported INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS open_article (id TEXT PRIMARY KEY, title TEXT NOT NULL, category TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS report (number INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True)
class Click:
    """One click; `is_open` is 1 if it may be sent without noise, `slate` the name of the slate it was made in.

    `space`, `topic`, `vector` and `section` are the article's at the time, for when it is no longer published.
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
    section: str = ""


@dataclass(frozen=True)
class ShownSlate:
    """The articles that a server sent, in its order, with its name for them and its signature."""

    id: str
    model: str
    articles: tuple[str, ...]
    signature: str

    @property
    def name(self) -> str:
        """The device's own name for it, made from all that it is: a slate that differs in anything has another."""
        content = [API, self.model, self.id, self.signature, list(self.articles)]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class SketchPlan:
    """What was decided about an epoch before its sketch was made, for ever.

    Attributes:
        epoch: The epoch.
        space: The topic space of its sketch.
        told: From how many clicks it was made, as it is sent to the server; None where that is secret.
        pseudonym: Under which name it is reported.
        reported: Whether its report was made.
    """

    epoch: int
    space: str
    told: int | None
    pseudonym: str
    reported: int = 0


class History(DeviceFile):
    """The file."""

    schema: ClassVar = _SCHEMA
    contents: ClassVar = "history"

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        with self._transaction() as connection:
            if "section" not in {row[1] for row in connection.execute("PRAGMA table_info(click)")}:
                connection.execute("ALTER TABLE click ADD COLUMN section TEXT NOT NULL DEFAULT ''")
            if "features" not in {row[1] for row in connection.execute("PRAGMA table_info(view)")}:
                connection.execute("ALTER TABLE view ADD COLUMN features TEXT NOT NULL DEFAULT '[]'")

    def add_click(self, click: Click) -> None:
        """Remember a click."""
        c = click
        row = (c.time, c.epoch, c.article, c.category, c.is_open, c.slate, c.space, c.topic, c.vector, c.section)
        with self._transaction() as connection:
            connection.execute("INSERT INTO click VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def clicks(self, *, epoch: int | None = None, slate: str | None = None) -> list[Click]:
        """The clicks of an epoch or of a slate, or all, in the order they were made."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT time, epoch, article, category, open, slate, space, topic, vector, section FROM click"
                " WHERE epoch = COALESCE(?, epoch) AND (? IS NULL OR slate = ?) ORDER BY number",
                (epoch, slate, slate),
            ).fetchall()
        return [Click(*row) for row in rows]

    def articles_clicked(self, begin: int, end: int) -> list[str]:
        """The articles that were clicked from one moment up to another (seconds since 1970), each once, in order."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT article FROM click WHERE time >= ? AND time < ? GROUP BY article ORDER BY MIN(number)",
                (begin, end),
            ).fetchall()
        return [row[0] for row in rows]

    def add_view(self, time: int, arm: str, articles: Sequence[str], features: Sequence[Sequence[float]] = ()) -> None:
        """Remember what was shown, in its order, with the features of each article.

        Shown again unchanged it is the same view. Old views are forgotten.
        """
        kept = json.dumps(list(articles))
        with self._transaction() as connection:
            latest = connection.execute("SELECT arm, articles FROM view ORDER BY number DESC LIMIT 1").fetchone()
            if latest != (arm, kept):
                rows = json.dumps([list(row) for row in features])
                connection.execute("INSERT INTO view VALUES (NULL, ?, ?, ?, ?)", (time, arm, kept, rows))
            connection.execute("DELETE FROM view WHERE time < ?", (time - _VIEW_SECONDS,))

    def views(self, begin: int, end: int) -> list[View]:
        """What was shown from one moment up to another, with what was clicked in it before the end.

        A click counts in the latest view that had its article.
        """
        with self._transaction() as connection:
            views = connection.execute(
                "SELECT time, arm, articles, features FROM view WHERE time >= ? AND time < ? ORDER BY number",
                (begin, end),
            ).fetchall()
            clicks = connection.execute(
                "SELECT time, article FROM click WHERE time >= ? AND time < ? ORDER BY number", (begin, end)
            ).fetchall()
        shown = [(time, arm, json.loads(articles), json.loads(features)) for time, arm, articles, features in views]
        clicked: list[set[str]] = [set() for _ in shown]
        for time, article in clicks:
            for place in range(len(shown) - 1, -1, -1):
                if shown[place][0] <= time and article in shown[place][2]:
                    clicked[place].add(article)
                    break
        return [
            View(arm, tuple(article in mine for article in articles), tuple(map(tuple, features)))
            for (_, arm, articles, features), mine in zip(shown, clicked, strict=True)
        ]

    def last_epoch(self) -> int | None:
        """The latest epoch of which anything is remembered."""
        with self._transaction() as connection:
            (epoch,) = connection.execute(
                "SELECT MAX(epoch) FROM (SELECT epoch FROM click UNION SELECT epoch FROM shown UNION"
                " SELECT epoch FROM plan)"
            ).fetchone()
        return None if epoch is None else int(epoch)

    def epochs(self) -> set[int]:
        """The epochs in which there were clicks."""
        with self._transaction() as connection:
            return {row[0] for row in connection.execute("SELECT DISTINCT epoch FROM click")}

    def add_slate(self, slate: ShownSlate, epoch: int) -> bool:
        """Remember a slate that was shown; False for one whose name is known, which is never kept again."""
        kept = json.dumps([slate.id, slate.model, slate.articles, slate.signature])
        with self._transaction() as connection:
            row = (slate.name, epoch, kept)
            added = connection.execute("INSERT OR IGNORE INTO shown VALUES (NULL, ?, ?, ?)", row)
            return added.rowcount == 1

    def slate(self, name: str) -> ShownSlate | None:
        """The slate of this name, while it takes clicks."""
        with self._transaction() as connection:
            row = connection.execute("SELECT slate FROM shown WHERE name = ? AND slate IS NOT NULL", (name,)).fetchone()
        return None if row is None else _slate(row[0])

    def finished_slates(self, current_epoch: int) -> list[ShownSlate]:
        """The slates that another one followed, or whose epoch is not the current one, in the order they were shown."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT slate FROM shown WHERE slate IS NOT NULL AND"
                " (number < (SELECT MAX(number) FROM shown) OR epoch <> ?) ORDER BY number",
                (current_epoch,),
            ).fetchall()
        return [_slate(kept) for (kept,) in rows]

    def close_slate(self, name: str, report: str | None) -> None:
        """Forget a slate but for its name and, in the same breath, put its report among those to be sent."""
        with self._transaction() as connection:
            connection.execute("UPDATE shown SET slate = NULL WHERE name = ?", (name,))
            if report is not None:
                _add_report(connection, report)

    def plans(self) -> dict[int, SketchPlan]:
        """What was decided, by epoch."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT epoch, space, told, pseudonym, reported FROM plan").fetchall()
        return {row[0]: SketchPlan(*row) for row in rows}

    def add_plan(self, plan: SketchPlan) -> None:
        """Decide about an epoch, before anything is released."""
        row = (plan.epoch, plan.space, plan.told, plan.pseudonym, plan.reported)
        with self._transaction() as connection:
            connection.execute("INSERT INTO plan VALUES (?, ?, ?, ?, ?)", row)

    def report_sketch(self, epoch: int, report: str) -> None:
        """Put an epoch's report among those to be sent, once."""
        with self._transaction() as connection:
            changed = connection.execute("UPDATE plan SET reported = 1 WHERE epoch = ? AND reported = 0", (epoch,))
            if changed.rowcount:
                _add_report(connection, report)

    def open_articles(self, opened: Iterable[Article], categories: Iterable[str]) -> None:
        """These articles are open from now on, in addition to those that were, as far as their categories still are."""
        rows = [(article.id, article.title, article.category) for article in opened]
        with self._transaction() as connection:
            known = {row[0] for row in connection.execute("SELECT DISTINCT category FROM open_article")}
            closed = [(category,) for category in known.difference(categories)]
            connection.executemany("DELETE FROM open_article WHERE category = ?", closed)
            connection.executemany("INSERT OR REPLACE INTO open_article VALUES (?, ?, ?)", rows)

    def is_open(self, article: Article) -> bool:
        """Whether this article, exactly as it is, was there when the reader opened its category."""
        with self._transaction() as connection:
            row = connection.execute("SELECT title, category FROM open_article WHERE id = ?", (article.id,)).fetchone()
        return row is not None and (row[0], row[1]) == (article.title, article.category)

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

    def secret(self) -> str:
        """The device's own secret, 64 hexadecimal digits: drawn when first asked for, and until it forgets."""
        with self._transaction() as connection:
            fresh = secrets.token_hex(32)
            connection.execute("INSERT OR IGNORE INTO setting VALUES ('secret', ?)", (fresh,))
            found: str = connection.execute("SELECT value FROM setting WHERE name = 'secret'").fetchone()[0]
            return found

    def forget(self) -> None:
        """Everything but the settings goes, and is overwritten in the file."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM setting WHERE name = 'secret'")
            for table in ("click", "shown", "view", "plan", "report", "open_article"):
                connection.execute(f"DELETE FROM {table}")


def _slate(kept: str) -> ShownSlate:
    name, model, articles, signature = json.loads(kept)
    return ShownSlate(name, model, tuple(articles), signature)


def _add_report(connection: sqlite3.Connection, report: str) -> None:
    connection.execute("INSERT INTO report VALUES (NULL, ?)", (report,))
    connection.execute(
        "DELETE FROM report WHERE number NOT IN (SELECT number FROM report ORDER BY number DESC LIMIT ?)",
        (limits.max_reports,),
    )
