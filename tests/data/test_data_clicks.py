"""Logs of clicks alone: no history and no sampled negative may contain the future."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.clicks import Clicks, first_clicks, impressions_of_clicks
from discreet.data.negatives import ReadBefore, sample_negatives

ARTICLES = 12
events = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, ARTICLES - 1), st.integers(0, 60)), min_size=1, max_size=80
)


def as_clicks(log):
    reader, article, time = (np.array(column) for column in zip(*log, strict=True))
    return Clicks(reader.astype(np.int32), article.astype(np.int32), time.astype(np.int64))


@settings(max_examples=150, deadline=None)
@given(log=events, cut=st.integers(1, 60), negatives=st.sampled_from([1, 4, 20]), seed=st.integers(0, 2**32))
def test_nothing_comes_from_the_future(log, cut, negatives, seed):
    clicks = as_clicks(log)
    available = first_clicks(clicks, ARTICLES)
    splits = impressions_of_clicks(
        clicks, available, {"train": (20, 20 + cut), "dev": (20 + cut, 61)}, negatives=negatives, seed=seed
    )
    made = 0
    for name, (begin, end) in {"train": (20, 20 + cut), "dev": (20 + cut, 61)}.items():
        part = splits[name]
        assert (np.diff(part.time) >= 0).all()
        assert ((part.time >= begin) & (part.time < end)).all()
        for i in range(len(part)):
            reader, time = part.reader[i], part.time[i]
            past = sorted((t, a) for r, a, t in log if r == reader and t < time)
            assert sorted(part.history(i).tolist()) == sorted(a for _, a in past)
            times = {a: t for t, a in reversed(past)}
            firsts = [times[a] for a in dict.fromkeys(part.history(i).tolist())]
            assert firsts == sorted(firsts)
            here = slice(part.slate[i], part.slate[i + 1])
            slate, clicked = part.shown[here], part.clicked[here]
            assert clicked.sum() == 1
            assert (reader, slate[clicked][0], time) in log
            others = slate[~clicked]
            assert len(set(slate.tolist())) == len(slate)
            assert (available[others] < time).all()
            read_by_now = {a for r, a, t in log if r == reader and t <= time}
            assert not read_by_now & set(others.tolist())
            candidates = {a for a in range(ARTICLES) if available[a] < time} - read_by_now
            assert len(others) == min(negatives, len(candidates))
            made += 1
    possible = {(r, a): min(t for q, b, t in log if (q, b) == (r, a)) for r, a, _ in log}
    assert made <= sum(t >= 20 for t in possible.values())


def test_the_same_seed_draws_the_same_slates():
    rng = np.random.default_rng(1)
    clicks = as_clicks(
        list(zip(rng.integers(0, 30, 900), rng.integers(0, 300, 900), rng.integers(0, 500, 900), strict=True))
    )
    available = first_clicks(clicks, 300)

    def shown(seed):
        return impressions_of_clicks(clicks, available, {"train": (300, 501)}, negatives=5, seed=seed)["train"].shown

    assert np.array_equal(shown(3), shown(3))
    assert not np.array_equal(shown(3), shown(4))


def test_negatives_are_drawn_evenly_and_never_repeat():
    """Fast path: many articles. Each of the 399 that reader 0 has not read is as likely as any other."""
    articles, rows = 400, 4000
    available = np.zeros(articles, dtype=np.int64)
    read = ReadBefore(np.array([7]), np.array([0]), articles)
    reader, time = np.zeros(rows, dtype=np.int32), np.full(rows, 9, dtype=np.int64)
    drawn = sample_negatives(reader, time, available, read, negatives=20, rng=np.random.default_rng(5))
    assert all(len(set(row)) == 20 for row in drawn.tolist())
    counts = np.bincount(drawn.ravel(), minlength=articles)
    assert counts[7] == 0
    expected = rows * 20 / 399
    spread = ((np.delete(counts, 7) - expected) ** 2 / expected).sum()
    assert abs(spread - 398) < 5 * np.sqrt(2 * 398)


@pytest.mark.parametrize("pool", [21, 159, 161, 1000])
def test_scarce_and_plentiful_articles(pool):
    """A reader who has read almost everything still gets every article that is left."""
    left = 3
    pairs = np.arange(pool - left, dtype=np.int64)
    read = ReadBefore(pairs, np.zeros(len(pairs), dtype=np.int64), pool)
    drawn = sample_negatives(
        np.zeros(2, dtype=np.int32),
        np.array([5, 5]),
        np.zeros(pool, dtype=np.int64),
        read,
        negatives=20,
        rng=np.random.default_rng(0),
    )
    for row in drawn.tolist():
        assert sorted(row[:left]) == list(range(pool - left, pool))
        assert set(row[left:]) == {-1}


def test_the_click_stands_anywhere_in_the_slate():
    rng = np.random.default_rng(2)
    log = list(zip(rng.integers(0, 300, 3000), rng.integers(0, 200, 3000), rng.integers(0, 900, 3000), strict=True))
    clicks = as_clicks(log)
    part = impressions_of_clicks(clicks, first_clicks(clicks, 200), {"t": (500, 900)}, negatives=4, seed=0)["t"]
    places = np.flatnonzero(part.clicked) - part.slate[:-1]
    counts = np.bincount(places, minlength=5)
    assert counts.min() > len(part) / 5 - 5 * np.sqrt(len(part) / 5)
