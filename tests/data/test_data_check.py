"""Recognising a data set by its path, and counting what is in it."""

import json
import zipfile

import pytest
from data_files import mind_line, mind_news, pack, write_adressa, write_globo, write_mind

from discreet.data.formats.format_registry import recognise
from discreet.data.open import open_news
from discreet.data.validation import check_data
from discreet.errors import InputError

NOON = 1573646400


def test_counts_of_news(tmp_path):
    train = [(NOON, ["N1", "N2"], ["N3-0", "N1-1"]), (NOON + 1, [], ["N1-0", "N2-0", "N3-0", "N1-0"])]
    lines = "".join(mind_line(i, f"U{i}", *rest) for i, rest in enumerate(train))
    write_mind(tmp_path / "train", mind_news(["N1", "N2", "N3"]), lines)
    write_mind(tmp_path / "test", mind_news(["N4"]), mind_line(1, "U0", NOON + 9, ["N1"], ["N4", "N2"]))
    counts = check_data(tmp_path)
    assert json.loads(json.dumps(counts)) == counts
    assert (counts["kind"], counts["format"], counts["articles"], counts["readers"]) == ("news", "mind", 4, 2)
    assert counts["articles_with_title"] == 4
    assert counts["splits"]["train"] == {
        "impressions": 2,
        "readers": 2,
        "articles_shown": 3,
        "clicks": 1,
        "without_clicks": 1,
        "slate_mean": 3.0,
        "slate_median": 3.0,
        "history_mean": 1.0,
        "history_median": 1.0,
        "empty_histories": 1,
        "first": "2019-11-13T12:00:00+00:00",
        "last": "2019-11-13T12:00:01+00:00",
    }
    assert counts["splits"]["test"]["clicks"] is None
    assert counts["splits"]["test"]["without_clicks"] is None


def test_counts_of_ratings(tmp_path):
    pack(tmp_path / "r.csv", b"user,item,rating,timestamp\na,x,1,0\na,y,2,60\nb,x,4,30\n")
    counts = check_data(tmp_path / "r.csv")
    assert json.loads(json.dumps(counts)) == counts
    assert counts == {
        "kind": "ratings",
        "format": "ratings",
        "name": "r",
        "users": 2,
        "items": 2,
        "items_with_title": 0,
        "ratings": 3,
        "density": 0.75,
        "scale": [1.0, 4.0],
        "mean": pytest.approx(7 / 3),
        "ratings_per_user_median": 1.5,
        "first": "1970-01-01T00:00:00+00:00",
        "last": "1970-01-01T00:01:00+00:00",
    }


def test_what_is_nothing_known(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_news(tmp_path / "nowhere")
    with pytest.raises(InputError, match="empty folder"):
        check_data(tmp_path)
    (tmp_path / "letter.txt").write_text("Dear reader,\n")
    for path in (tmp_path, tmp_path / "letter.txt"):
        assert recognise(path) is None
        with pytest.raises(InputError, match="no known format"):
            check_data(path)
        with pytest.raises(InputError, match="not a news data set"):
            open_news(path)


@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz", "x.tar.xz"])
def test_an_archive_that_is_none(tmp_path, name):
    (tmp_path / name).write_bytes(b"this is no archive at all")
    with pytest.raises(InputError, match="damaged"):
        check_data(tmp_path / name)


def test_two_sets_in_one_folder_are_not_mixed(tmp_path):
    (tmp_path / "sets").mkdir()
    for name in ("one", "two"):
        write_adressa(tmp_path / "news" / name, [[{"userId": "u", "time": i, "id": "x"}] for i in range(2)])
        write_globo(tmp_path, [(1, 2, 3000), (1, 3, 4000)])
        (tmp_path / "clicks").rename(tmp_path / "sets" / name)
        pack(tmp_path / "ratings" / name / "ratings.csv", b"userId,movieId,rating,timestamp\n1,2,3,4\n")
    for kind in ("news", "sets", "ratings"):
        with pytest.raises(InputError, match="several data sets"):
            check_data(tmp_path / kind)


def test_a_zip_of_mind_is_to_be_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "MINDsmall_train.zip", "w") as archive:
        archive.writestr("behaviors.tsv", "x")
        archive.writestr("news.tsv", "x")
    with pytest.raises(InputError, match="unpack it first"):
        open_news(tmp_path / "MINDsmall_train.zip")


def test_ratings_are_not_news(tmp_path):
    pack(tmp_path / "r.csv", b"user,item,rating\na,x,1\n")
    with pytest.raises(InputError, match="not a news data set"):
        open_news(tmp_path / "r.csv")
