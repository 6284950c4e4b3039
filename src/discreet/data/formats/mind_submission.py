"""MIND's submission file: for each impression of the log the rank of each shown article, in the order of the slate.

A line of `prediction.txt` is the impression's id and its ranks, `7 [2,1,3]`; the best article has rank 1. Lines stand
in the order of `behaviors.tsv`. The leaderboard takes the file in a zip.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.formats.mind import BEHAVIORS, TIME, mind_splits
from discreet.data.lines import blocks, require, table
from discreet.data.news import Impressions
from discreet.errors import InputError
from discreet.files import replacing_file

FILE = "prediction.txt"


def write_submission(scores: NDArray[np.floating], impressions: Impressions, data: Path, split: str, out: Path) -> None:
    """Write the ranks of all impressions of a split of `data`, to a zip or to a text file.

    Args:
        scores: One score for each entry of `impressions.shown`.
        impressions: The split, as it was read.
        data: The folder in MIND's layout.
        split: Its name.
        out: `….zip`, or the text file itself.
    """
    ids, order = _file_order(data, split)
    slates = np.split(scores, impressions.slate[1:-1])
    lines = [""] * len(ids)
    for slate, place in zip(slates, order.tolist(), strict=True):
        lines[place] = f"{ids[place]} [{','.join(map(str, _ranks(slate).tolist()))}]\n"
    with replacing_file(out) as draft:
        if out.suffix == ".zip":
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as packed:
                packed.writestr(FILE, "".join(lines))
        else:
            draft.write_text("".join(lines), encoding="utf-8", newline="\n")


def _ranks(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """The rank of each article, from 1; equals in the order of the slate."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _file_order(data: Path, split: str) -> tuple[list[str], NDArray[np.int64]]:
    """The ids of `behaviors.tsv`, and of each impression, in the order of time, its place there."""
    folder = mind_splits(data).get(split) if data.is_dir() else None
    if folder is None:
        raise InputError(data, f"is not in MIND's layout with a split '{split}'; only MIND has this submission file")
    path = require(folder, "behaviors.tsv")
    frame = pl.concat(
        [table(path, line, block, BEHAVIORS).select("impression", "time") for line, block in blocks(path)]
    )
    seconds = frame["time"].str.to_datetime(TIME, strict=False).dt.epoch("s").to_numpy()
    return frame["impression"].to_list(), np.argsort(seconds, kind="stable")
