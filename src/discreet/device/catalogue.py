"""The publisher's articles as a device keeps them, and the ranking that it does by itself.

Everything here is public. The score of an article for a reader is

    base + w₀ · v·(h̄ − centre)

with `base` its score for everybody, v its vector, h̄ the mean vector of the kept clicks and `centre` that of all
readers. Without clicks h̄ is the centre, and the score is the base.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.device.terms import Terms
from discreet.errors import DiscreetError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS article (id TEXT PRIMARY KEY, fields TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS place (only INTEGER PRIMARY KEY CHECK (only = 1), model TEXT, cursor TEXT, etag TEXT) STRICT;
"""


@dataclass(frozen=True)
class Article:
    """One article, as the server describes it."""

    id: str
    title: str
    category: str
    topic: int
    vector: bytes
    base: float
    abstract: str = ""
    published: int | None = None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Article:
        """An entry of the answer of `GET /v1/articles`."""
        published = fields.get("published")
        return cls(
            id=str(fields["id"]),
            title=str(fields.get("title") or ""),
            category=str(fields.get("category") or ""),
            topic=int(fields["topic"]),
            vector=base64.b64decode(fields["vector"], validate=True),
            base=float(fields["base"]),
            abstract=str(fields.get("abstract") or ""),
            published=None if published is None else int(published),
        )


@dataclass(frozen=True)
class Ranked:
    """An article with its score, and how much of it the reader's own clicks made."""

    article: Article
    score: float
    personal: float


class Catalogue:
    """The articles by id."""

    def __init__(self, articles: Iterable[Article] = ()) -> None:
        self._articles = {article.id: article for article in articles}

    def __len__(self) -> int:
        return len(self._articles)

    def __iter__(self) -> Iterator[Article]:
        return iter(self._articles.values())

    def get(self, article_id: str) -> Article | None:
        """The article, if it is in the catalogue."""
        return self._articles.get(article_id)

    def change(self, changed: Iterable[Article], removed: Iterable[str]) -> None:
        """Take over a delta."""
        for article_id in removed:
            self._articles.pop(article_id, None)
        self._articles.update((article.id, article) for article in changed)


class CatalogueFile:
    """A catalogue in a file, changed all or nothing, with the place up to which the server was heard."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(self._connect()) as connection:
                connection.executescript(_SCHEMA)
                rows = connection.execute("SELECT fields FROM article ORDER BY rowid").fetchall()
                place = connection.execute("SELECT model, cursor, etag FROM place").fetchone()
            self.catalogue = Catalogue(Article.from_json(json.loads(fields)) for (fields,) in rows)
        except (sqlite3.Error, ValueError, KeyError) as error:
            raise DiscreetError(
                f"{path}: cannot be read as a catalogue ({error}); delete it, it is only a copy"
            ) from error
        self.model, self.cursor, self.etag = (str(part) for part in place or ("", "", ""))

    def change(
        self, articles: Sequence[dict[str, Any]], removed: Sequence[str], *, model: str, cursor: str, etag: str
    ) -> None:
        """Take over one page of the server's answer. A page for another model begins a new catalogue."""
        changed = [Article.from_json(fields) for fields in articles]
        anew = model != self.model
        with closing(self._connect()) as connection, connection:
            if anew:
                connection.execute("DELETE FROM article")
            connection.executemany("DELETE FROM article WHERE id = ?", [(str(name),) for name in removed])
            rows = [(article.id, json.dumps(fields)) for article, fields in zip(changed, articles, strict=True)]
            connection.executemany("INSERT OR REPLACE INTO article VALUES (?, ?)", rows)
            connection.execute("INSERT OR REPLACE INTO place VALUES (1, ?, ?, ?)", (model, cursor, etag))
        if anew:
            self.catalogue = Catalogue()
        self.catalogue.change(changed, removed)
        self.model, self.cursor, self.etag = model, cursor, etag

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30.0)


def rank(
    candidates: Sequence[Article], bases: Sequence[float], clicked: Sequence[bytes], read: Collection[str], terms: Terms
) -> list[Ranked]:
    """The candidates that were not read, the best first; equals in the order in which they came.

    Args:
        candidates: The articles.
        bases: The score of each for everybody.
        clicked: The vectors of the kept clicks.
        read: Ids to leave out.
        terms: Scale, centre and weight.
    """
    own = personal_scores(_matrix([article.vector for article in candidates], len(terms.centre)), clicked, terms)
    scores = np.asarray(bases, np.float64) + own
    order = np.argsort(-scores, kind="stable")
    return [
        Ranked(candidates[i], float(scores[i]), float(own[i])) for i in order.tolist() if candidates[i].id not in read
    ]


def personal_scores(vectors: NDArray[np.int8], clicked: Sequence[bytes], terms: Terms) -> NDArray[np.float64]:
    """w₀ · v·(h̄ − centre) of each vector; 0 without clicks."""
    known = _matrix(clicked, len(terms.centre))
    if not len(known):
        return np.zeros(len(vectors))
    interest = known.mean(axis=0) * terms.vector_scale - np.asarray(terms.centre)
    return np.asarray(terms.content_weight * terms.vector_scale * (vectors @ interest))


def _matrix(vectors: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
    """One row each; a vector of another length counts as zeros."""
    rows = [vector if len(vector) == dimension else bytes(dimension) for vector in vectors]
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), dimension)
