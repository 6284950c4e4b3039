"""Histories written out again with every impression, stored once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

Parse = Callable[[pl.Series], tuple[NDArray[np.int32], NDArray[np.int64]]]


class SharedHistories:
    """Collects the distinct histories of a log, block by block.

    Two histories are the same if two independent 64-bit hashes of their text agree, so the text itself need not be
    kept: the chance of a mistake among ten million histories is below 10⁻²⁴.
    """

    def __init__(self) -> None:
        self._seen = pl.DataFrame(schema={"a": pl.UInt64, "b": pl.UInt64, "slot": pl.Int64})
        self._articles: list[NDArray[np.int32]] = []
        self._sizes: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        self._slots = 1  # slot 0 is the empty history

    def add(self, histories: pl.Series, parse: Parse) -> NDArray[np.int64]:
        """The slot of each history (null is the empty one). `parse` turns new texts into articles and sizes."""
        rows = pl.DataFrame({"text": histories, "a": histories.hash(seed=1), "b": histories.hash(seed=2)})
        new = (
            rows.drop_nulls("text")
            .unique(["a", "b"], keep="first", maintain_order=True)
            .join(self._seen, on=["a", "b"], how="anti", maintain_order="left")
        )
        if len(new):
            articles, sizes = parse(new["text"])
            self._articles.append(articles)
            self._sizes.append(sizes)
            slots = pl.int_range(self._slots, self._slots + len(new), dtype=pl.Int64, eager=True).alias("slot")
            self._seen = pl.concat([self._seen, new.select("a", "b", slots)])
            self._slots += len(new)
        found = rows.join(self._seen, on=["a", "b"], how="left", maintain_order="left")
        slot = found.select(pl.when(pl.col("text").is_null()).then(0).otherwise(pl.col("slot")))
        return slot.to_series().to_numpy()

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """The timeline of all distinct histories, and where each slot's history starts and stops in it."""
        timeline = np.concatenate(self._articles) if self._articles else np.zeros(0, dtype=np.int32)
        stops = np.cumsum(np.concatenate(self._sizes))
        return timeline, stops - np.concatenate(self._sizes), stops
