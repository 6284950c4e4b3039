"""A public catalogue in a csv file: articles, and how often each was shown. No reader and no click is in it.

The server of a training over nodes reads this file, and no data set. The columns are `id`, `title`, `abstract`,
`category`, `section`, `entities` and `shown`. The articles must be those of the nodes, in the same order.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.data.entities import Entities
from discreet.data.news import Articles, Impressions, NewsData
from discreet.errors import InputError
from discreet.files import replacing_file

COLUMNS = ("id", "title", "abstract", "category", "section", "entities", "shown")
_MAX_SHOWN = 2**53


@dataclass(frozen=True, eq=False)
class PublicCatalogue:
    """Articles with the number of times that each was shown in the train split."""

    articles: Articles
    times_shown: NDArray[np.int64]

    @classmethod
    def of(cls, news: NewsData) -> PublicCatalogue:
        """The public side of a data set. Of its impressions only the slates of the train split are used."""
        return cls(news.articles, np.bincount(news.splits["train"].public_shown, minlength=len(news.articles)))

    @classmethod
    def read(cls, path: Path) -> PublicCatalogue:
        """Read a catalogue.

        Raises:
            InputError: the file is no catalogue.
        """
        try:
            with path.open(encoding="utf-8", newline="") as file:
                rows = csv.reader(file)
                head = next(rows, [])
                if tuple(head) != COLUMNS:
                    raise InputError(path, f"is no catalogue: its first line must be {','.join(COLUMNS)}", 1)
                found = [_checked(path, rows.line_num, row) for row in rows]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(path, f"cannot be read as csv ({error})") from error
        columns = zip(*found, strict=True) if found else [()] * len(COLUMNS)
        ids, titles, abstracts, categories, sections, mentions, shown = columns
        if len(set(ids)) < len(ids):
            raise InputError(path, "has an article twice")
        entities = Entities.from_lists([_mentions(path, text) for text in mentions]) if any(mentions) else None
        dates = np.full(len(ids), -1, np.int64)
        articles = Articles(ids, titles, categories, sections, abstracts, dates, entities=entities)
        return cls(articles, np.array([int(times) for times in shown], np.int64))

    def write(self, path: Path) -> None:
        """Write the file as a whole or not at all."""
        articles = self.articles
        texts = (articles.ids, articles.titles, articles.abstracts, articles.categories, articles.subcategories)
        named = articles.entities
        mentions = [json.dumps(named.of(row), ensure_ascii=False) if named else "" for row in range(len(articles))]
        with replacing_file(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(zip(*texts, mentions, self.times_shown.tolist(), strict=True))

    def without_clicks(self, name: str, validation: NewsData | None = None) -> NewsData:
        """The catalogue as a data set: nobody clicks, and one slate has all articles that were shown.

        `validation` brings the dev split, for the AUC that a training shows. Its articles must be those of the
        catalogue.
        """
        splits = {"train": _one_slate(np.flatnonzero(self.times_shown).astype(np.int32))}
        readers: Sequence[str] = ("everybody",)
        if validation is not None:
            splits["dev"], readers = validation.splits["dev"], validation.readers
        return NewsData(name, self.articles, readers, splits)


def _checked(path: Path, line: int, row: list[str]) -> list[str]:
    if len(row) != len(COLUMNS):
        raise InputError(path, f"has {len(row)} fields, {len(COLUMNS)} expected", line)
    if not row[0]:
        raise InputError(path, "the article has no id", line)
    if not row[-1].isdecimal() or int(row[-1]) > _MAX_SHOWN:
        raise InputError(path, f"'shown' is how often the article was shown, not '{row[-1]}'", line)
    return row


def _mentions(path: Path, text: str) -> list[tuple[str, str]]:
    try:
        return [(str(name), str(surface)) for name, surface in json.loads(text or "[]")]
    except (ValueError, TypeError):
        raise InputError(path, f"'entities' are pairs of an entity and its words in the title, not '{text}'") from None


def _one_slate(shown: NDArray[np.int32]) -> Impressions:
    nothing = np.zeros(1, np.int64)
    return Impressions(
        reader=np.zeros(1, np.int32),
        time=nothing,
        slate=np.array([0, len(shown)]),
        shown=shown,
        clicked=np.zeros(len(shown), np.bool_),
        timeline=np.zeros(0, np.int32),
        history_start=nothing,
        history_stop=nothing,
    )
