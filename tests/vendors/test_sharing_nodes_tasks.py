"""Rounds and jobs as bytes: exact to the last bit, and nothing else is taken for one."""

from __future__ import annotations

import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from small_ratings import random_ratings

from discreet.errors import DiscreetError
from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.sharing.contributions import UNIT, Directions
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.plan import MAX_DIRECTIONS
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round
from discreet.vendors.sharing.tasks import SharingTask

ITEMS = 9
SHARE = 0.25
RATED = ShareJob("rated", 5.0, 1e-5, 1, (1, 2, 4), tuple("abcdefghi"), (1.0, 5.0))
BOUGHT = replace(RATED, feedback="implicit", scale=(0.0, 1.0))

offsets = arrays(np.float64, ITEMS, elements=st.floats(-1e6, 1e6))
emphases = arrays(np.float64, ITEMS, elements=st.floats(1e-6, 1e6) | st.just(0.0))
places = st.lists(st.integers(0, ITEMS - 1), min_size=2, max_size=ITEMS, unique=True).map(
    lambda chosen: np.array(chosen, np.int64)
)
shares = st.floats(0, 1, exclude_min=True)


@st.composite
def directions(draw: st.DrawFn) -> Directions:
    popular, rank = draw(places), draw(st.integers(1, MAX_DIRECTIONS))
    basis = draw(arrays(np.float64, (len(popular), rank), elements=st.floats(-1e3, 1e3)))
    return Directions(draw(offsets), popular, basis, draw(emphases))


@st.composite
def sales_projections(draw: st.DrawFn) -> SalesProjections:
    popular, rank = draw(places), draw(st.integers(1, MAX_DIRECTIONS))
    basis = draw(arrays(np.float64, (len(popular), rank), elements=st.floats(-1e3, 1e3)))
    more = draw(st.sets(st.integers(0, ITEMS - 1)))
    return SalesProjections(draw(shares), popular, basis, np.array(sorted({*popular.tolist(), *more}), np.int64))


rounds = (
    st.builds(Opening, shares, emphases, offsets)
    | st.builds(Pairs, shares, offsets, places)
    | st.builds(Projections, shares, directions())
    | st.builds(Sales, shares)
    | st.builds(SalesPairs, shares, places)
    | sales_projections()
)


def job_of(asked: Round) -> ShareJob:
    return BOUGHT if isinstance(asked, Sales | SalesPairs | SalesProjections) else RATED


def sent_as(asked: Round, number: int = 0) -> bytes:
    return SharingTask(number, asked).to_bytes(ITEMS)


@settings(deadline=None)
@given(rounds, st.integers(0, 255))
def test_a_round_comes_back_to_the_last_bit(asked: Round, number: int) -> None:
    sent = sent_as(asked, number)
    task = SharingTask.from_bytes(sent, job_of(asked))
    assert (task.number, type(task.round), task.round.share) == (number, type(asked), asked.share)
    assert task.to_bytes(ITEMS) == sent
    ratings = random_ratings(number, items=ITEMS)
    answer = task.round.contribution(ratings)
    assert np.array_equal(answer, asked.contribution(ratings))
    assert len(answer) == task.round.length(ITEMS)


