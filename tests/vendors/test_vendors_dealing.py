"""Vendors that differ as they are asked to, and vendors with files of their own."""

import numpy as np
import pytest
from small_ratings import random_ratings

from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError
from discreet.vendors.dealing import Dealing, PartitionKind
from discreet.vendors.own_files import on_one_catalogue, together
from discreet.vendors.partition import Distribution, partition
from discreet.vendors.vendor_catalogue import Catalogue

WORLD = ratings_world(200, 150, 6000, seed=3)


def parts(words, vendors=4, **more):
    return partition(WORLD, vendors, dealing=Dealing.parse(words), **more)


@pytest.mark.parametrize("words", ["random", "genre", "taste", "size"])
def test_every_user_is_one_vendors(words):
    users = [set(part.users) for part in parts(words)]
    assert sum(map(len, users)) == len(set.union(*users)) == 200
    assert sum(len(part) for part in parts(words)) == len(WORLD)
    if words != "size":
        assert max(map(len, users)) - min(map(len, users)) <= 1


def spread_of_genres(dealt):
    genres = sorted({genre for of_item in WORLD.items.genres for genre in of_item})
    flags = np.array([[genre in of_item for genre in genres] for of_item in WORLD.items.genres], float)
    shares = np.array([flags[part.item].mean(axis=0) for part in dealt])
    return shares.std(axis=0).sum()


def test_vendors_by_genre_are_asked_for_other_genres():
    assert spread_of_genres(parts("genre")) > 1.4 * spread_of_genres(parts("random"))


def test_vendors_by_taste_rate_the_same_items_otherwise():
    def spread(dealt):
        counts = np.array([np.bincount(part.item, minlength=150) for part in dealt])
        sums = np.array([np.bincount(part.item, part.value, 150) for part in dealt])
        often = counts.min(axis=0) >= 5
        return (sums[:, often] / counts[:, often]).std(axis=0).mean()

    assert spread(parts("taste")) > 1.2 * spread(parts("random"))


def test_overlap_is_the_share_of_items_that_all_sell():
    none, some, everything = (parts(f"overlap={share}") for share in (0, 0.3, 1))
    sellers = lambda dealt: np.sum([np.bincount(p.item, minlength=150) > 0 for p in dealt], axis=0)  # noqa: E731
    assert sellers(none).max() == 1
    assert (sellers(some) > 1).sum() == pytest.approx(0.3 * 150, abs=20)
    assert sum(map(len, everything)) == len(WORLD)
    assert [part.users for part in everything] == [part.users for part in parts("random")]


def test_vertical_vendors_by_genre_have_the_items_of_their_genres():
    dealt = parts("genre", 5, distribution=Distribution.VERTICAL)
    items = [set(part.item.tolist()) for part in dealt]
    assert sum(map(len, items)) == len(set.union(*items))
    first = {WORLD.items.genres[item][0]: number for number, own in enumerate(items) for item in own}
    for number, own in enumerate(items):
        assert {first[WORLD.items.genres[item][0]] for item in own} == {number}


@pytest.mark.parametrize("words", ["colour", "overlap", "overlap=2", "genre=1", ""])
def test_words_that_mean_nothing_are_refused(words):
    with pytest.raises(DiscreetError, match="a partition is random"):
        Dealing.parse(words)


def test_what_cannot_be_dealt_so_is_refused():
    with pytest.raises(DiscreetError, match="horizontal"):
        parts("taste", distribution=Distribution.VERTICAL)
    with pytest.raises(DiscreetError, match="no genres"):
        partition(random_ratings(1, users=20, items=10), 2, dealing=Dealing(PartitionKind.GENRE))
    assert str(Dealing.parse("overlap=0.25")) == "overlap=0.25"


def test_files_are_matched_by_the_items_ids():
    first, second = random_ratings(1, users=6, items=5), random_ratings(2, users=5, items=8)
    own, matching = on_one_catalogue([first, second], Catalogue(second.items.ids, (1.0, 5.0)))
    assert [vendor[1:4] for vendor in matching.vendors] == [(5, 5, len(first)), (5, 8, len(second))]
    assert (matching.everywhere, matching.items) == (5, 8)
    assert matching.shared_users == 5
    for part, file in zip(own, (first, second), strict=True):
        names = [part.items.ids[item] for item in part.item]
        assert names == [file.items.ids[item] for item in file.item]
    everything = together(own)
    assert len(set(everything.users)) == 11
    assert "taken as different people" in " ".join(matching.in_words())
    with pytest.raises(DiscreetError, match="at least 2"):
        on_one_catalogue([first], Catalogue(first.items.ids, (1.0, 5.0)))
