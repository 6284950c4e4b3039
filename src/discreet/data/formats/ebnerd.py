"""EB-NeRD (Kruse et al. 2024): parquet files of a Danish news site, `train/`, `validation/`, perhaps `test/`.

Each split has `behaviors.parquet` (what was in view and what was clicked) and `history.parquet` (the clicks of each
reader in the weeks before the split, fixed for the whole split). `articles.parquet` is next to the splits or one
folder above; where it is missing, or lacks an article, the text is empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.clicks import NEGATIVES
from discreet.data.formats.data_format import NewsFormat
from discreet.data.news import Articles, Impressions, NewsData
from discreet.errors import InputError
from discreet.unpacking import Allowance

_MIN_ROW_BYTES = 8  # a number; what lists and texts take comes on top
SPLITS = {"train": "train", "validation": "dev", "test": "test"}
BEHAVIORS: dict[str, pl.DataType] = {
    "user_id": pl.Int64(),
    "impression_time": pl.Datetime("us"),
    "article_ids_inview": pl.List(pl.Int64()),
    "article_ids_clicked": pl.List(pl.Int64()),
}
HISTORY: dict[str, pl.DataType] = {
    "user_id": pl.Int64(),
    "article_id_fixed": pl.List(pl.Int64()),
    "impression_time_fixed": pl.List(pl.Datetime("us")),
}
ARTICLES: dict[str, pl.DataType] = {
    "article_id": pl.Int64(),
    "title": pl.String(),
    "category_str": pl.String(),
    "subcategory": pl.List(pl.Int64()),
    "subtitle": pl.String(),
    "published_time": pl.Datetime("us"),
}


class EBNeRD(NewsFormat):
    """Ekstra Bladet news."""

    name: ClassVar[str] = "ebnerd"
    summary: ClassVar[str] = "EB-NeRD (train/ and validation/ with behaviors.parquet)"

    def recognises(self, path: Path) -> bool:
        """By the names of its files."""
        return path.is_dir() and bool(ebnerd_splits(path))

    def read(self, path: Path, *, negatives: int = NEGATIVES, seed: int = 0) -> NewsData:
        """Read all splits."""
        return read_ebnerd(path)


def ebnerd_splits(path: Path) -> dict[str, Path]:
    """The split folders under `path` by split name, in the order of time; empty if it is not in EB-NeRD's layout."""
    if (path / "behaviors.parquet").is_file():
        return {SPLITS.get(path.resolve().name, "train"): path}
    folders = {split: path / folder for folder, split in SPLITS.items()}
    return {split: folder for split, folder in folders.items() if (folder / "behaviors.parquet").is_file()}


def read_ebnerd(path: Path) -> NewsData:
    """Read all splits, articles and readers merged by their ids."""
    folders = ebnerd_splits(path)
    behaviors = {split: _behaviors(folder / "behaviors.parquet") for split, folder in folders.items()}
    histories = {split: _history(folder / "history.parquet") for split, folder in folders.items()}
    named = [frame["article_ids_inview"].explode() for frame in behaviors.values()]
    named += [frame["article_id_fixed"].explode() for frame in histories.values()]
    articles = _articles(path, pl.concat(named))
    readers = pl.concat([frame["user_id"] for frame in behaviors.values()]).unique().sort().to_numpy()
    article, reader = _Numbers(np.array(articles.ids, dtype=np.int64)), _Numbers(readers)
    splits = {}
    for split, frame in behaviors.items():
        _refuse_late_histories(folders[split] / "history.parquet", frame, histories[split])
        splits[split] = _impressions(frame, histories[split], article, reader)
    return NewsData(path.resolve().name, articles, readers.astype(str).tolist(), splits)


