"""What devices send: each click in one sketch, each impression with one label, and the same again when asked again."""

import math
from collections import Counter
from functools import partial
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_support import make_impressions

from discreet.edge.reader.reports import label_mechanism
from discreet.methods.click_reports.collect import collect_labels, collect_sketches, release_plan, topic_counts

TOPIC_OF_ARTICLE = np.arange(30) % 6
histories = st.lists(st.integers(0, 29), max_size=12)


def seen(histories_of_readers, times=1):
    """Each reader sees one impression (or several) with the given history."""
    readers = [reader for reader in histories_of_readers for _ in range(times)]
    return make_impressions(
        [[0, 1]] * len(readers),
        [[1, 0]] * len(readers),
        [histories_of_readers[reader] for reader in readers],
        reader=readers,
    )


def multiset(parts):
    return Counter(np.concatenate([*parts, np.zeros(0, np.int32)]).tolist())


@given(st.lists(st.tuples(histories, histories), min_size=1, max_size=6), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_no_click_is_in_two_releases_and_none_is_left_out(readers, epochs):
    train = seen({reader: before for reader, (before, _) in enumerate(readers)})
    later = seen({reader: before + since for reader, (before, since) in enumerate(readers)})
    plan = release_plan(train, later, epochs)
    for reader, (before, since) in enumerate(readers):
        assert multiset(plan[reader]) == Counter(before + since)
        assert all(len(part) for part in plan[reader])


@given(st.lists(st.tuples(histories, histories), min_size=1, max_size=6), st.integers(1, 5))
@settings(max_examples=80, deadline=None)
def test_what_was_released_in_training_stays_and_serving_adds_what_is_new(readers, epochs):
    train = seen({reader: before for reader, (before, _) in enumerate(readers)})
    later = seen({reader: before + since for reader, (before, since) in enumerate(readers)})
    first, then = release_plan(train, None, epochs), release_plan(train, later, epochs)
    for reader, (before, since) in enumerate(readers):
        made = [part.tolist() for part in first[reader]]
        assert [part.tolist() for part in then[reader]] == made + ([since] if since else [])
        assert list(chain(*made)) == before, "epochs cut the history into pieces, in its order"
        assert len(made) == min(epochs, len(before))


def test_a_reader_who_comes_later_is_released_from_the_first_sight_on():
    plan = release_plan(seen({0: [1, 2]}), seen({1: [3, 4, 5]}, times=2), 2)
    assert [part.tolist() for part in plan[1]] == [[3, 4], [5]]
    assert [part.tolist() for part in plan[0]] == [[1], [2]]


def test_clicks_between_impressions_of_one_split_wait_for_the_next():
    train = make_impressions([[0, 1]] * 2, [[1, 0]] * 2, [[5], [5, 0]], reader=[0, 0])
    assert [part.tolist() for part in release_plan(train, None, 1)[0]] == [[5]]
    later = seen({0: [5, 0, 1]})
    assert [part.tolist() for part in release_plan(train, later, 1)[0]] == [[5], [0, 1]]


def sketches(plan, epsilon=0.5, seed=3, readers=4):
    return collect_sketches(plan, readers, 6, topic_counts(TOPIC_OF_ARTICLE, 6, epsilon), seed)


def test_the_same_seed_gives_the_same_releases_in_training_and_serving():
    train, later = seen({0: [1, 2, 3], 1: [4], 2: []}), seen({0: [1, 2, 3], 1: [4, 7], 2: [9], 3: [8]})
    trained = sketches(release_plan(train, None, 2))
    served = sketches(release_plan(train, later, 2))
    assert trained.values[trained.row[0]].tolist() == served.values[served.row[0]].tolist(), "nothing new was clicked"
    since = sketches({1: release_plan(train, later, 2)[1]})
    assert served.values[served.row[1]].tolist() == since.values[since.row[1]].tolist(), "readers' noise is their own"
    assert trained.row[2] == trained.row[3] == -1
    assert served.releases.tolist() == [2, 2, 1, 1]
    assert served.clicks.tolist() == [3, 2, 1, 1]
    other = sketches(release_plan(train, None, 2), seed=4)
    assert trained.values.tolist() != other.values.tolist()


def test_without_noise_sketches_are_the_counts():
    found = sketches({0: [np.array([0, 6, 1]), np.array([2])]}, epsilon=math.inf)
    assert found.values.tolist() == [[2, 1, 1, 0, 0, 0]]


def clicks_of(labels, impressions):
    return [labels.inside[start:stop] for start, stop in zip(impressions.slate, impressions.slate[1:], strict=False)]


def test_a_label_for_each_impression_with_a_click_and_a_choice_and_for_no_other():
    impressions = make_impressions(
        [[0, 1, 2], [3], [4, 5], [0, 1, 2, 3]], [[0, 1, 0], [1], [0, 0], [1, 0, 0, 1]], time=[5, 6, 7, 8]
    )
    for epsilon in (0.5, math.inf):
        labels = collect_labels(impressions, epsilon, partial(label_mechanism, epsilon=epsilon), 0)
        assert labels.reported.tolist() == [True, False, False, True]
        reported = clicks_of(labels, impressions)
        assert not reported[1].any()
        assert not reported[2].any()
    assert reported[0].tolist() == [False, True, False], "without noise the click itself"
    assert reported[3].sum() == 1
    assert reported[3][[0, 3]].any(), "one of two clicks"


def test_of_several_clicks_each_is_reported_sometimes():
    impressions = make_impressions([[0, 1, 2]] * 200, [[1, 0, 1]] * 200)
    labels = collect_labels(impressions, math.inf, lambda size: pytest.fail("no mechanism without noise"), 1)
    counts = labels.inside.reshape(200, 3).sum(axis=0)
    assert counts[1] == 0
    assert 60 < counts[0] < 140


def test_at_zero_no_label_is_ever_made():
    impressions = make_impressions([[0, 1]], [[1, 0]])
    labels = collect_labels(impressions, 0.0, lambda size: pytest.fail("asked for a mechanism"), 0)
    assert not labels.reported.any()
    assert not labels.inside.any()
