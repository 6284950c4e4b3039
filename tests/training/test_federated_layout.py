"""Buckets waste as little as can be, and a round is laid out without repeating an article."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from small_log import make_impressions, make_table

from discreet.training.clients import Clients
from discreet.training.layout import by_length, compact
from discreet.training.samples import spans


def cost(groups, lengths, overhead):
    return sum(overhead + len(group) * (max(lengths[i] for i in group) + 1) for group in groups)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 12))
def test_buckets_are_the_best_there_are(lengths, overhead):
    groups = by_length(np.array(lengths), overhead)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(lengths)))
    order = np.argsort(lengths, kind="stable")
    splits = (
        np.split(order, cuts) for count in range(len(lengths)) for cuts in combinations(range(1, len(lengths)), count)
    )
    assert cost(groups, lengths, overhead) == min(cost(split, lengths, overhead) for split in splits)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=6))
def test_spans_are_ranges_one_after_the_other(ranges):
    start = np.array([s for s, _ in ranges], dtype=np.int64)
    stop = start + np.array([n for _, n in ranges], dtype=np.int64)
    numbers, which = spans(start, stop)
    assert numbers.tolist() == [x for s, n in ranges for x in range(s, s + n)]
    assert which.tolist() == [i for i, (_, n) in enumerate(ranges) for _ in range(n)]


def test_an_article_is_encoded_once_in_a_round():
    table = make_table()
    clients = Clients.from_impressions(make_impressions(readers=30), history_length=10)
    samples = clients.draw(np.arange(len(clients)), 0, 0).with_masked_clicks(0.2)
    layout = compact(samples, table, 10)
    encoded = sum(len(batch.titles) for batch in layout.articles)
    used = np.unique(np.concatenate((samples.history, samples.candidates.ravel())))
    assert encoded == len(used)  # the anonymous article among them
    assert all((bucket.copies.sum(1) == 10).all() for bucket in layout.histories)
