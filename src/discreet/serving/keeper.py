"""The background of a server: it encodes new articles, follows the database, and keeps the snapshot fresh."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from discreet.protocol.limits import MAX_BASE
from discreet.serving.catalogue import Catalogue
from discreet.serving.logs import log, log_exception
from discreet.serving.model import Served
from discreet.serving.popularity import Popularity
from discreet.serving.snapshot import Snapshot
from discreet.serving.store import Encoded, Store, Waiting

POLL_SECONDS = 2.0
REFRESH_SECONDS = 60.0
_ENCODED_TOGETHER = 4096
_LEVELS = 127


class Keeper:
    """Owns the current snapshot. One thread makes new ones; everybody else reads `snapshot`, which is swapped whole."""

    def __init__(
        self, model: Served, store: Store, clock: Callable[[], float] = time.time, diversity: float = 0.0
    ) -> None:
        self.snapshot = Snapshot.empty(len(model.space))
        self.catalogue = Catalogue(model.version, model.space.version, diversity)
        self.ready = False
        self.scale = 1.0 / _LEVELS
        self._model, self._store, self._clock = model, store, clock
        self._popularity = Popularity(model.version, model.epsilon_label or math.inf)
        self._flushed = np.zeros(0, np.int64)
        self._refreshed = -np.inf
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="keeper", daemon=True)

    def start(self) -> None:
        """Begin to work in the background."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the database now rather than in two seconds."""
        self._wake.set()

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
        """One round: encode what waits, take over what changed, refresh what ages."""
        if not self.ready:
            self._store.wait_again(self._model.version)
        while not self._stop.is_set() and (waiting := self._store.waiting(_ENCODED_TOGETHER)):
            self._store.publish(self._model.version, self._encode(waiting))
        self._follow()
        if self._clock() - self._refreshed >= REFRESH_SECONDS:
            self._popularity.read(self._store)
            self._flush_shows()
            self._rebase()
        self.ready = True

    def _encode(self, waiting: list[tuple[int, Waiting]]) -> list[tuple[int, Waiting, Encoded]]:
        vectors = self._model.title_vectors([article.title for _, article in waiting])
        categories = [article.category for _, article in waiting]
        scores = self._model.article_scores(vectors, categories).astype(np.float32)
        lasting = self._model.lasting_scores(vectors, categories).tolist()
        coordinates = self._model.coordinates(vectors)
        largest = float(np.abs(coordinates).max(initial=0.0)) or 1.0
        self.scale = float(self._store.setting(f"scale of {self._model.version}", repr(largest / _LEVELS)))
        whole = np.clip(np.rint(coordinates / self.scale), -_LEVELS, _LEVELS).astype(np.int8)
        topics = self._model.space.topics_of(vectors).tolist()
        return [
            (number, article, Encoded(topics[row], lasting[row], scores[row].tobytes(), whole[row].tobytes()))
            for row, (number, article) in enumerate(waiting)
        ]

    def _follow(self) -> None:
        """Take over what changed in the database, here or on another server."""
        old = self.snapshot
        if self._store.revision() <= old.revision:
            return
        rows = self._store.changes(self._model.version, old.revision)
        if not rows:
            return
        if not self.ready:
            self.scale = float(self._store.setting(f"scale of {self._model.version}", repr(self.scale)))
        self._flush_shows()
        new = old.with_changes(rows)
        self._flushed = new.shows.copy()
        self._swap(new)
        log("info", "catalogue changed", articles=len(new), revision=new.revision)

    def _rebase(self) -> None:
        self._refreshed = self._clock()
        self._swap(self.snapshot)

    def _swap(self, snapshot: Snapshot) -> None:
        """Put a snapshot with base scores of this moment in place."""
        base = self._model.base_scores(
            snapshot.lasting,
            snapshot.published,
            snapshot.first_shown,
            snapshot.shows,
            self._popularity.of(snapshot.ids),
            int(self._clock()),
        )
        self.snapshot = snapshot.with_base(np.clip(np.nan_to_num(base), -MAX_BASE, MAX_BASE))
        self.catalogue.change(self.snapshot)

    def _flush_shows(self) -> None:
        """Write down how often articles were shown since the last time."""
        snapshot = self.snapshot
        shows = snapshot.shows.copy()
        if len(shows) != len(self._flushed):
            return
        rows = np.flatnonzero(shows > self._flushed).tolist()
        self._store.add_shows([(snapshot.ids[row], int(shows[row] - self._flushed[row])) for row in rows])
        self._flushed = shows
