"""The public share of each category, which devices compare a reader's history with."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.serving.category_shares import MAX_CATEGORIES, category_shares
from discreet.serving.snapshot import Snapshot


def snapshot_of(base, category, names):
    empty = Snapshot.empty(2)
    numbers = {name: code for code, name in enumerate(names)}
    return replace(
        empty,
        ids=[f"N{n}" for n in range(len(base))],
        base=np.float32(base),
        category=np.int32(category),
        categories=numbers,
    )


def test_shares_follow_exposure_and_leave_something_for_the_others():
    found = category_shares(snapshot_of([0.0, 0.0, np.log(3)], [0, 0, 2], ["food", "gone", "sports"]))
    assert [one["name"] for one in found] == ["sports", "food"]  # "gone" has no article
    assert [one["share"] for one in found] == pytest.approx([(1.8 + 1) / 6, (1.2 + 1) / 6], abs=1e-6)
    assert category_shares(Snapshot.empty(2)) == []


def test_there_is_a_limit():
    many = MAX_CATEGORIES + 5
    found = category_shares(snapshot_of([0.0] * many, list(range(many)), [f"c{n}" for n in range(many)]))
    assert len(found) == MAX_CATEGORIES
    assert sum(one["share"] for one in found) < 1
