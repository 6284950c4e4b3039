"""Answers leave at public times, and never before they are made."""

import time

from hypothesis import given
from hypothesis import strategies as st

from discreet.edge.node.schedule import STEP, on_schedule, public_time


@given(st.floats(0, 1e6))
def test_the_public_time_is_a_power_of_two_and_at_most_twice_what_it_took(taken):
    told = public_time(taken)
    assert told / STEP in {2.0**k for k in range(40)}
    assert taken <= told <= max(STEP, 2 * taken)


def test_an_answer_waits_for_its_time():
    start = time.monotonic()
    assert on_schedule(lambda request: request + b"!")(b"well") == b"well!"
    assert time.monotonic() - start >= STEP
