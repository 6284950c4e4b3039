"""Tasks: their terms in JSON and as a digest, their bounds and their windows."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from aggregation_tasks import task, tasks
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.task import Kind, Task
from discreet.errors import DiscreetError
from discreet.privacy.accounting import compose


@given(tasks())
def test_terms_survive_json(some: Task) -> None:
    again = Task.from_json(json.loads(json.dumps(some.to_json())))
    assert again == some
    assert again.id == some.id
    assert json.loads(some.terms) == some.to_json()
    assert len(some.id) == 32


@given(tasks(), tasks())
def test_other_terms_have_another_id(one: Task, other: Task) -> None:
    assert (one == other) == (one.id == other.id)


def test_terms_are_canonical_json() -> None:
    some = task(name='é"\\\n', noise="discrete_gaussian", delta=1e-7, epsilon=1)
    assert some.terms.decode() == (
        '{"cells":"","delta":1e-7,"epsilon":1,"helper":"","kind":"multihot","leader":"","length":5,"max_total":2,'
        '"max_value":1,"measure":"","min_batch":1,"name":"é\\"\\\\\\n","noise":"discrete_gaussian",'
        '"per":"window","purpose":"how often each article is read","send_seconds":3600,"start":1700000000,'
        '"window_seconds":3600,"windows":24}'
    )


@pytest.mark.parametrize(
    ("number", "written"),
    [(0.1, "0.1"), (3.0, "3"), (1e-6, "0.000001"), (1.5e-6, "0.0000015"), (1.25e-7, "1.25e-7"), (1e-10, "1e-10")],
)
def test_numbers_are_written_as_javascript_writes_them(number: float, written: str) -> None:
    some = task(noise="discrete_gaussian", delta=min(number, 0.01), epsilon=max(number, 0.1))
    assert f":{written}," in some.terms.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "median"},
        {"kind": "count"},
        {"kind": "sum", "length": 2},
        {"kind": "sum", "length": 1, "max_value": 5, "max_total": 3},
        {"kind": "histogram", "max_total": 2},
        {"max_value": 2},
        {"max_total": 6},
        {"max_total": 0},
        {"length": 0},
        {"length": True},
        {"length": 2.0},
        {"length": 1 << 21},
        {"epsilon": 0},
        {"epsilon": math.nan},
        {"epsilon": "1"},
        {"delta": 1e-6},
        {"noise": "discrete_gaussian"},
        {"noise": "gaussian"},
        {"window_seconds": 0},
        {"windows": 0},
        {"start": -1},
        {"start": 1.5},
        {"min_batch": 0},
        {"name": ""},
        {"name": "a\ud800"},
        {"purpose": None},
        {"helper": "x" * 1001},
        {"send_seconds": 3601},
        {"start": 86_400, "kind": "histogram", "max_total": 1, "per": "day"},
        {"per": "day", "start": 86_401},
        {"per": "day", "start": 86_400, "window_seconds": 7000},
        {"per": "year"},
    ],
)
def test_terms_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DiscreetError, match=next(reversed(wrong))):
        task(**wrong)


def test_fields_that_are_missing_or_not_known_are_refused() -> None:
    terms = task().to_json()
    for wrong in (
        {**terms, "more": 1},
        {k: v for k, v in terms.items() if k != "epsilon"},
        [],
        {**terms, "max_total": None},
    ):
        with pytest.raises(DiscreetError):
            Task.from_json(wrong)  # type: ignore[arg-type]


SMALL = (
    task(kind="count", length=1, max_total=None),
    task(kind="sum", length=1, max_value=2, max_total=None),
    task(kind="sumvec", length=2, max_value=2, max_total=None),
    task(kind="signedvec", length=2, max_value=1, max_total=None),
    task(kind="histogram", length=3, max_total=None),
    task(kind="multihot", length=3, max_total=2),
)


@pytest.mark.parametrize("some", SMALL, ids=lambda some: some.kind)
def test_bounds_are_what_the_proof_accepts(some: Task) -> None:
    """Of all small vectors, those that a task takes are those that Prio3 can encode, and the sums are the same."""
    prio3 = some.prio3()
    for values in product(range(-1, 4), repeat=some.length):
        try:
            contribution = Contribution.of(some, values)
        except DiscreetError:
            if some.kind is not Kind.HISTOGRAM:  # a histogram is encoded from its bucket, so no wrong vector can be
                with pytest.raises(DiscreetError):
                    prio3.circuit.encode(some.measurement(np.array(values)))
            continue
        encoded = prio3.circuit.encode(some.measurement(contribution.values))
        field = prio3.circuit.field
        assert field.to_ints(prio3.circuit.truncate(encoded[None])[0]) == [value - some.min_value for value in values]


@given(tasks(max_length=3, max_value=3))
def test_sensitivity_is_the_largest_norm(some: Task) -> None:
    vectors = [np.array(v) for v in product(range(some.max_value + 1), repeat=some.length) if sum(v) <= some.total]
    assert some.sensitivity.l1 == max(np.abs(v).sum() for v in vectors)
    assert some.sensitivity.l2 == pytest.approx(max(math.sqrt((v**2).sum()) for v in vectors))
    assert some.sensitivity.linf >= max(v.max() for v in vectors)


@settings(max_examples=5)
@given(tasks())
def test_the_accountant_finds_what_a_contribution_promises(some: Task) -> None:
    found = compose([some.event()]).epsilon(some.delta)
    assert found <= some.epsilon * 1.001 + 0.001


@given(tasks())
def test_nothing_is_within_the_bounds(some: Task) -> None:
    assert Contribution.of(some, some.nothing()).values.sum() == (some.kind is Kind.HISTOGRAM)


@given(tasks(), st.integers(0, 2**20))
def test_windows_follow_each_other(some: Task, window: int) -> None:
    begin = some.begins(window)
    assert some.window_at(begin) == window
    assert some.window_at(begin - 1) == window - 1
    assert some.window_at(some.begins(window + 1) - 1) == window


def test_what_is_paid_per_day_is_paid_once_for_all_windows_of_a_day() -> None:
    some = task(start=20_000 * 86_400, windows=72, per="day")
    assert [some.period(window) for window in (0, 23, 24, 71)] == [0, 0, 1, 2]
    assert some.guarantee().scope == "one day"
    assert [task().period(window) for window in (0, 23, 24)] == [0, 23, 24]
    assert some.sent_until(3) == some.begins(5)
    assert task(send_seconds=60).sent_until(3) == task().begins(4) + 60


def test_a_contribution_tells_no_value() -> None:
    with pytest.raises(DiscreetError) as error:
        Contribution.of(task(), [0, 77, 0, 0, 0])
    assert "77" not in str(error.value)
    contribution = Contribution.of(task(), [0, 1, 0, 0, 1])
    assert "1, " not in repr(contribution).split(";")[0]
    with pytest.raises(ValueError, match="read-only"):
        contribution.values[0] = 1
