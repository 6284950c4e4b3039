"""The catalogue in memory: immutable, ready to rank and to send. An update makes a new one; readers keep theirs."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.serving.server_store import LISTED
from discreet.serving.topk import ScoreTable

Ints = NDArray[np.int64]
Objects = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Listed articles in the order of their revisions, one row each in every field.

    Attributes:
        revision: The latest change in it.
        quoted: Each id as JSON.
        entries: Each article's fields as JSON, without the braces and without its base score.
        fixed: The part of the base score that time does not change.
        popularity: The part of the base score that popularity makes.
        category: The number of each article's category in `categories`.
        section: That of its category and section in `sections`; the section may be empty.
        shows: How often each was in an answer. Counted up in place: the one thing that changes.
        names: The ids again, as an array that many can be taken from at once.
    """

    revision: int
    ids: list[str]
    quoted: list[bytes]
    entries: list[bytes]
    revisions: Ints
    scores: ScoreTable
    fixed: NDArray[np.float64]
    base: NDArray[np.float32]
    popularity: NDArray[np.float32]
    category: NDArray[np.int32]
    categories: dict[str, int]
    section: NDArray[np.int32]
    sections: dict[tuple[str, str], int]
    published: Ints
    first_shown: Ints
    shows: Ints
    names: Objects

    @classmethod
    def empty(cls, dimensions: int) -> Snapshot:
        """A catalogue without articles."""
        none = np.zeros(0, np.int64)
        table = ScoreTable.of(np.zeros((0, dimensions), np.float32))
        zero, codes, names = np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(0, np.object_)
        return cls(0, [], [], [], none, table, np.zeros(0), zero, zero, codes, {}, codes, {}, none, none, none, names)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _shown(self) -> tuple[Objects, Objects]:
        """Articles as answers have them, without and with details; None until one is asked for."""
        return np.full(len(self), None), np.full(len(self), None)

    @property
    def listed_at(self) -> Ints:
        """When each article was published; where that is unknown, when it was first shown."""
        return np.where(self.published >= 0, self.published, self.first_shown)

    def with_changes(self, rows: Sequence[Any]) -> Snapshot:
        """The catalogue after changes, which are rows of the article table in the order of their revisions."""
        if not rows:
            return self
        touched = {row.id for row in rows}
        stays = np.array([article not in touched for article in self.ids], np.bool_)
        kept = np.flatnonzero(stays).tolist()
        new = [row for row in rows if row.state == LISTED]
        categories = dict(self.categories)
        codes = [categories.setdefault(row.category, len(categories)) for row in new]
        sections = dict(self.sections)
        in_sections = [sections.setdefault((row.category, row.section), len(sections)) for row in new]
        ids = [self.ids[row] for row in kept] + [row.id for row in new]
        scores = np.frombuffer(b"".join(row.scores for row in new), np.float32)

        def joined(old: NDArray[Any], more: Sequence[float]) -> NDArray[Any]:
            return np.concatenate((old[stays], np.asarray(more, old.dtype)))

        return Snapshot(
            revision=max(self.revision, rows[-1].revision),
            ids=ids,
            quoted=[self.quoted[row] for row in kept]
            + [json.dumps(row.id, ensure_ascii=False).encode() for row in new],
            entries=[self.entries[row] for row in kept] + [_entry(row) for row in new],
            revisions=joined(self.revisions, [row.revision for row in new]),
            scores=ScoreTable.of(
                np.concatenate((self.scores.exact[stays], scores.reshape(len(new), self.scores.exact.shape[1])))
            ),
            fixed=joined(self.fixed, [row.fixed_score for row in new]),
            base=joined(self.base, [0] * len(new)),
            popularity=joined(self.popularity, [0] * len(new)),
            category=joined(self.category, codes),
            categories=categories,
            section=joined(self.section, in_sections),
            sections=sections,
            published=joined(self.published, [row.published for row in new]),
            first_shown=joined(self.first_shown, [row.first_shown for row in new]),
            shows=joined(self.shows, [row.shows for row in new]),
            names=np.array(ids, np.object_),
        )

    def with_base(self, base: NDArray[np.floating], popularity: NDArray[np.floating]) -> Snapshot:
        """The same catalogue with new base scores, and how much of them popularity makes."""
        return replace(self, base=base.astype(np.float32), popularity=popularity.astype(np.float32))

    def shown(self, rows: Ints, *, details: bool) -> list[bytes]:
        """Articles as an answer has them, in JSON; those that are often among the best are made once."""
        made = self._shown[details]
        found: list[bytes] = made[rows].tolist()
        if None in found:
            for row in rows.tolist():
                fields = self.entries[row] if details else b'"id":%s' % self.quoted[row]
                made[row] = b'{%s,"base":%.6g}' % (fields, self.base[row])
            found = made[rows].tolist()
        return found


def _entry(row: Any) -> bytes:
    fields = {
        "id": row.id,
        "title": row.title,
        "abstract": row.abstract,
        "category": row.category,
        **{name: value for name in ("section", "url", "image") if (value := getattr(row, name))},
        "published": row.published if row.published >= 0 else None,
        "topic": row.topic,
        "vector": base64.b64encode(row.coordinates).decode(),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()[1:-1]
