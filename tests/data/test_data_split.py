"""Splits by time and by reader."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.news import Articles, Impressions, NewsData
from discreet.data.split import half_of_readers, readers_who_train, split_at, with_validation
from discreet.errors import DiscreetError


def news(times, readers=7, seed=0):
    """Every impression shows two articles; the timeline numbers its own positions, so histories can be told apart."""
    rng = np.random.default_rng(seed)
    n = len(times)
    part = Impressions(
        reader=rng.integers(0, readers, n).astype(np.int32),
        time=np.sort(np.array(times, dtype=np.int64)),
        slate=np.arange(n + 1) * 2,
        shown=rng.integers(0, 9, 2 * n).astype(np.int32),
        clicked=rng.random(2 * n) < 0.5,
        timeline=np.arange(3 * n, dtype=np.int32),
        history_start=np.arange(n) * 3,
        history_stop=np.arange(n) * 3 + rng.integers(0, 4, n),
    )
    empty = [""] * 9
    articles = Articles([f"a{i}" for i in range(9)], empty, empty, empty, empty, np.full(9, -1))
    return NewsData("toy", articles, [f"r{i}" for i in range(readers)], {"train": part, "dev": part})


def rows(part):
    return [
        (part.reader[i], part.time[i], part.history(i).tolist(), part.shown[s:e].tolist(), part.clicked[s:e].tolist())
        for i, (s, e) in enumerate(zip(part.slate[:-1], part.slate[1:], strict=True))
    ]


times = st.lists(st.integers(0, 50), min_size=2, max_size=60).filter(lambda t: len(set(t)) > 1)


@given(times=times, cut=st.integers(-1, 52))
def test_a_cut_in_time_loses_and_changes_nothing(times, cut):
    part = news(times).splits["train"]
    early, late = split_at(part, cut)
    assert rows(early) + rows(late) == rows(part)
    assert (early.time < cut).all()
    assert (late.time >= cut).all()


@given(times=times, fraction=st.floats(0.05, 0.95))
def test_validation_is_the_end_of_train(times, fraction):
    data = news(times)
    try:
        parts = with_validation(data, fraction).splits
    except DiscreetError:
        first = np.sort(times)[min(int(len(times) * (1 - fraction)), len(times) - 1)]
        assert first == min(times)
        return
    assert list(parts) == ["train", "validation", "dev"]
    assert rows(parts["train"]) + rows(parts["validation"]) == rows(data.splits["train"])
    assert parts["train"].time.max() < parts["validation"].time.min()
    assert len(parts["validation"]) >= fraction * len(times) - 1
    assert parts["dev"] is data.splits["dev"]


def test_validation_needs_something_to_cut():
    with pytest.raises(DiscreetError, match="can be cut off"):
        with_validation(news([1]))
    with pytest.raises(ValueError, match="fraction"):
        with_validation(news([1, 2]), 1.0)


@given(readers=st.integers(1, 30), seed=st.integers(0, 1000))
def test_half_of_the_readers_train_and_all_are_tested(readers, seed):
    data = news(range(200), readers)
    half = half_of_readers(data, seed)
    kept = set(half.splits["train"].reader.tolist())
    assert len(kept) <= (readers + 1) // 2
    expected = [row for row in rows(data.splits["train"]) if row[0] in kept]
    assert rows(half.splits["train"]) == expected
    assert half.splits["dev"] is data.splits["dev"]
    assert half.readers == data.readers


def test_the_half_is_decided_by_the_seed():
    data = news(range(3000), 100)
    chosen = [frozenset(half_of_readers(data, seed).splits["train"].reader.tolist()) for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert [len(readers) for readers in chosen] == [50, 50, 50]


def test_readers_and_half_say_who_trains():
    data = news(range(200), 10)
    every = readers_who_train(data, None, False, 3)
    assert every is data
    for count in (1, 2, len(data.readers)):
        some = readers_who_train(data, count, False, 3)
        assert len(np.unique(some.splits["train"].reader)) == count
        assert some.splits["dev"] is data.splits["dev"]
    half = readers_who_train(data, None, True, 3).splits["train"]
    assert np.array_equal(half.reader, half_of_readers(data, 3).splits["train"].reader)
    with pytest.raises(DiscreetError, match="choose one"):
        readers_who_train(data, 1, True, 3)
    with pytest.raises(DiscreetError, match="readers"):
        readers_who_train(data, len(data.readers) + 1, False, 3)
