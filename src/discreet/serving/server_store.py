"""What the server keeps: settings, the catalogue with its waiting articles, and reports. All SQL is here."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from discreet.errors import DiscreetError
from discreet.protocol.check import limits
from discreet.serving.database_tables import articles, counters, feed_articles, pending, reports, settings, sums

T = TypeVar("T")

_TRIAL = 16 * 1024
_AT_ONCE = 500
WAITING, LISTED, EXPIRED, DELETED = "waiting", "listed", "expired", "deleted"
_SKEW = 3600
_SUMS = ("weight", "value")
_TEXTS = ("title", "abstract", "category", "url", "image", "section")


@dataclass(frozen=True)
class Waiting:
    """An article that waits to be encoded."""

    id: str
    title: str
    abstract: str
    category: str
    published: int
    first_shown: int
    shows: int = 0
    url: str = ""
    image: str = ""
    section: str = ""


@dataclass(frozen=True)
class Encoded:
    """What encoding adds to an article."""

    topic: int
    fixed_score: float
    scores: bytes
    coordinates: bytes


@dataclass(frozen=True)
class KeptReport:
    """A report as it is kept: nothing but what the device released, and no time but epochs.

    Attributes:
        epoch: That a sketch is of.
        received: In which the report came.
    """

    id: str
    kind: str
    digest: bytes
    version: str
    epoch: int
    received: int
    release: bytes
    device: str | None = None
    clicks: int | None = None
    slate: str | None = None
    articles: str | None = None


class Outcome(Enum):
    """What became of a report."""

    KEPT = auto()
    KNOWN = auto()
    OTHER_BODY = auto()
    SECOND_SKETCH = auto()
    SECOND_LABEL = auto()


class ServerStore:
    """The database of a served run; `insert` is SQL's insert in its dialect."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.insert: Any = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
        with engine.begin() as connection:
            for name in ("revision", "reports"):
                connection.execute(self.insert(counters).values(name=name, value=0).on_conflict_do_nothing())

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def try_to_write(self) -> None:
        """Write something that needs room, and take it away again, to see that the database takes what is written."""
        name = f"trial {secrets.token_hex(8)}"
        with self.engine.begin() as connection:
            connection.execute(insert(settings).values(name=name, value="." * _TRIAL))
            connection.execute(delete(settings).where(settings.c.name == name))

    def setting(self, name: str, default: str) -> str:
        """A setting; the first value that was ever given stays."""
        with self.engine.begin() as connection:
            return self._setting(connection, name, default)

    def known_setting(self, name: str) -> str | None:
        """A setting, if it was ever given."""
        with self.engine.connect() as connection:
            return connection.execute(select(settings.c.value).where(settings.c.name == name)).scalar()

    def signing_key(self) -> bytes:
        """The key that slates are signed with, made when first asked for."""
        return base64.b64decode(self.setting("signing key", base64.b64encode(secrets.token_bytes(32)).decode()))

    def is_empty(self) -> bool:
        """Whether no article was ever put in."""
        with self.engine.connect() as connection:
            return all(connection.execute(select(table.c.id).limit(1)).first() is None for table in (articles, pending))

    # The catalogue

    def require_room(self) -> None:
        """Refuse a catalogue that is larger than devices take."""
        with self.engine.connect() as connection:
            _require_room(connection)

    def put_articles(self, new: Iterable[Waiting]) -> None:
        """Let articles wait to be encoded; one that waits already is replaced. All of them or, without room, none."""
        rows = [vars(article) for article in new]
        with self.engine.begin() as connection:
            for part in parts_of(rows):
                ids = [row["id"] for row in part]
                connection.execute(delete(pending).where(pending.c.id.in_(ids)))
                connection.execute(insert(pending), list({row["id"]: row for row in part}.values()))
            _require_room(connection)

    def titles(self, limit: int) -> list[tuple[str, str, str]]:
        """Title, category and section of articles that wait or are listed, the first first."""
        listed, waiting = (select(table.c.title, table.c.category, table.c.section) for table in (articles, pending))
        listed = listed.where(articles.c.state == LISTED).order_by(articles.c.revision).limit(limit)
        with self.engine.connect() as connection:
            rows = connection.execute(listed).all(), connection.execute(waiting.order_by(pending.c.number).limit(limit))
            return [(row.title, row.category, row.section) for some in rows for row in some][:limit]

    def listing(self, state: str | None, after: str, limit: int) -> list[Row[Any]]:
        """Articles in a state, or in any, whose id comes after this one: id, state, title, url, published.

        One that waits counts as waiting, also where an earlier version of it is listed.
        """
        names = ("title", "url", "published")
        waiting = select(pending.c.id, literal(WAITING).label("state"), *(pending.c[name] for name in names))
        known = select(articles.c.id, articles.c.state, *(articles.c[name] for name in names))
        both = union_all(waiting, known.where(articles.c.id.not_in(select(pending.c.id)))).subquery()
        query = select(both).where(both.c.id > after).order_by(both.c.id).limit(limit)
        with self.engine.connect() as connection:
            return list(connection.execute(query if state is None else query.where(both.c.state == state)))

    def wait_again(self, model: str) -> None:
        """Let articles that another model has encoded wait for this one."""
        with self.engine.begin() as connection:
            _wait_again(connection, (articles.c.state == LISTED) & (articles.c.model != model))

    def list_again(self, ids: Sequence[str]) -> None:
        """Let articles that have expired wait to be listed again as they were."""
        with self.engine.begin() as connection:
            for part in parts_of(ids):
                _wait_again(connection, articles.c.id.in_(part))
            _require_room(connection)

    def waiting(self, limit: int) -> list[tuple[int, Waiting]]:
        """Articles that wait, the longest first, each with its number."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(pending).order_by(pending.c.number).limit(limit)).all()
        return [(number, Waiting(*fields)) for number, *fields in rows]

    def publish(self, model: str, encoded: Sequence[tuple[int, Waiting, Encoded]]) -> None:
        """List articles that have been encoded. One that was replaced or deleted in the meantime is left alone."""
        with self.engine.begin() as connection:
            revision = self._advance(connection, "revision", len(encoded)) - len(encoded)
            numbers = [number for number, _, _ in encoded]
            waiting = pending.c.number.in_(numbers)
            still = set(connection.execute(select(pending.c.number).where(waiting)).scalars())
            rows = [
                {**vars(article), **vars(more), "state": LISTED, "model": model, "revision": revision + place}
                for place, (number, article, more) in enumerate(encoded, start=1)
                if number in still
            ]
            if rows:
                upsert = self.insert(articles)
                kept = ("id", "first_shown", "shows")
                changed = {c.key: upsert.excluded[c.key] for c in articles.c if c.key not in kept}
                connection.execute(upsert.on_conflict_do_update(index_elements=["id"], set_=changed), rows)
            connection.execute(delete(pending).where(waiting))

    def take_down(self, article: str, state: str) -> bool:
        """Expire or delete an article; a deleted one keeps nothing but its id. False if it is not known.

        It stays down, whatever a feed says, until it is put in by hand.
        """
        blank = dict.fromkeys(_TEXTS, "") if state == DELETED else {}
        with self.engine.begin() as connection:
            revision = self._advance(connection, "revision", 1)
            waited = connection.execute(delete(pending).where(pending.c.id == article)).rowcount
            mine = (articles.c.id == article) & (articles.c.state != DELETED)
            listed = connection.execute(update(articles).where(mine).values(state=state, revision=revision, **blank))
            left = (feed_articles.c.article == article) & feed_articles.c.expired
            connection.execute(update(feed_articles).where(left).values(expired=False))
            if state == DELETED:
                connection.execute(delete(sums).where(sums.c.article == article))
            return bool(waited or listed.rowcount)

    def revision(self) -> int:
        """The number of the latest change."""
        with self.engine.connect() as connection:
            return int(connection.execute(select(counters.c.value).where(counters.c.name == "revision")).scalar_one())

    def changes(self, model: str, after: int) -> list[Row[Any]]:
        """Articles that were listed or taken down after a revision, in order."""
        known = (articles.c.model == model) | (articles.c.state != LISTED)
        query = select(articles).where((articles.c.revision > after) & known).order_by(articles.c.revision)
        with self.engine.connect() as connection:
            return list(connection.execute(query))

    def add_shows(self, shows: Sequence[tuple[str, int]]) -> None:
        """Count how often articles were in an answer."""
        if shows:
            more = update(articles).where(articles.c.id == bindparam("which"))
            more = more.values(shows=articles.c.shows + bindparam("times"))
            with self.engine.begin() as connection:
                connection.execute(more, [{"which": article, "times": times} for article, times in shows])

    def set_back(self, now: int) -> int:
        """Let no article be first shown in the future; how many were."""
        with self.engine.begin() as connection:
            return connection.execute(
                update(articles).where(articles.c.first_shown > now + _SKEW).values(first_shown=now)
            ).rowcount

    def count_articles(self) -> dict[str, int]:
        """How many articles are in each state."""
        with self.engine.connect() as connection:
            waiting = int(connection.execute(select(func.count()).select_from(pending)).scalar_one())
            rows = connection.execute(select(articles.c.state, func.count()).group_by(articles.c.state)).all()
        return {**{str(state): int(count) for state, count in rows}, WAITING: waiting}

    # Reports

    def count_reports(self) -> dict[str, int]:
        """How many reports of each kind are kept."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(reports.c.kind, func.count()).group_by(reports.c.kind)).all()
        return {str(kind): int(count) for kind, count in rows}

    def keep_reports(self, batch: Sequence[KeptReport]) -> list[Outcome]:
        """Keep a batch in one transaction; when this returns it is on the disk.

        Writers of several servers wait for each other, so that numbers are committed in their order: whoever has read
        up to a number has missed none below it.
        """
        with self.engine.begin() as connection:
            self._advance(connection, "reports", len(batch))
            return [self._keep_report(connection, report) for report in batch]

    def labels(self, version: str, after: int, limit: int) -> list[Row[Any]]:
        """Label reports of a model, later than number `after`: number, articles, release."""
        mine = (reports.c.kind == "label") & (reports.c.version == version) & (reports.c.number > after)
        query = select(reports.c.number, reports.c.articles, reports.c.release).where(mine)
        with self.engine.connect() as connection:
            return list(connection.execute(query.order_by(reports.c.number).limit(limit)))

    def counted(self, version: str) -> int:
        """The number up to which a model's label reports are in its sums."""
        with self.engine.connect() as connection:
            found = connection.execute(select(counters.c.value).where(counters.c.name == _counted(version))).scalar()
            return int(found or 0)

    def add_sums(self, version: str, after: int, until: int, more: Mapping[str, Sequence[float]]) -> bool:
        """Add up the label reports after one number until another; False if another server was first."""
        name = _counted(version)
        with self.engine.begin() as connection:
            connection.execute(self.insert(counters).values(name=name, value=0).on_conflict_do_nothing())
            mine = (counters.c.name == name) & (counters.c.value == after)
            if not connection.execute(update(counters).where(mine).values(value=until)).rowcount:
                return False
            rows = [
                {"version": version, "article": article, "changed": until, **dict(zip(_SUMS, values, strict=True))}
                for article, values in more.items()
            ]
            add = self.insert(sums)
            changed = {column: sums.c[column] + add.excluded[column] for column in _SUMS}
            changed["changed"] = add.excluded.changed
            connection.execute(add.on_conflict_do_update(index_elements=["version", "article"], set_=changed), rows)
            return True

    def sums(self, version: str, after: int) -> list[Row[Any]]:
        """The sums that have changed since those up to a number: article, weight, value, changed."""
        mine = (sums.c.version == version) & (sums.c.changed > after)
        query = select(sums.c.article, sums.c.weight, sums.c.value, sums.c.changed).where(mine)
        with self.engine.connect() as connection:
            return list(connection.execute(query))

    def forget_reports(self, before: int, limit: int) -> int:
        """Delete at most so many reports that came before an epoch; how many there were. What was learnt stays."""
        old = select(reports.c.number).where(reports.c.received < before).limit(limit)
        with self.engine.begin() as connection:
            return connection.execute(delete(reports).where(reports.c.number.in_(old))).rowcount

    def _keep_report(self, connection: Connection, report: KeptReport) -> Outcome:
        add = self.insert(reports).values(**vars(report)).on_conflict_do_nothing().returning(reports.c.number)
        if connection.execute(add).first() is not None:
            return Outcome.KEPT
        known = connection.execute(select(reports.c.digest).where(reports.c.id == report.id)).scalar()
        if known is not None:
            return Outcome.KNOWN if bytes(known) == report.digest else Outcome.OTHER_BODY
        return Outcome.SECOND_LABEL if report.kind == "label" else Outcome.SECOND_SKETCH

    def _advance(self, connection: Connection, counter: str, by: int) -> int:
        """Count on; this comes first in a transaction, so that writers wait for each other here."""
        more = update(counters).where(counters.c.name == counter).values(value=counters.c.value + by)
        return int(connection.execute(more.returning(counters.c.value)).scalar_one())

    def _setting(self, connection: Connection, name: str, default: str) -> str:
        connection.execute(self.insert(settings).values(name=name, value=default).on_conflict_do_nothing())
        return str(connection.execute(select(settings.c.value).where(settings.c.name == name)).scalar_one())


def parts_of(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """Rows, as many at a time as a statement takes."""
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))


def _wait_again(connection: Connection, which: ColumnElement[bool]) -> None:
    columns = [articles.c[name] for name in Waiting.__dataclass_fields__]
    rows = connection.execute(select(*columns).where(which & articles.c.id.not_in(select(pending.c.id)))).all()
    if rows:
        connection.execute(insert(pending), [dict(row._mapping) for row in rows])


def _counted(version: str) -> str:
    return f"labels counted for {version}"


def _require_room(connection: Connection) -> None:
    listed = articles.c.state == LISTED
    new = pending.c.id.not_in(select(articles.c.id).where(listed))
    counted = [
        select(func.count()).select_from(table).where(which) for table, which in ((articles, listed), (pending, new))
    ]
    count = sum(connection.execute(query).scalar_one() for query in counted)
    if count > limits.max_articles:
        raise DiscreetError(
            f"the catalogue would have {count:,} articles; devices take at most {limits.max_articles:,}: expire some"
        )
