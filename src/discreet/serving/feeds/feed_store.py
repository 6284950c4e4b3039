"""What is kept of feeds: which version was read last, and which articles are in each. All SQL of feeds is here.

The rule by which articles expire: an article that a feed has left is listed for a while (`keep` seconds) and then
expires, unless another feed has it. It comes back if a feed has it again. One that was expired or deleted by hand stays
so, whatever a feed says.

The rule by which an article in several feeds gets its title, link and all else: one feed decides, and the others only
say that they have it. It is the first feed, in the operator's order, whose host is the link's host; if there is none,
the feed that had the article first. It decides also after the article has left it. What was put in by hand is changed
by hand alone, and does not expire.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, Row, case, func, or_, select, update

from discreet.serving.api_messages import NewArticle
from discreet.serving.article_names import name_by_hand, resolve
from discreet.serving.canonical_address import canonical, shortened
from discreet.serving.database_tables import articles, feed_articles, feeds, pending
from discreet.serving.feeds.fetch import Version, is_url
from discreet.serving.server_store import EXPIRED, LISTED, ServerStore, Waiting, parts_of

_BY_HAND = ""
"""Stands for a feed that no article leaves."""


@dataclass(frozen=True)
class FeedState:
    """What is known of a feed.

    Attributes:
        version: Which version was read last.
        digest: Of its bytes.
        next_at: When it is to be asked for again.
        read_at: When it was read last, or was found unchanged; 0 for never.
        failures: How often it failed since.
        is_private: Whether its server was in a private network when it was fetched first; None before.
    """

    version: Version
    digest: str
    next_at: int
    read_at: int
    failures: int
    is_private: bool | None


def feed_name(address: str) -> str:
    """The key of a feed."""
    return hashlib.sha256(address.encode()).hexdigest()[:32]


def digest_of(article: NewArticle) -> str:
    """Names an article's content."""
    return hashlib.sha256(article.model_dump_json(exclude={"id"}).encode()).hexdigest()[:32]


