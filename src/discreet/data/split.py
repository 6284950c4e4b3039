"""Cutting a news data set by time and by reader.

An impression keeps the history it was recorded with, whichever part it falls into: splitting never moves a click into
an earlier impression's past.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.data.news import Impressions, NewsData
from discreet.errors import DiscreetError
from discreet.progress import counted


def split_at(impressions: Impressions, time: int) -> tuple[Impressions, Impressions]:
    """The impressions before `time` (seconds since 1970), and those at or after it."""
    early = impressions.time < time
    return impressions.select(early), impressions.select(~early)


def with_validation(data: NewsData, fraction: float = 0.1) -> NewsData:
    """Cut the last `fraction` of the train impressions off as `validation`, for tuning without a look at `dev`.

    Impressions of one second stay together, so the part may be a little larger than asked for.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie between 0 and 1, got {fraction}")
    train = data.splits["train"]
    if len(train) < 2:
        raise DiscreetError(f"{data.name}: no validation part can be cut off {counted(len(train), 'train impression')}")
    first = min(int(len(train) * (1 - fraction)), len(train) - 1)
    early, late = split_at(train, int(train.time[first]))
    if not len(early):
        raise DiscreetError(f"{data.name}: train is too short in time to cut a validation part of {fraction:.0%} off")
    rest = {name: part for name, part in data.splits.items() if name != "train"}
    return replace(data, splits={"train": early, "validation": late, **rest})


def half_of_readers(data: NewsData, seed: int) -> NewsData:
    """FedNewsRec's protocol: a random half of the readers train, all are tested."""
    return some_readers(data, 0.5, seed)


def some_readers(data: NewsData, share: float, seed: int) -> NewsData:
    """A random share of the readers train, all are tested.

    The train impressions of the others are dropped; every other split stays whole. The share is drawn from all readers,
    rounded up. A larger share has all readers of a smaller one with the same seed.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")
    trains = np.zeros(len(data.readers), dtype=bool)
    drawn = np.random.default_rng(seed).permutation(len(data.readers))
    trains[drawn[: math.ceil(share * len(data.readers))]] = True
    train = data.splits["train"]
    return replace(data, splits={**data.splits, "train": train.select(trains[train.reader])})


def readers_who_train(data: NewsData, count: int | None, half: bool, seed: int) -> NewsData:
    """What `--readers` and `--half` ask for: so many readers train, or half of all; all, without either."""
    if count is not None and half:
        raise DiscreetError("--readers says how many readers train, and so does --half; choose one")
    if half:
        return half_of_readers(data, seed)
    if count is None:
        return data
    if not 1 <= count <= len(data.readers):
        raise DiscreetError(f"--readers {count}: {data.name} has {counted(len(data.readers), 'reader')}")
    return some_readers(data, count / len(data.readers) - 1e-12, seed)
