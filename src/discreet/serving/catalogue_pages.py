"""The catalogue as it is sent: pages that never change, named by their content, and a list of them for everybody."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.serving.ranker import POOL, diverse_order
from discreet.serving.snapshot import Snapshot
from discreet.serving.topk import best

FRONT = 60
"""How many articles come with the list of pages, so that there is something to show at once."""
KEPT_SECONDS = 600.0
"""How long a page can still be had after it has left the catalogue, for devices that are fetching."""
_MAX_PAGE, _MIN_PAGES, _GROWTH = 512, 8, 8
_GZIP = 6


@dataclass(frozen=True)
class Sent:
    """An answer that is the same for everybody, compressed once. Its digest is the SHA-256 of what a device sees."""

    compressed: bytes
    digest: str

    @classmethod
    def of(cls, body: bytes) -> Sent:
        """Of the bytes that a device sees."""
        return cls(gzip.compress(body, _GZIP, mtime=0), hashlib.sha256(body).hexdigest())

    def plain(self) -> bytes:
        """The bytes for who cannot decompress them."""
        return gzip.decompress(self.compressed)


@dataclass(frozen=True)
class CataloguePage:
    """Some articles under the SHA-256 of their bytes."""

    name: str
    articles: int
    sent: Sent


class CataloguePages:
    """Makes the pages of one snapshot after the other; pages whose articles stay are not made again."""

    def __init__(
        self,
        model: str,
        space: str,
        diversity: float,
        passed: Callable[[], float] = time.monotonic,
        *,
        with_popularity: bool = False,
    ) -> None:
        self.listing = Sent.of(b"{}")
        self._about = {"model": model, "space": space}
        self._diversity, self._passed = diversity, passed
        self.with_popularity = with_popularity
        """Whether devices are told which part of a base score is popularity: arms weigh it, and weights are learnt."""
        self._made: dict[bytes, CataloguePage] = {}
        self._pages: dict[str, CataloguePage] = {}
        self._left: dict[str, float] = {}

    @property
    def bytes_of_one(self) -> float:
        """Compressed bytes of a mean article in its page."""
        pages = self._made.values()
        return sum(len(page.sent.compressed) for page in pages) / max(1, sum(page.articles for page in pages))

    def page(self, name: str) -> Sent | None:
        """A page of the catalogue now, or a moment ago."""
        found = self._pages.get(name)
        return None if found is None else found.sent

    def forget(self) -> None:
        """Make all pages again: revisions may name other articles now."""
        self._made = {}

    def change(self, snapshot: Snapshot) -> None:
        """Take a snapshot's place."""
        made: dict[bytes, CataloguePage] = {}
        for first, last in cuts(snapshot.revisions, snapshot.revision):
            key = snapshot.revisions[first:last].tobytes()  # a revision names one article with one content
            made[key] = self._made.get(key) or _page(snapshot.entries[first:last])
        self._made = made
        self._pages = {**self._still_kept({page.name for page in made.values()}), **{p.name: p for p in made.values()}}
        self.listing = self._list(snapshot, list(made.values()))

    def _still_kept(self, current: set[str]) -> dict[str, CataloguePage]:
        """Pages that have left the catalogue not long ago."""
        now = self._passed()
        self._left = {name: self._left.get(name, now) for name in self._pages if name not in current}
        self._left = {name: left for name, left in self._left.items() if now - left < KEPT_SECONDS}
        return {name: self._pages[name] for name in self._left}

    def _list(self, snapshot: Snapshot, pages: list[CataloguePage]) -> Sent:
        rows = front(snapshot, FRONT, self._diversity).tolist()
        fields: dict[str, Any] = {
            **self._about,
            "pages": [{"name": page.name, "articles": page.articles} for page in pages],
            "bases": base64.b64encode(snapshot.base.astype("<f4").tobytes()).decode(),
            "front_bases": [float(snapshot.base[row]) for row in rows],
        }
        if self.with_popularity:  # every device gets the same
            fields["popularity"] = base64.b64encode(snapshot.popularity.astype("<f4").tobytes()).decode()
            fields["front_popularity"] = [float(snapshot.popularity[row]) for row in rows]
        head = json.dumps(fields, allow_nan=False, separators=(",", ":")).encode()
        articles = b",".join(b"{%s}" % snapshot.entries[row] for row in rows)
        return Sent.of(b'%s,"front":[%s]}' % (head[:-1], articles))


def cuts(revisions: NDArray[np.int64], latest: int) -> Iterator[tuple[int, int]]:
    """First and last row of each page: the same on every server of one database.

    A page holds an aligned block of 8, 64, 512, … revisions that are all in the past: the largest with at most 512
    articles; the last few are a page too. So a new article changes a small page only, and one that is taken down
    changes its own page and none after it.
    """
    place, first = 0, 0
    while place < latest:
        size = latest - place
        last = len(revisions)
        if size >= _MIN_PAGES:
            size, last = _MIN_PAGES, int(np.searchsorted(revisions, place + _MIN_PAGES, side="right"))
            while (larger := size * _GROWTH) and place % larger == 0 and place + larger <= latest:
                end = int(np.searchsorted(revisions, place + larger, side="right"))
                if end - first > _MAX_PAGE:
                    break
                size, last = larger, end
        if last > first:
            yield first, last
        place, first = place + size, last


def front(snapshot: Snapshot, count: int, diversity: float) -> NDArray[np.int64]:
    """The rows of the articles to show to a reader of whom nothing is known, best first."""
    nobody = np.zeros(snapshot.scores.exact.shape[1])
    rows, scores = best(snapshot.scores, snapshot.base, nobody, max(POOL, count))
    return rows[diverse_order(scores, snapshot.category[rows], count, diversity)]


def _page(entries: list[bytes]) -> CataloguePage:
    body = b'{"articles":[%s]}' % b",".join(b"{%s}" % entry for entry in entries)
    return CataloguePage(hashlib.sha256(body).hexdigest(), len(entries), Sent.of(body))
