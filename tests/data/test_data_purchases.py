"""Purchases and clicks: what is read, what is refused with its line, and what repeated ones become."""

import numpy as np
import pytest

from discreet.cli import run
from discreet.data.open import open_purchases
from discreet.data.purchases import Purchases
from discreet.data.synthetic import purchases_world, ratings_world, write_purchases
from discreet.data.validation import check_data
from discreet.errors import DiscreetError, InputError


def written(folder, text, name="shop.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def pairs(purchases):
    names = zip(purchases.user, purchases.item, purchases.value, strict=True)
    return {(purchases.users[user], purchases.items.ids[item]): float(value) for user, item, value in names}


def test_repeated_purchases_become_one_with_the_counts_added_and_the_last_time(tmp_path):
    text = "time,customer,sku,quantity\n50,ann,x,2\n10,ann,x,3\n20,bob,x,1\n30,ann,y,1\n"
    purchases = open_purchases(written(tmp_path, text))
    assert pairs(purchases) == {("ann", "x"): 5.0, ("bob", "x"): 1.0, ("ann", "y"): 1.0}
    assert purchases.time.tolist() == [20, 30, 50]
    assert purchases.has_times


@pytest.mark.parametrize("time", ["2024-05-01", "2024-05-01T00:00:00", "2024-05-01 00:00:00", "1714521600"])
def test_times_are_seconds_or_dates(tmp_path, time):
    assert open_purchases(written(tmp_path, f"user,item,time\na,b,{time}\n")).time.tolist() == [1714521600]


def test_user_and_item_alone_are_enough_and_other_columns_do_not_matter(tmp_path):
    purchases = open_purchases(written(tmp_path, "id;userId;colour;itemId\n1;7;red;x\n2;8;blue;x\n"))
    assert pairs(purchases) == {("7", "x"): 1.0, ("8", "x"): 1.0}
    assert not purchases.has_times


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("user,item\na,x\nb\n", 3, "2 expected"),
        ("user,item\na,x\nb,\n", 3, "has no item"),
        ("user,item,count\na,x,1\nb,y,none\n", 3, "the count 'none'"),
        ("user,item,count\na,x,0\n", 2, "the count '0' is not a number above 0"),
        ("user,item,time\na,x,5\nb,x,soon\n", 3, "the time 'soon'"),
        ("who,what\na,x\n", 1, "no user or item column"),
        ("user,item\n", None, "holds no purchases"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, line, words):
    with pytest.raises(InputError, match=words) as error:
        open_purchases(written(tmp_path, text))
    assert (f":{line}:" in str(error.value)) or (line is None)
    assert "\n" not in str(error.value)


def test_ratings_count_as_likes_from_the_threshold_on():
    ratings = ratings_world(50, 80, 500, seed=1)
    liked = Purchases.from_ratings(ratings, 4)
    assert len(liked) == int((ratings.value >= 4).sum())
    assert set(liked.value.tolist()) == {1.0}
    with pytest.raises(DiscreetError, match="lower --threshold"):
        Purchases.from_ratings(ratings, 6)


def test_a_written_world_is_read_again_and_checked(tmp_path):
    world = purchases_world(60, 40, seed=3)
    write_purchases(world, tmp_path / "shop")
    read = open_purchases(tmp_path / "shop")
    assert pairs(read) == pairs(world)
    first = world.items.genres[world.items.ids.index(read.items.ids[0])]
    assert read.items.genres[0] == first
    counts = check_data(tmp_path / "shop")
    assert (counts["kind"], counts["purchases"]) == ("purchases", len(world))


def test_the_world_has_popular_items_users_with_one_item_and_repeats():
    world = purchases_world(400, 200, seed=0)
    sold = np.sort(np.bincount(world.item, minlength=200))[::-1]
    assert sold[:20].sum() > 2 * sold[90:110].sum()
    assert np.bincount(world.user).min() == 1
    assert world.value.max() > 1
    assert np.array_equal(world.item, purchases_world(400, 200, seed=0).item)


def test_a_frame_of_purchases():
    purchases = Purchases.from_frame({"user": [1, 1, 2], "item": ["x", "x", "y"]})
    assert pairs(purchases) == {("1", "x"): 2.0, ("2", "y"): 1.0}
    with pytest.raises(DiscreetError, match="row 0: 'count' is 0, not above 0"):
        Purchases.from_frame({"user": [1], "item": ["x"], "count": [0]})


def test_synth_makes_one_world_at_a_time(tmp_path, capsys):
    assert run(["data", "synth", str(tmp_path / "w"), "--ratings", "--purchases"]) == 2
    assert "choose one" in capsys.readouterr().err


@pytest.mark.realdata
@pytest.mark.long
def test_globo_clicks_are_implicit_feedback(shared_data):
    clicks = open_purchases(shared_data / "globo" / "clicks.tar.xz")
    assert clicks.value.sum(dtype=np.float64) == 2_988_181
    assert (len(clicks.users), len(clicks.items)) == (322_897, 46_033)
