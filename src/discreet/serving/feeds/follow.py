"""Following feeds: each is asked for when it is time, and what is new in it goes into the catalogue."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.serving.feeds.apart import read_apart
from discreet.serving.feeds.feed_articles import Feed
from discreet.serving.feeds.feed_store import FeedState, FeedStore, feed_name
from discreet.serving.feeds.fetch import FetchError, Version, fetch, require_address, shown_feed
from discreet.serving.feeds.formats import read_feed
from discreet.serving.logs import log, log_exception
from discreet.serving.server_store import ServerStore
from discreet.version import __version__

MAX_BACKOFF = 6 * 3600
"""Seconds between two attempts where a feed goes on failing (or the interval itself, if that is more)."""
_MAX_RETRY_AFTER = 86_400
_MAX_LOGGED_PROBLEMS = 20
_MAX_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class FeedSettings:
    """Which feeds to follow, and how.

    Attributes:
        addresses: Files, or http and https addresses.
        every: Seconds between two readings.
        keep: Seconds for which an article stays listed after it has left the feed.
    """

    addresses: tuple[str, ...] = ()
    every: int = 600
    keep: int = 2 * 86_400


class Feeds:
    """Follows feeds in a thread of its own.

    Of several servers of one database, one does; if two do, they ask each feed once in an interval.
    """

    def __init__(
        self,
        store: ServerStore,
        settings: FeedSettings,
        *,
        wake: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
        reader: Callable[[bytes, str, int], Feed] = read_apart,
    ) -> None:
        self.addresses = [require_address(address) for address in settings.addresses]
        self.wake = wake
        self.leads: Callable[[], bool] = lambda: True
        """Whether this process reads them; of several, one does."""
        self._kept, self._reader = FeedStore(store), reader
        self._every, self._keep, self._clock = settings.every, settings.keep, clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="feeds", daemon=True)
        self._kept.begin([feed_name(address) for address in self.addresses], int(clock()))

    def start(self) -> None:
        """Begin to work in the background."""
        if self.addresses:
            self._thread.start()

    def close(self) -> None:
        """Stop; a fetch that is under way is not waited for long."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(1.0)

    def fill(self) -> None:
        """Read all feeds now, for a catalogue that has no article yet.

        Raises:
            DiscreetError: None of them could be read.
        """
        errors: dict[str, DiscreetError] = {}
        for address in self.addresses:
            self._kept.claim(feed_name(address), int(self._clock()), self._every)
            try:
                self.read(address)
            except DiscreetError as error:
                errors[address] = error
        if errors and len(errors) == len(self.addresses):
            raise next(iter(errors.values()))
        for address, why in errors.items():
            log("warning", "a feed could not be read", feed=shown_feed(address), why=str(why))

    def states(self) -> dict[str, FeedState]:
        """What is known of each feed."""
        return {address: self._kept.state(feed_name(address)) for address in self.addresses}

    def step(self) -> float:
        """Read the feeds whose time has come; how many seconds there are until the next one's."""
        for address in self.addresses:
            if not self._stop.is_set() and self._kept.claim(feed_name(address), int(self._clock()), self._every):
                self._try(address)
        nexts = [state.next_at for state in self.states().values()]
        return min(nexts, default=self._clock() + self._every) - self._clock()

    def read(self, address: str) -> None:
        """Fetch a feed and bring the catalogue up to date with it.

        Raises:
            DiscreetError: It could not be had or read; the catalogue stays as it is.
        """
        name, now = feed_name(address), int(self._clock())
        state = self._kept.state(name)
        fetched = fetch(address, state.version, may_be_private=state.is_private is not False)
        version, digest = state.version, state.digest
        if fetched is not None:
            self._kept.met(name, is_private=fetched.is_private)
            version, digest = fetched.version, _digest(fetched.body)
            if digest != state.digest:
                self._take(address, self._reader(fetched.body, fetched.address, now), now)
        expired = self._kept.expire(now - self._keep)
        self._kept.succeeded(name, version, digest, now)
        if expired:
            log("info", "articles that had left their feed have expired", count=expired)
            self.wake()

    def _take(self, address: str, feed: Feed, now: int) -> None:
        log_problems(address, feed)
        if not feed.articles:
            raise DiscreetError(f"{shown_feed(address)}: has no entry that can be used; the catalogue stays as it is")
        new = self._kept.take(address, feed.articles, now, whole=feed.whole)
        log("info", "feed read", feed=shown_feed(address), kind=feed.kind, entries=len(feed.articles), new=new)
        self.wake()

    def _try(self, address: str) -> None:
        try:
            self.read(address)
        except (DiscreetError, SQLAlchemyError) as error:
            name, asked = feed_name(address), getattr(error, "retry_after", None)
            failures = self._kept.state(name).failures + 1
            wait = min(self._every * 2 ** min(failures, 20), max(MAX_BACKOFF, self._every))
            wait = max(wait, min(asked or 0, _MAX_RETRY_AFTER)) if isinstance(error, FetchError) else wait
            self._kept.failed(name, failures, int(self._clock()) + wait)
            why = str(error) if isinstance(error, DiscreetError) else type(error).__name__
            log(
                "warning",
                "a feed could not be read",
                feed=shown_feed(address),
                why=why,
                failures=failures,
                again_in_seconds=wait,
            )

    def _work(self) -> None:
        while not self._stop.is_set():
            pause = _MAX_PAUSE_SECONDS
            try:
                if self.leads():
                    pause = min(pause, max(0.1, self.step()))
            except Exception:
                log_exception("feeds could not be followed; trying again")
            self._stop.wait(pause)


def log_problems(address: str, feed: Feed) -> None:
    """Log what was wrong with entries: the first of them in full, the others as a number."""
    for problem in feed.problems[:_MAX_LOGGED_PROBLEMS]:
        log(
            "warning",
            "feed entry",
            feed=shown_feed(address),
            entry=problem.where,
            why=problem.why,
            left_out=problem.left_out,
        )
    if len(feed.problems) > _MAX_LOGGED_PROBLEMS:
        log(
            "warning", "feed entries", feed=shown_feed(address), more_problems=len(feed.problems) - _MAX_LOGGED_PROBLEMS
        )


def check_feeds(addresses: Sequence[str], now: int) -> list[tuple[str, Feed]]:
    """Read feeds without keeping anything.

    Raises:
        DiscreetError: One of them cannot be had, or has no entry that can be used.
    """
    found = []
    for address in map(require_address, addresses):
        fetched = fetch(address, Version())
        if fetched is None:
            raise DiscreetError(f"{shown_feed(address)}: answers that it is unchanged, but it was never read before")
        feed = read_feed(fetched.body, fetched.address, now)
        if not feed.articles:
            why = f" ({feed.problems[0]})" if feed.problems else ""
            raise DiscreetError(f"{shown_feed(address)}: has no entry that can be used{why}")
        found.append((address, feed))
    return found


def _digest(body: bytes) -> str:
    """Names what was read, and by which version it was."""
    return hashlib.sha256(__version__.encode() + body).hexdigest()