class _Numbers:
    """Positions of ids in the list they were given in."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._order = np.argsort(ids)
        self._ids = ids[self._order]

    def of(self, ids: pl.Series) -> NDArray[np.int32]:
        return self._order[np.searchsorted(self._ids, ids.to_numpy())].astype(np.int32)


def _read(path: Path, columns: dict[str, pl.DataType], required: int) -> pl.DataFrame:
    """The named columns; the first `required` of them must be there, the others become null."""
    if not path.is_file():
        raise InputError(path, "is missing")
    try:
        names = pl.read_parquet_schema(path)
        lacking = [name for name in list(columns)[:required] if name not in names]
        if lacking:
            raise InputError(path, f"has no column {lacking[0]}")
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
        Allowance(path).take(_MIN_ROW_BYTES * rows)
        frame = pl.read_parquet(path, columns=[name for name in columns if name in names])
        absent = [pl.lit(None, dtype=columns[name]).alias(name) for name in columns if name not in names]
        return frame.with_columns(absent).select(pl.col(name).cast(kind) for name, kind in columns.items())
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(path, f"is damaged or not EB-NeRD's parquet ({reason}); download it again") from error


def _behaviors(path: Path) -> pl.DataFrame:
    frame = _read(path, BEHAVIORS, required=3)
    if frame.is_empty():
        raise InputError(path, "holds no impressions")
    shown = pl.col("article_ids_inview")
    unclicked = pl.col("article_ids_clicked").list.set_difference(shown).list.len().fill_null(0) > 0
    problems = {
        "has no user_id": pl.col("user_id").is_null(),
        "has no impression_time": pl.col("impression_time").is_null(),
        "shows no article": shown.list.len().fill_null(0) == 0,
        "shows a null article": shown.list.contains(None),
        "has a click on an article that was not in view": unclicked,
    }
    _refuse_rows(path, frame, problems)
    return frame


def _refuse_rows(path: Path, frame: pl.DataFrame, problems: dict[str, pl.Expr]) -> None:
    """Raise for the first row (from 1) to which one of the problems applies."""
    for problem, wrong in problems.items():
        rows = frame.select(wrong.arg_true()).to_series()
        if len(rows):
            raise InputError(path, f"row {int(rows.to_list()[0]) + 1} {problem}")


def _history(path: Path) -> pl.DataFrame:
    frame = _read(path, HISTORY, required=2)
    problems = {
        "has no user_id": pl.col("user_id").is_null(),
        "has a reader whose history stands in an earlier row": ~pl.col("user_id").is_first_distinct(),
        "has a null article": pl.col("article_id_fixed").list.contains(None),
    }
    _refuse_rows(path, frame, problems)
    return frame


def _refuse_late_histories(path: Path, behaviors: pl.DataFrame, histories: pl.DataFrame) -> None:
    """A history that reaches past its reader's first impression would show the future."""
    first = behaviors.group_by("user_id").agg(pl.col("impression_time").min())
    last = histories.select("user_id", pl.col("impression_time_fixed").list.max().alias("last"))
    late = first.join(last, on="user_id").filter(pl.col("last") >= pl.col("impression_time"))
    if len(late):
        reader = min(late["user_id"].to_list())
        raise InputError(path, f"the history of reader {reader} reaches into the split's own impressions")


def _impressions(behaviors: pl.DataFrame, histories: pl.DataFrame, article: _Numbers, reader: _Numbers) -> Impressions:
    labelled = behaviors["article_ids_clicked"].null_count() < len(behaviors)
    row = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    shown = behaviors.select(row, pl.col("article_ids_inview").alias("article")).explode("article")
    clicks = behaviors.select(row, pl.col("article_ids_clicked").alias("article")).explode("article").unique()
    marked = shown.join(clicks.with_columns(clicked=True), on=["row", "article"], how="left", maintain_order="left")
    sizes = histories["article_id_fixed"].list.len().fill_null(0).cast(pl.Int64)
    stops = sizes.cum_sum()
    bounds = histories.select("user_id", (stops - sizes).alias("start"), stops.alias("stop"))
    found = behaviors.select("user_id").join(bounds, on="user_id", how="left", maintain_order="left")
    clicked_ids = histories.filter(pl.col("article_id_fixed").list.len() > 0)["article_id_fixed"].explode()
    in_file_order = Impressions(
        reader=reader.of(behaviors["user_id"]),
        time=behaviors["impression_time"].dt.epoch("s").to_numpy(),
        slate=np.concatenate(([0], behaviors["article_ids_inview"].list.len().cast(pl.Int64).cum_sum().to_numpy())),
        shown=article.of(shown["article"]),
        clicked=marked["clicked"].fill_null(False).to_numpy(),
        timeline=article.of(clicked_ids),
        history_start=found["start"].fill_null(0).to_numpy(),
        history_stop=found["stop"].fill_null(0).to_numpy(),
        labelled=labelled,
    )
    return in_file_order.select(np.argsort(in_file_order.time, kind="stable"))


def _articles(path: Path, named: pl.Series) -> Articles:
    """The articles of `articles.parquet`, if there is one, and then those that only the logs name."""
    places = (path / "articles.parquet", path.resolve().parent / "articles.parquet")
    file = next((place for place in places if place.is_file()), None)
    known = _read(file, ARTICLES, required=1) if file else pl.DataFrame(schema=ARTICLES)
    known = known.unique("article_id", keep="first", maintain_order=True)
    mentioned = pl.DataFrame({"article_id": named.drop_nulls().unique().sort()})
    table = pl.concat([known, mentioned.join(known, on="article_id", how="anti")], how="diagonal")
    return Articles(
        ids=table["article_id"].cast(pl.String).to_list(),
        titles=table["title"].fill_null("").to_list(),
        categories=table["category_str"].fill_null("").to_list(),
        subcategories=table["subcategory"].list.first().cast(pl.String).fill_null("").to_list(),
        abstracts=table["subtitle"].fill_null("").to_list(),
        published=table["published_time"].dt.epoch("s").fill_null(-1).to_numpy(),
    )
