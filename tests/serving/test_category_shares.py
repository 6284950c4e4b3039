"""The public share of each category, which devices compare a reader's history with."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.serving.category_shares import MAX_CATEGORIES, category_shares, section_shares
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


def with_sections(base, places):
    numbers = {place: code for code, place in enumerate(dict.fromkeys(places))}
    categories = list(dict.fromkeys(category for category, _ in places))
    found = snapshot_of(base, [categories.index(category) for category, _ in places], categories)
    return replace(found, section=np.int32([numbers[place] for place in places]), sections=numbers)


def test_sections_have_their_share_of_the_category():
    places = [("news", "a"), ("news", "a"), ("news", "b"), ("news", ""), ("food", "a")]
    found = {(one["category"], one["name"]): one["share"] for one in section_shares(with_sections([0.0] * 5, places))}
    assert found == {("news", "a"): 0.6, ("news", "b"): 0.4, ("food", "a"): 1.0}
    assert section_shares(Snapshot.empty(2)) == []


def test_sections_count_only_where_most_of_what_is_shown_has_one():
    places = [("news", "a"), ("news", ""), ("food", "")]
    assert section_shares(with_sections([0.0, 0.0, 0.0], places)) == []
    assert len(section_shares(with_sections([5.0, 0.0, 0.0], places))) == 1
