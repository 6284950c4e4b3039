"""The publisher's catalogue in a file: a list of pages, and the pages, each named by the SHA-256 of its bytes.

Whole or not at all: a new catalogue takes the old one's place when all its pages are there and every article of it has
been checked. Until then the old one serves, together with the articles that the new list shows first.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue, unpacked
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError
from discreet.protocol.check import limits, read

MAX_BYTES = 1 << 30
"""How large a catalogue may be on a device."""
MAX_BASE = 1e6

_SCHEMA = """
CREATE TABLE IF NOT EXISTS page (name TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS list (kind TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
"""
_WHOLE, _COMING = "whole", "coming"


@dataclass(frozen=True)
class Contents:
    """The list of a catalogue: its pages with their sizes, base scores and popularity, and what to show first."""

    space: str
    pages: tuple[tuple[str, int], ...]
    scores: list[tuple[float, float]]
    front: tuple[Article, ...]

    @classmethod
    def from_json(cls, fields: Mapping[str, Any], terms: PublisherTerms) -> Contents:
        """A list that has been checked against the schema.

        Raises:
            DiscreetError: It is of another space, or does not fit itself or the terms.
        """
        if fields["space"] != terms.space:
            raise DiscreetError("the catalogue is of another topic space than the terms")
        pages = tuple((page["name"], page["articles"]) for page in fields["pages"])
        count = sum(articles for _, articles in pages)
        if count > limits.max_articles or len(dict(pages)) < len(pages):
            raise DiscreetError(f"the catalogue has {count} articles on {len(dict(pages))} different pages")
        scores = list(zip(_floats(fields, "bases", count), _floats(fields, "popularity", count), strict=True))
        first = len(fields["front"])
        front_popularity = fields.get("front_popularity", [0.0] * first)
        if len(fields["front_bases"]) != first or len(front_popularity) != first:
            raise DiscreetError("the articles to show first need one base score each")
        shown = zip(fields["front"], fields["front_bases"], front_popularity, strict=True)
        front = tuple(Article.from_json(article, base, terms, popularity) for article, base, popularity in shown)
        _require_distinct(front)
        return cls(terms.space, pages, scores, front)


def page_articles(name: str, body: bytes, terms: PublisherTerms) -> list[Article]:
    """The articles of a page whose bytes are those that its name promises, without their base scores."""
    if hashlib.sha256(body).hexdigest() != name:
        raise DiscreetError("a page of the catalogue does not match its name")
    return [Article.from_json(fields, 0.0, terms) for fields in read("page", body)["articles"]]


class CatalogueFile:
    """The file, and the catalogue that serves now."""

    def __init__(self, path: Path | str) -> None:
        self.catalogue = DeviceCatalogue()
        self._whole = DeviceCatalogue()
        self._parsed: dict[str, list[Article]] = {}
        self._fits: tuple[object, ...] | None = None
        self._path = path
        try:
            self._connection = self._connect()
        except sqlite3.DatabaseError:
            with suppress(OSError):
                Path(path).unlink()
            self._connection = self._connect()

    def adopt(self, terms: PublisherTerms) -> None:
        """Serve what is kept, as far as it fits these terms."""
        fits = (terms.space, terms.topics, terms.dimension)
        if fits == self._fits:
            return
        self._fits, self._whole = fits, DeviceCatalogue()
        front: tuple[Article, ...] = ()
        self._parsed.clear()
        with suppress(DiscreetError, sqlite3.Error):
            self._whole = self._catalogue(self._contents(_WHOLE, terms), terms)
        with suppress(DiscreetError, sqlite3.Error):
            front = self._contents(_COMING, terms).front
        self.catalogue = DeviceCatalogue([*self._whole, *front])

    def take(self, body: bytes, terms: PublisherTerms) -> list[str]:
        """Take a list that has just come; returns the pages that are lacking, the newest first.

        Raises:
            DiscreetError: It is not as agreed; nothing has changed.
        """
        fields = read("catalogue", body)
        if fields["model"] != terms.model:
            raise DiscreetError("the catalogue is another model's than the terms")
        contents = Contents.from_json(fields, terms)
        with self._changing() as execute:
            execute("INSERT OR REPLACE INTO list VALUES (?, ?)", (_COMING, body))
            names = {row[0] for row in execute("SELECT name FROM page")}
            for name in names - {name for name, _ in contents.pages} - self._pages_of_whole():
                execute("DELETE FROM page WHERE name = ?", (name,))
        self.catalogue = DeviceCatalogue([*self._whole, *contents.front])
        return [name for name, _ in reversed(contents.pages) if name not in names]

    def keep_page(self, name: str, body: bytes, terms: PublisherTerms) -> None:
        """Keep a page that was lacking.

        Raises:
            DiscreetError: It is not the page of that name, or an article of it does not fit; nothing has changed.
        """
        self._parsed[name] = page_articles(name, body, terms)
        with self._changing() as execute:
            (kept,) = execute("SELECT COALESCE(SUM(LENGTH(body)), 0) FROM page").fetchone()
            if kept + len(body) > MAX_BYTES:
                raise DiscreetError(f"the catalogue is larger than the {MAX_BYTES >> 20} MiB that this device keeps")
            execute("INSERT OR REPLACE INTO page VALUES (?, ?)", (name, body))

    def complete(self, terms: PublisherTerms) -> None:
        """Put the new catalogue in the old one's place, now that all its pages are there.

        Raises:
            DiscreetError: It is not whole after all; the old one stays.
        """
        with self._changing() as execute:
            contents = self._contents(_COMING, terms)
            catalogue, wanted = self._catalogue(contents, terms), {name for name, _ in contents.pages}
            execute("DELETE FROM list WHERE kind = ?", (_WHOLE,))
            execute("UPDATE list SET kind = ? WHERE kind = ?", (_WHOLE, _COMING))
            for name in {row[0] for row in execute("SELECT name FROM page")} - wanted:
                execute("DELETE FROM page WHERE name = ?", (name,))
        self._parsed = {name: articles for name, articles in self._parsed.items() if name in wanted}
        self._whole = self.catalogue = catalogue

    def _catalogue(self, contents: Contents, terms: PublisherTerms) -> DeviceCatalogue:
        """All articles, if all pages are there and fit."""
        articles: list[Article] = []
        for name, count in contents.pages:
            if name not in self._parsed:
                self._parsed[name] = page_articles(name, self._page(name), terms)
            page = self._parsed[name]
            if len(page) != count:
                raise DiscreetError(f"a page of the catalogue has {len(page)} articles, not {count}")
            scores = contents.scores[len(articles) : len(articles) + count]
            articles += [
                replace(article, base=base, popularity=popularity)
                for article, (base, popularity) in zip(page, scores, strict=True)
            ]
        _require_distinct(articles)
        return DeviceCatalogue(articles)

    def forget(self) -> None:
        """Drop everything that a server handed out."""
        with self._changing() as execute:
            for table in ("page", "list"):
                execute(f"DELETE FROM {table}")
        self._parsed.clear()
        self._whole = self.catalogue = DeviceCatalogue()

    def _connect(self) -> sqlite3.Connection:
        if isinstance(self._path, Path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(self._path, timeout=30.0, check_same_thread=False)
        connection.executescript(f"PRAGMA secure_delete = ON;{_SCHEMA}")
        return connection

    def _page(self, name: str) -> bytes:
        """A kept page; one that was damaged here is dropped, and fetched again the next time."""
        row = self._connection.execute("SELECT body FROM page WHERE name = ?", (name,)).fetchone()
        if row is not None and hashlib.sha256(row[0]).hexdigest() == name:
            return bytes(row[0])
        with self._connection:
            self._connection.execute("DELETE FROM page WHERE name = ?", (name,))
        raise DiscreetError("a page of the catalogue is not there yet")

    def _body(self, kind: str) -> bytes:
        row = self._connection.execute("SELECT body FROM list WHERE kind = ?", (kind,)).fetchone()
        if row is None:
            raise DiscreetError("there is no catalogue yet")
        return bytes(row[0])

    def _contents(self, kind: str, terms: PublisherTerms) -> Contents:
        return Contents.from_json(read("catalogue", self._body(kind)), terms)

    def _pages_of_whole(self) -> set[str]:
        with suppress(DiscreetError):
            return {page["name"] for page in read("catalogue", self._body(_WHOLE))["pages"]}
        return set()

    @contextmanager
    def _changing(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """One transaction. A file that turns out to be damaged is begun again: it is only a copy."""
        try:
            with self._connection:
                yield self._connection.execute
        except sqlite3.Error as error:
            if type(error) is sqlite3.DatabaseError:
                self._begin_anew()
            raise DiscreetError(f"{self._path}: the catalogue could not be kept ({error})") from error

    def _begin_anew(self) -> None:
        self._connection.close()
        with suppress(OSError):
            Path(self._path).unlink()
        self._connection = self._connect()


def _floats(fields: Mapping[str, Any], name: str, count: int) -> list[float]:
    """Numbers from base64 of little-endian float32; zeros where there are none."""
    if name not in fields:
        return [0.0] * count
    values = np.frombuffer(unpacked(fields[name], 4 * count), "<f4")
    if not (np.abs(values) <= MAX_BASE).all():
        raise DiscreetError(f"the catalogue's {name} are not all numbers within a million")
    return [float(value) for value in values]


def _require_distinct(articles: Sequence[Article]) -> None:
    if len({article.id for article in articles}) < len(articles):
        raise DiscreetError("an article is in the catalogue twice")
