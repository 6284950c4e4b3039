"""What is kept of feeds: which version was read last, and which articles are in each. All SQL of feeds is here.

The rule by which articles expire: an article that a feed has left is listed for a while (`keep` seconds) and then
expires, unless another feed has it. It comes back if a feed has it again. One that was expired or deleted by hand stays
so, whatever a feed says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, case, func, or_, select, update

from discreet.serving.api_messages import NewArticle
from discreet.serving.database_tables import articles, feed_articles, feeds
from discreet.serving.feeds.fetch import Version
from discreet.serving.server_store import EXPIRED, LISTED, ServerStore

_AT_ONCE = 500


@dataclass(frozen=True)
class FeedState:
    """What is known of a feed.

    Attributes:
        version: Which version was read last.
        digest: Of its bytes.
        next_at: When it is to be asked for again.
        read_at: When it was read last, or was found unchanged; 0 for never.
        failures: How often it failed since.
    """

    version: Version
    digest: str
    next_at: int
    read_at: int
    failures: int


def feed_name(address: str) -> str:
    """The key of a feed."""
    return hashlib.sha256(address.encode()).hexdigest()[:32]


def digest_of(article: NewArticle) -> str:
    """Names an article's content."""
    return hashlib.sha256(article.model_dump_json().encode()).hexdigest()[:32]


class FeedStore:
    """The feeds of a served catalogue."""

    def __init__(self, store: ServerStore) -> None:
        self._store, self._engine = store, store.engine

    def begin(self, names: Sequence[str], now: int) -> None:
        """Make sure that these feeds are known. Articles of feeds that are not named any more have left them now."""
        with self._engine.begin() as connection:
            for name in names:
                new = {"etag": "", "modified": "", "digest": "", "next_at": 0, "read_at": 0, "failures": 0}
                connection.execute(self._store.insert(feeds).values(name=name, **new).on_conflict_do_nothing())
            gone = feed_articles.c.feed.not_in(names) & feed_articles.c.left_at.is_(None)
            connection.execute(update(feed_articles).where(gone).values(left_at=now))

    def state(self, name: str) -> FeedState:
        """What is known of a feed."""
        with self._engine.connect() as connection:
            row = connection.execute(select(feeds).where(feeds.c.name == name)).one()
        return FeedState(Version(row.etag, row.modified), row.digest, row.next_at, row.read_at, row.failures)

    def claim(self, name: str, now: int, every: int) -> bool:
        """Whether it is time to ask for a feed, and no other server does. A shorter interval than before counts now."""
        due = or_(feeds.c.next_at <= now, (feeds.c.failures == 0) & (feeds.c.next_at > now + every))
        with self._engine.begin() as connection:
            mine = update(feeds).where((feeds.c.name == name) & due).values(next_at=now + every)
            return bool(connection.execute(mine).rowcount)

    def succeeded(self, name: str, version: Version, digest: str, now: int) -> None:
        """Note that a feed was read."""
        values = {"etag": version.etag, "modified": version.modified, "digest": digest, "read_at": now, "failures": 0}
        with self._engine.begin() as connection:
            connection.execute(update(feeds).where(feeds.c.name == name).values(**values))

    def failed(self, name: str, failures: int, next_at: int) -> None:
        """Note that a feed failed, and when to ask again."""
        with self._engine.begin() as connection:
            connection.execute(update(feeds).where(feeds.c.name == name).values(failures=failures, next_at=next_at))

    def new_ones(self, name: str, found: Iterable[NewArticle]) -> list[NewArticle]:
        """Those articles of a feed that are new, have changed, or had expired; none that was taken down by hand."""
        with self._engine.connect() as connection:
            known = {row.article: row for row in self._rows(connection, name)}
            expired = set(connection.execute(select(feed_articles.c.article).where(feed_articles.c.expired)).scalars())
            down = set(connection.execute(select(articles.c.id).where(articles.c.state != LISTED)).scalars())
        return [
            one
            for one in found
            if one.id in expired
            or (one.id not in down and (one.id not in known or known[one.id].digest != digest_of(one)))
        ]

    def take_over(self, name: str, found: Sequence[NewArticle], now: int, *, whole: bool) -> None:
        """Note which articles a feed has; of one that was read to its end, the others have left."""
        there = {one.id: digest_of(one) for one in found}
        with self._engine.begin() as connection:
            rows = {row.article: row for row in self._rows(connection, name)}
            changed = [
                {"feed": name, "article": article, "digest": digest, "left_at": None, "expired": False}
                for article, digest in there.items()
                if article not in rows or _differs(rows[article], digest)
            ]
            add = self._store.insert(feed_articles)
            fields = {column: add.excluded[column] for column in ("digest", "left_at", "expired")}
            upsert = add.on_conflict_do_update(index_elements=["feed", "article"], set_=fields)
            for part in _parts(changed):
                connection.execute(upsert, part)
            for ids in _parts(list(there)):
                back = feed_articles.c.article.in_(ids) & feed_articles.c.expired
                connection.execute(update(feed_articles).where(back).values(expired=False))
            gone = [article for article, row in rows.items() if article not in there and row.left_at is None]
            for ids in _parts(gone if whole else []):
                mine = (feed_articles.c.feed == name) & feed_articles.c.article.in_(ids)
                connection.execute(update(feed_articles).where(mine).values(left_at=now))

    def expire(self, before: int) -> int:
        """Expire articles that had left every feed at a moment; how many there were."""
        article, left = feed_articles.c.article, feed_articles.c.left_at
        there = func.sum(case((left.is_(None), 1), else_=0))
        done = func.sum(case((feed_articles.c.expired, 1), else_=0))
        gone = select(article).group_by(article).having((there == 0) & (done == 0) & (func.max(left) <= before))
        with self._engine.connect() as connection:
            ids = list(connection.execute(gone).scalars())
        for one in ids:
            self._store.take_down(one, EXPIRED)
            with self._engine.begin() as connection:
                connection.execute(update(feed_articles).where(article == one).values(expired=True))
        return len(ids)

    def _rows(self, connection: Connection, name: str) -> Sequence[Row[Any]]:
        return connection.execute(select(feed_articles).where(feed_articles.c.feed == name)).all()


def _differs(row: Row[Any], digest: str) -> bool:
    return bool(row.digest != digest or row.left_at is not None or row.expired)


def _parts(rows: list[Any]) -> Iterable[list[Any]]:
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))
