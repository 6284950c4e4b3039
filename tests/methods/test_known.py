"""What was known of an article at a moment, against a count by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.methods.baselines.event_counts import EventCounts

events = st.lists(st.tuples(st.integers(0, 4), st.integers(-20, 20)), max_size=40)


@given(events, events)
def test_counts_stop_strictly_before_the_moment(happened, asked):
    article, time = np.array(happened, np.int64).reshape(-1, 2).T
    who, moment = np.array(asked, np.int64).reshape(-1, 2).T
    counts = EventCounts(article.astype(np.int32), time)
    expected = [sum(a == q and t < m for a, t in happened) for q, m in asked]
    assert counts.before(who.astype(np.int32), moment).tolist() == expected


@given(events, events)
def test_first_is_the_earliest_event_before_the_moment_or_the_moment_itself(happened, asked):
    article, time = np.array(happened, np.int64).reshape(-1, 2).T
    who, moment = np.array(asked, np.int64).reshape(-1, 2).T
    counts = EventCounts(article.astype(np.int32), time)
    expected = [min((t for a, t in happened if a == q and t < m), default=m) for q, m in asked]
    assert counts.first(who.astype(np.int32), moment).tolist() == expected
