"""Writing a news data set in MIND's official layout: `train/behaviors.tsv`, `train/news.tsv`, `dev/…`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.formats.mind_entities import write_mentions
from discreet.data.news import Articles, Impressions, NewsData
from discreet.files import replacing_folder
from discreet.progress import track

_ROWS_AT_ONCE = 20_000


def write_mind(data: NewsData, folder: Path, *, overwrite: bool = False) -> None:
    """Write all splits of `data` into `folder`, which appears only when it is complete.

    A split's `news.tsv` has the articles that were out by its last impression. MIND has no time of publication.
    """
    with replacing_folder(folder, overwrite=overwrite) as draft:
        number = 1
        for split, impressions in data.splits.items():
            (draft / split).mkdir()
            _write_news(data.articles, impressions, draft / split / "news.tsv")
            _write_behaviors(data, impressions, number, draft / split / "behaviors.tsv")
            number += len(impressions)


def _write_news(articles: Articles, impressions: Impressions, path: Path) -> None:
    """Id, category, sub-category, title, abstract, url, and two columns of entities: those that the title names."""
    latest = impressions.time.max(initial=0)
    entities = articles.entities
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for i in np.flatnonzero(articles.published <= latest).tolist():
            name = articles.ids[i]
            columns = (
                name,
                articles.categories[i],
                articles.subcategories[i],
                articles.titles[i],
                articles.abstracts[i],
                f"https://news.example/{name}.html",
                "[]" if entities is None else write_mentions([m for m in entities.of(i) if m[1]], articles.titles[i]),
                "[]",
            )
            file.write("\t".join(columns) + "\n")


def _write_behaviors(data: NewsData, impressions: Impressions, number: int, path: Path) -> None:
    """Impression number, reader, time, history and slate; shown articles end with -1 if clicked, else with -0."""
    ids = data.articles.ids
    labels = [name + label for name in ids for label in (("-0", "-1") if impressions.labelled else ("", ""))]
    times = _mind_times(impressions)
    starts, stops = impressions.history_start.tolist(), impressions.history_stop.tolist()
    readers = impressions.reader.tolist()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        blocks = pairwise([*range(0, len(impressions), _ROWS_AT_ONCE), len(impressions)])
        for first, last in track(list(blocks), f"writing {path.parent.name}/{path.name}"):
            begin = int(impressions.slate[first])
            places = slice(begin, int(impressions.slate[last]))
            codes = (2 * impressions.shown[places] + impressions.clicked[places]).tolist()
            bounds = (impressions.slate[first : last + 1] - begin).tolist()
            for i, (left, right) in zip(range(first, last), pairwise(bounds), strict=True):
                history = " ".join([ids[article] for article in impressions.timeline[starts[i] : stops[i]].tolist()])
                slate = " ".join([labels[code] for code in codes[left:right]])
                file.write(f"{number + i}\t{data.readers[readers[i]]}\t{times[i]}\t{history}\t{slate}\n")


def _mind_times(impressions: Impressions) -> list[str]:
    """Times as MIND writes them: `11/13/2019 5:53:12 AM`."""
    times = pl.Series(impressions.time).cast(pl.Int64) * 1_000_000
    return times.cast(pl.Datetime("us")).dt.strftime("%-m/%-d/%Y %-I:%M:%S %p").to_list()