@settings(deadline=None)
@given(rounds, st.integers(0, 20))
def test_no_round_that_is_taken_moves_the_sum_further_than_it_says(asked: Round, seed: int) -> None:
    """One user, alone: the contribution is hers, and its norm must be within the sensitivity, in exact arithmetic."""
    ratings = random_ratings(seed, users=1, items=ITEMS)
    taken = SharingTask.from_bytes(sent_as(asked), job_of(asked)).round
    squares = sum(int(value) ** 2 for value in taken.contribution(ratings))
    assert squares <= (UNIT**2 // 2 if isinstance(taken, Pairs | SalesPairs) else UNIT**2)


@settings(deadline=None)
@given(rounds, st.data())
def test_bytes_cut_off_or_added_are_refused(asked: Round, data: st.DataObject) -> None:
    sent = sent_as(asked)
    cut = data.draw(st.integers(0, len(sent) - 1))
    for wrong in (sent[:cut], sent + b"\0", sent + sent):
        with pytest.raises(DiscreetError):
            SharingTask.from_bytes(wrong, job_of(asked))


@settings(deadline=None)
@given(rounds)
def test_a_round_of_purchases_is_none_of_ratings_and_the_other_way_round(asked: Round) -> None:
    with pytest.raises(DiscreetError, match="no round of kind"):
        SharingTask.from_bytes(sent_as(asked), RATED if job_of(asked) is BOUGHT else BOUGHT)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_task_or_refused(data: bytes) -> None:
    for wrong, job in ((data, RATED), (b"DSR3" + data, RATED), (b"DSR3" + data, BOUGHT)):
        try:
            task = SharingTask.from_bytes(wrong, job)
        except DiscreetError:
            continue
        assert task.to_bytes(ITEMS) == wrong


def header(
    kind: int = 1, share: float = SHARE, items: int = ITEMS, popular: int = 0, rank: int = 0, kept: int = 0
) -> bytes:
    return struct.pack("<4sBBdIIII", b"DSR3", 0, kind, share, items, popular, rank, kept)


def floats(*values: float, size: int = ITEMS) -> bytes:
    return np.resize(np.array(values, np.float64), size).tobytes()


WRONG = {
    "another version": b"DSR2" + (header() + floats(1.0) + floats(0.0))[4:],
    "another kind": header(kind=7) + floats(1.0) + floats(0.0),
    "other items": header(items=8) + floats(1.0, size=8) + floats(0.0, size=8),
    "no share": header(share=0.0) + floats(1.0) + floats(0.0),
    "a negative share": header(share=-0.5) + floats(1.0) + floats(0.0),
    "too large a share": header(share=1.5) + floats(1.0) + floats(0.0),
    "a share that is no number": header(share=float("nan")) + floats(1.0) + floats(0.0),
    "an emphasis that is no number": header() + floats(1.0, float("nan")) + floats(0.0),
    "an infinite emphasis": header() + floats(float("inf")) + floats(0.0),
    "a negative emphasis": header() + floats(-1.0) + floats(0.0),
    "an emphasis whose squares vanish": header() + floats(1e-160) + floats(0.0),
    "popular items in an opening": header(popular=2) + floats(1.0) + floats(0.0),
    "an offset that is no number": header() + floats(1.0) + floats(float("nan")),
    "an endless offset": header() + floats(1.0) + floats(1e300),
    "directions in pairs": header(2, popular=2, rank=1) + floats(0.0) + np.array([0, 1]).tobytes(),
    "one popular item": header(2, popular=1) + floats(0.0) + np.array([0]).tobytes(),
    "an item twice": header(2, popular=2) + floats(0.0) + np.array([3, 3]).tobytes(),
    "an item that is none": header(2, popular=2) + floats(0.0) + np.array([3, ITEMS]).tobytes(),
    "a negative item": header(2, popular=2) + floats(0.0) + np.array([3, -1]).tobytes(),
    "more popular items than there are": header(2, popular=2**31) + floats(0.0),
    "too many directions": header(3, popular=2, rank=9)
    + floats(0.0)
    + np.array([0, 1]).tobytes()
    + floats(1.0, size=18)
    + floats(1.0),
    "an endless loading": header(3, popular=2, rank=1)
    + floats(0.0)
    + np.array([0, 1]).tobytes()
    + floats(1e300, size=2)
    + floats(1.0),
}


@pytest.mark.parametrize("why", WRONG)
def test_rounds_that_would_not_be_safe_are_refused(why: str) -> None:
    SharingTask.from_bytes(header() + floats(1.0) + floats(0.0), RATED)
    with pytest.raises(DiscreetError):
        SharingTask.from_bytes(WRONG[why], RATED)


def projections(basis: float = 1.0, popular: tuple[int, ...] = (0, 1), kept: tuple[int, ...] = (0, 1, 5)) -> bytes:
    sizes = {"popular": len(popular), "rank": 1, "kept": len(kept)}
    return (
        header(6, **sizes) + np.array(popular).tobytes() + floats(basis, size=len(popular)) + np.array(kept).tobytes()
    )


WRONG_OF_PURCHASES = {
    "popular items in sales": header(4, popular=2),
    "kept items in pairs": header(5, popular=2, kept=2) + np.array([0, 1]).tobytes(),
    "one popular item": header(5, popular=1) + np.array([0]).tobytes(),
    "an endless loading": projections(1e300),
    "a loading that is no number": projections(float("nan")),
    "popular items that are not kept": projections(kept=(1, 2, 5)),
    "kept items out of order": projections(kept=(1, 0, 5)),
    "an item kept twice": projections(kept=(0, 1, 1)),
    "an item that is none": projections(kept=(0, 1, ITEMS)),
}


@pytest.mark.parametrize("why", WRONG_OF_PURCHASES)
def test_rounds_of_purchases_that_would_not_be_safe_are_refused(why: str) -> None:
    SharingTask.from_bytes(projections(), BOUGHT)
    with pytest.raises(DiscreetError):
        SharingTask.from_bytes(WRONG_OF_PURCHASES[why], BOUGHT)


JOB = ShareJob("films", 5.0, 1e-5, 1, (1, 2, 4), ("a", "ü", '"c'), (1.0, 5.0), 3)


@settings(deadline=None)
@given(
    name=st.text(max_size=9),
    epsilon=st.floats(0.01, 20),
    delta=st.floats(1e-12, 0.5),
    nodes=st.sets(st.integers(0, 2**32 - 1), min_size=2, max_size=5),
    items=st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=2, max_size=6),
    seed=st.none() | st.integers(0, 2**63 - 1),
)
def test_a_job_comes_back_as_it_was(
    name: str, epsilon: float, delta: float, nodes: set[int], items: set[str], seed: int | None
) -> None:
    job = ShareJob(name, epsilon, delta, 0, tuple(sorted(nodes)), tuple(items), (0.5, 5.0), seed)
    assert ShareJob.from_bytes(job.to_bytes()) == job
    assert job.to_bytes().count(b"\n") == 1
    before = replace(job, format=3)
    assert ShareJob.from_bytes(before.to_bytes()) == before, "releases of version 0.5 are read"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "train"),
        ("format", 1),
        ("format", 5),
        ("format", 3.0),
        ("promise", "ε = 0.1"),
        ("name", "n" * 201),
        ("seed", 2**63),
        ("name", 3),
        ("epsilon", 5),
        ("epsilon", 200.0),
        ("epsilon", float("nan")),
        ("delta", 0.0),
        ("delta", 1.0),
        ("colluders", 2),
        ("colluders", True),
        ("nodes", [1, 1, 2]),
        ("nodes", [2, 1, 4]),
        ("nodes", [1]),
        ("nodes", "124"),
        ("items", ["a", "a", "b"]),
        ("items", ["a"]),
        ("items", [1, 2]),
        ("scale", [5.0, 1.0]),
        ("scale", [1.0, float("inf")]),
        ("scale", [1.0, 5.0, 6.0]),
        ("seed", -1),
        ("seed", 0.5),
        ("feedback", "both"),
        ("feedback", 1),
        ("threshold", 4),
        ("threshold", float("inf")),
        ("other", 1),
    ],
)
def test_other_descriptions_are_refused(field: str, value: object) -> None:
    fields = json.loads(JOB.to_bytes())
    fields[field] = value
    changed = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    assert changed != JOB.to_bytes()
    with pytest.raises(DiscreetError):
        ShareJob.from_bytes(changed)


@pytest.mark.parametrize("wrong", [b"", b"[]", b"\xff", b"{}", JOB.to_bytes() + b" ", b" " + JOB.to_bytes()])
def test_bytes_that_are_no_job_are_refused(wrong: bytes) -> None:
    with pytest.raises(DiscreetError):
        ShareJob.from_bytes(wrong)
