"""The background of a server: it encodes new articles, follows the database, and keeps the snapshot fresh."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.exc import SQLAlchemyError

from discreet.protocol.check import SCHEMA
from discreet.serving.catalogue_pages import CataloguePages
from discreet.serving.label_popularity import LabelPopularity
from discreet.serving.logs import log, log_exception
from discreet.serving.model import Served
from discreet.serving.server_store import Encoded, ServerStore, Waiting
from discreet.serving.snapshot import Snapshot

POLL_SECONDS = 2.0
REFRESH_SECONDS = 60.0
AGE_STEP_SECONDS = 300
"""Ages grow in such steps: base scores, and the list that devices ask for again, stay the same between them."""
TIDY_SECONDS = 3600.0
_ENCODED_TOGETHER = 4096
_FORGOTTEN = 1000
_LEVELS = 127
_MAX_BASE: float = SCHEMA["catalogue"]["properties"]["front_bases"]["items"]["maximum"]


class SumRates(Protocol):
    """Popularity, and the weights to rank with, that were learnt from sums."""

    @property
    def model(self) -> Served:
        """With the weights that rank now."""
        ...

    def read(self) -> None:
        """Take over what was learnt, here or on another server."""

    def of(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The popularity of each listed article."""
        ...


class SnapshotUpdater:
    """Owns the current snapshot. One thread makes new ones; everybody else reads `snapshot`, which is swapped whole."""

    def __init__(
        self,
        model: Served,
        store: ServerStore,
        clock: Callable[[], float] = time.time,
        *,
        diversity: float = 0.0,
        with_popularity: bool = False,
        forget_before: Callable[[], int] = lambda: 0,
        leads: Callable[[], bool] = lambda: True,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self.snapshot = Snapshot.empty(len(model.space))
        self.catalogue = CataloguePages(
            model.version, model.space.version, diversity, passed, with_popularity=with_popularity
        )
        self.ready = False
        self.rates: SumRates | None = None
        """The log rates of articles, where sums teach them; else labels tell of popularity."""
        self.scale = 1.0 / _LEVELS
        self._model, self._store, self._clock, self._passed = model, store, clock, passed
        self._forget_before, self._leads = forget_before, leads
        self._popularity = LabelPopularity(model.version, model.epsilon_label or math.inf)
        self._flushed = np.zeros(0, np.int64)
        self._refreshed, self._tidied, self._began = -np.inf, -np.inf, False
        self._wake, self._stop, self._stepping = threading.Event(), threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._work, name="updater", daemon=True)

    @property
    def model(self) -> Served:
        """With the weights that rank now."""
        return self._model if self.rates is None else self.rates.model

    def start(self) -> None:
        """Begin to work in the background."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the database now rather than in two seconds."""
        self._wake.set()

    def refresh(self) -> None:
        """Make base scores now rather than within a minute."""
        self._refreshed = -np.inf
        self.wake()

    def close(self) -> None:
        """Stop, after a last count of shows."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self._flush_shows()
        except SQLAlchemyError:
            log_exception("shows were not counted")

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except Exception:
                log_exception("the catalogue could not be brought up to date; trying again")
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()

    def step(self) -> None:
        """One round: encode what waits, take over what changed, refresh what ages.

        Of several processes one encodes, counts and tidies; the others take over what it has done.
        """
        with self._stepping:
            self._step()

    def _step(self) -> None:
        leads = self._leads()
        if leads and not self._began:
            self._store.wait_again(self._model.version)
            self._began = True
        while leads and not self._stop.is_set() and (waiting := self._store.waiting(_ENCODED_TOGETHER)):
            self._store.publish(self._model.version, self._encode(waiting))
        self._follow()
        if not leads and not len(self.snapshot) and self._store.waiting(1):
            return  # another is at work on the first catalogue
        if self._passed() - self._refreshed >= REFRESH_SECONDS:
            if self.ready and leads:  # a server that starts is ready before it has counted what has come since
                self._popularity.count(self._store, self._stop.is_set)
            self._popularity.read(self._store)
            if self.rates is not None:
                self.rates.read()
            self._flush_shows()
            self._rebase()
        if self.ready and leads and self._passed() - self._tidied >= TIDY_SECONDS:
            self._tidied = self._passed()
            self._tidy()
        self.ready = True

    def _encode(self, waiting: list[tuple[int, Waiting]]) -> list[tuple[int, Waiting, Encoded]]:
        topics = [(article.category, article.section) for _, article in waiting]
        vectors = self._model.title_vectors([article.title for _, article in waiting], topics)
        categories = [article.category for _, article in waiting]
        scores = self._model.article_scores(vectors, categories).astype(np.float32)
        fixed = self._model.fixed_scores(vectors, categories).tolist()
        coordinates = self._model.coordinates(vectors, topics)
        largest = float(np.abs(coordinates).max(initial=0.0)) or 1.0
        self.scale = float(self._store.setting(f"scale of {self._model.version}", repr(largest / _LEVELS)))
        whole = np.clip(np.rint(coordinates / self.scale), -_LEVELS, _LEVELS).astype(np.int8)
        topic = self._model.space.topics_of(vectors).tolist()
        return [
            (number, article, Encoded(topic[row], fixed[row], scores[row].tobytes(), whole[row].tobytes()))
            for row, (number, article) in enumerate(waiting)
        ]

    def _follow(self) -> None:
        """Take over what changed in the database, here or on another server."""
        old = self.snapshot
        latest = self._store.revision()
        if latest == old.revision:
            return
        if latest < old.revision:
            log("warning", "the database was put back to an earlier state; reading all of it again")
            old = self._nothing()
        rows = self._store.changes(self._model.version, old.revision)
        if not rows and old is self.snapshot:
            return
        if not self.ready:
            self.scale = float(self._store.setting(f"scale of {self._model.version}", repr(self.scale)))
        if old is self.snapshot:
            self._flush_shows()
        new = old.with_changes(rows)
        self._flushed = new.shows.copy()
        self._swap(new)
        log("info", "catalogue changed", articles=len(new), revision=new.revision)

    def _nothing(self) -> Snapshot:
        """Begin from nothing."""
        self._popularity = LabelPopularity(self._model.version, self._model.epsilon_label or math.inf)
        self.catalogue.forget()
        return Snapshot.empty(len(self._model.space))

    def _rebase(self) -> None:
        self._refreshed = self._passed()
        self._swap(self.snapshot)

    def _swap(self, snapshot: Snapshot) -> None:
        """Put a snapshot with base scores of this moment in place."""
        known = self._popularity.of(snapshot.ids) if self.rates is None else self.rates.of(snapshot)
        model = self.model
        s, now = snapshot, -(-int(self._clock()) // AGE_STEP_SECONDS) * AGE_STEP_SECONDS
        with_it, without = (
            np.clip(np.nan_to_num(base), -_MAX_BASE, _MAX_BASE)
            for base in (
                model.base_scores(s.fixed, s.published, s.first_shown, s.shows, popularity, now)
                for popularity in (known, np.zeros_like(known))
            )
        )
        self.snapshot = snapshot.with_base(with_it, np.clip(with_it - without, -_MAX_BASE, _MAX_BASE))
        self.catalogue.change(self.snapshot)

    def _tidy(self) -> None:
        """Forget reports that are old enough, and times that a clock which was ahead has left."""
        forgotten = 0
        while not self._stop.is_set() and (some := self._store.forget_reports(self._forget_before(), _FORGOTTEN)):
            forgotten += some
        if forgotten:
            log("info", "old reports were deleted", count=forgotten)
        now, first_shown = int(self._clock()), self.snapshot.first_shown
        if self._store.set_back(now):
            first_shown[first_shown > now] = now
            log("warning", "articles were shown first in the future; they count as shown first now")

    def _flush_shows(self) -> None:
        """Write down how often articles were shown since the last time."""
        snapshot = self.snapshot
        shows = snapshot.shows.copy()
        if len(shows) != len(self._flushed):
            return
        rows = np.flatnonzero(shows > self._flushed).tolist()
        self._store.add_shows([(snapshot.ids[row], int(shows[row] - self._flushed[row])) for row in rows])
        self._flushed = shows