class FeedStore:
    """The feeds of a served catalogue."""

    def __init__(self, store: ServerStore) -> None:
        self._store, self._engine = store, store.engine
        self._order = {_BY_HAND: -1}

    def begin(self, names: Sequence[str], now: int) -> None:
        """Make sure that these feeds are known. Articles of feeds that are not named any more have left them now.

        Then all feeds are read anew, because others may decide now.
        """
        self._order |= {name: place for place, name in enumerate(names)}
        unread = {"etag": "", "modified": "", "digest": ""}
        with self._engine.begin() as connection:
            for name in names:
                new = {**unread, "next_at": 0, "read_at": 0, "failures": 0}
                connection.execute(self._store.insert(feeds).values(name=name, **new).on_conflict_do_nothing())
            gone = feed_articles.c.feed.not_in(self._order) & feed_articles.c.left_at.is_(None)
            if connection.execute(update(feed_articles).where(gone).values(left_at=now)).rowcount:
                connection.execute(update(feeds).values(**unread))

    def state(self, name: str) -> FeedState:
        """What is known of a feed."""
        with self._engine.connect() as connection:
            row = connection.execute(select(feeds).where(feeds.c.name == name)).one()
        return FeedState(
            Version(row.etag, row.modified), row.digest, row.next_at, row.read_at, row.failures, row.private
        )

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

    def met(self, name: str, *, is_private: bool) -> None:
        """Note where a feed's server is, when it was fetched first."""
        first = (feeds.c.name == name) & feeds.c.private.is_(None)
        with self._engine.begin() as connection:
            connection.execute(update(feeds).where(first).values(private=is_private))

    def put_by_hand(self, new: Sequence[NewArticle], now: int) -> None:
        """Let articles wait to be listed that somebody puts in, without a feed."""
        ids = name_by_hand(self._store, ((one.id, one.url) for one in new))
        self._store.put_articles(waiting(one, article, now) for article, one in zip(ids, new, strict=True))
        rows = {article: _row(_BY_HAND, article, one, 0, now) for article, one in zip(ids, new, strict=True)}
        with self._engine.begin() as connection:
            self._write(connection, list(rows.values()))

    def take(self, address: str, found: Sequence[NewArticle], now: int, *, whole: bool) -> int:
        """Bring the catalogue up to date with a feed; how many articles are new, changed, or back.

        Of a feed that was read to its end, the articles that are not found have left. Where a guid has another address
        than before, the address was corrected, and the article at the old one expires at once.
        """
        name = feed_name(address)
        there = self._identified(name, found)
        guids = Counter(one.id for one in found)
        now_at = {one.id: article for article, one in there.items() if guids[one.id] == 1}
        with self._engine.connect() as connection:
            rows = self._rows(connection, name, list(there))
            down, expired = self._down(connection, list(there))
        mine = {row.article: row for row in rows if row.feed == name}
        new = {
            article: _row(
                name, article, one, _nearness(address, one.url), mine[article].since if article in mine else now
            )
            for article, one in there.items()
        }
        decided = self._decided_elsewhere(name, new, rows)
        for article in decided:
            new[article]["digest"] = ""
        changed = [article for article, row in new.items() if article not in mine or _differs(mine[article], row)]
        ours = [
            article
            for article, row in new.items()
            if article not in decided
            and article not in down
            and (article in expired or article not in mine or mine[article].digest != row["digest"])
        ]
        back = [article for article in decided if article in expired]
        self._store.put_articles(waiting(there[article], article, now) for article in ours)
        self._store.list_again(back)
        gone = [row for row in mine.values() if row.article not in there and row.left_at is None and whole]
        with self._engine.begin() as connection:
            self._write(connection, [new[article] for article in changed])
            self._decides(connection, name, ours)
            for part in parts_of([*ours, *back]):
                here = feed_articles.c.article.in_(part)
                connection.execute(update(feed_articles).where(here).values(expired=False))
            for left_at, left in (
                (now, [row.article for row in gone if row.guid not in now_at]),
                (0, [row.article for row in gone if row.guid in now_at]),
            ):
                for part in parts_of(left):
                    which = (feed_articles.c.feed == name) & feed_articles.c.article.in_(part)
                    connection.execute(update(feed_articles).where(which).values(left_at=left_at))
        return len(ours) + len(back)

    def expire(self, before: int) -> int:
        """Expire articles that had left every feed at a moment; how many there were."""
        article, left = feed_articles.c.article, feed_articles.c.left_at
        there = func.sum(case((left.is_(None), 1), else_=0))
        listed = select(articles.c.id).where(articles.c.state == LISTED).union(select(pending.c.id))
        gone = select(article).where(article.in_(listed)).group_by(article)
        gone = gone.having((there == 0) & (func.max(left) <= before))
        with self._engine.connect() as connection:
            ids = list(connection.execute(gone).scalars())
        for one in ids:
            self._store.take_down(one, EXPIRED)
            with self._engine.begin() as connection:
                connection.execute(update(feed_articles).where(article == one).values(expired=True))
        return len(ids)

    def _identified(self, name: str, found: Sequence[NewArticle]) -> dict[str, NewArticle]:
        """Articles of a feed by their ids; of two with one address the first."""
        ids = resolve(self._store, (one.url for one in found if one.url))
        there: dict[str, NewArticle] = {}
        for one in found:
            there.setdefault(ids[one.url] if one.url else shortened(f"{name[:12]}:{one.id}"), one)
        return there

    def _decided_elsewhere(self, name: str, new: Mapping[str, Any], rows: Iterable[Row[Any]]) -> set[str]:
        """Those articles of a feed of which title and link come from another."""
        best = {article: self._rank(**row) for article, row in new.items()}
        others = [row for row in rows if row.feed in self._order and row.feed != name]
        return {row.article for row in others if self._rank(row.feed, row.nearness, row.since) < best[row.article]}

    def _rank(self, feed: str, nearness: int, since: int, **_: Any) -> tuple[bool, int, int, int]:
        """Of two feeds with an article, the one with the lower rank decides."""
        return (feed != _BY_HAND, -nearness, 0 if nearness else since, self._order[feed])

    def _rows(self, connection: Connection, name: str, found: Sequence[str]) -> list[Row[Any]]:
        """What is known of a feed, and of the found articles in other feeds."""
        rows = list(connection.execute(select(feed_articles).where(feed_articles.c.feed == name)))
        for part in parts_of(found):
            others = (feed_articles.c.feed != name) & feed_articles.c.article.in_(part)
            rows += connection.execute(select(feed_articles).where(others))
        return rows

    def _down(self, connection: Connection, found: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of some articles that were taken down by hand, and those that have expired after leaving all feeds."""
        down: set[str] = set()
        expired: set[str] = set()
        for part in parts_of(found):
            which = articles.c.id.in_(part) & (articles.c.state != LISTED)
            down |= set(connection.execute(select(articles.c.id).where(which)).scalars())
            left = feed_articles.c.article.in_(part) & feed_articles.c.expired
            expired |= set(connection.execute(select(feed_articles.c.article).where(left)).scalars())
        return down - expired, expired

    def _write(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        add = self._store.insert(feed_articles)
        fields = {column: add.excluded[column] for column in ("guid", "digest", "left_at")}
        upsert = add.on_conflict_do_update(index_elements=["feed", "article"], set_=fields)
        for part in parts_of(rows):
            connection.execute(upsert, list(part))

    def _decides(self, connection: Connection, name: str, decided: Sequence[str]) -> None:
        """Note that other feeds' versions of these articles are not in the catalogue."""
        for part in parts_of(decided):
            others = feed_articles.c.article.in_(part) & (feed_articles.c.feed != name)
            connection.execute(update(feed_articles).where(others).values(digest=""))


def waiting(new: NewArticle, article: str, now: int) -> Waiting:
    """A new article as it waits to be encoded, by its id."""
    published = -1 if new.published is None else new.published
    fields = new.model_dump(exclude={"id", "published"})
    return Waiting(article, **fields, published=published, first_shown=now)


def _row(feed: str, article: str, one: NewArticle, nearness: int, since: int) -> dict[str, Any]:
    known = {"feed": feed, "article": article, "guid": one.id, "digest": digest_of(one)}
    return {**known, "nearness": nearness, "since": since, "left_at": None, "expired": False}


def _differs(row: Row[Any], new: Mapping[str, Any]) -> bool:
    return bool(row.digest != new["digest"] or row.guid != new["guid"] or row.left_at is not None)


def _nearness(address: str, link: str) -> int:
    """How near a feed is to a link: 2 at the same host and port, 1 at the same host, else 0."""
    if not is_url(address):
        return 0
    try:
        of_feed, of_link = (urlsplit(canonical(one)) for one in (address, link))
    except ValueError:
        return 0
    return (of_feed.hostname == of_link.hostname) + (of_feed.netloc == of_link.netloc)
