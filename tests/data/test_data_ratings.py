"""Ratings: every MovieLens layout and any table with a header, and every way in which one can be wrong."""

import gzip
import zipfile

import numpy as np
import pytest
from data_files import pack
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data import lines
from discreet.data.formats.ratings_file import read_rating_table
from discreet.data.open import open_ratings
from discreet.errors import InputError

ML_100K = {
    "u.data": b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n196\t302\t5\t878887116\n",
    "u.item": "242|Kolya (1996)|24-Jan-1997||u|0|0|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|0\n"
    "302|Café (1997)|01-Jan-1997||u|0|0|0|0|0|0|1|0|0|0|1|0|0|1|0|0|1|0|0\n".encode("latin-1"),
    "u1.base": b"1\t1\t1\t1\n",
}
ML_1M = {
    "ratings.dat": b"196::242::3::881250949\n186::302::3::891717742\n196::302::5::878887116\n",
    "movies.dat": "242::Kolya (1996)::Comedy\n302::Café (1997)::Crime|Film-Noir|Mystery|Thriller\n".encode("latin-1"),
    "users.dat": b"196::F::1::10::48067\n",
}
ML_25M = {
    "ratings.csv": b"userId,movieId,rating,timestamp\n"
    b"196,242,3.0,881250949\n186,302,3.0,891717742\n196,302,4.5,878887116\n",
    "movies.csv": 'movieId,title,genres\n242,"Kolya, ""K"" (1996)",Comedy\n302,Café,(no genres listed)\n'.encode(),
    "tags.csv": b"userId,movieId,tag,timestamp\n1,2,x,3\n",
}


@pytest.mark.parametrize("files", [ML_100K, ML_1M, ML_25M], ids=["100K", "1M", "25M"])
@pytest.mark.parametrize("where", ["folder", "inside a folder", "zip", "file"])
def test_movielens(tmp_path, files, where):
    folder = tmp_path / "ml" / "inner" if where == "inside a folder" else tmp_path / "ml"
    for name, content in files.items():
        pack(folder / name, content)
    path = tmp_path / "ml"
    if where == "zip":
        path = tmp_path / "official.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(f"ml/{name}", content)
    elif where == "file":
        path = folder / next(iter(files))
    ratings = open_ratings(path)
    assert ratings.users == ["196", "186"]
    assert ratings.items.ids == ["242", "302"]
    assert ratings.user.tolist() == [0, 1, 0]
    assert ratings.item.tolist() == [0, 1, 1]
    assert ratings.time.tolist() == [881250949, 891717742, 878887116]
    assert ratings.value.dtype == np.float32
    halves = files is ML_25M
    assert ratings.value.tolist() == [3, 3, 4.5 if halves else 5]
    assert ratings.scale == (0.5 if halves else 1, 5)
    assert ratings.items.titles == (['Kolya, "K" (1996)', "Café"] if halves else ["Kolya (1996)", "Café (1997)"])
    assert ratings.items.years.tolist() == [1996, -1 if halves else 1997]
    noir = () if halves else ("Crime", "Film-Noir", "Mystery", "Thriller")
    assert ratings.items.genres == [("Comedy",), noir]
    assert ratings.density == 3 / 4


@pytest.mark.parametrize(
    "content",
    [
        "user,item,rating\na,x,1\nb,x,7\n",
        "User_ID;Score;item id;comment\na;1;x;hm\nb;7;x;\n",
        '"userId"\t"itemId"\t"rating"\na\tx\t1\nb\tx\t7\n',
        '\ufeffuser,item,rating,note\r\n"a",x,1,"one, two"\r\nb,x,7,\r\n',
        "a\tx\t1\nb\tx\t7",
        "a,x,1\nb,x,7\n",
        "a::x::1\nb::x::7\n",
        "user, item, rating\na, x, 1\nb, x , 7\n",
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_any_table(tmp_path, content, ending):
    path = tmp_path / f"mine.csv{ending}"
    pack(path, content.encode())
    ratings = open_ratings(path)
    assert ratings.name == "mine"
    assert ratings.users == ["a", "b"]
    assert ratings.items.ids == ["x"]
    assert ratings.value.tolist() == [1, 7]
    assert ratings.time.tolist() == [-1, -1]
    assert ratings.scale == (1, 7)
    assert ratings.items.titles == [""]


def test_huge_ids_are_names_like_any_other(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n99999999999999999999999,-1,2\n18446744073709551616,-1,3\n")
    ratings = open_ratings(path)
    assert ratings.users == ["99999999999999999999999", "18446744073709551616"]
    assert ratings.user.tolist() == [0, 1]


pairs = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60, unique=True)


@settings(max_examples=60, deadline=None)
@given(pairs=pairs, cuts=st.integers(1, 7), data=st.data())
def test_blocks_make_no_difference(pairs, cuts, data):
    values = data.draw(st.lists(st.integers(1, 10), min_size=len(pairs), max_size=len(pairs)))
    rows = [f"u{u}::i{i}::{v / 2}::{n}\n".encode() for n, ((u, i), v) in enumerate(zip(pairs, values, strict=True))]
    blocks = [(start + 1, b"".join(rows[start : start + cuts])) for start in range(0, len(rows), cuts)]
    table = read_rating_table("r.dat", blocks)
    users, items = table.users.to_list(), table.items.to_list()
    read = [(users[u], items[i]) for u, i in zip(table.user, table.item, strict=True)]
    assert read == [(f"u{u}", f"i{i}") for u, i in pairs]
    assert table.value.tolist() == [v / 2 for v in values]
    assert table.time.tolist() == list(range(len(pairs)))


BAD_ROWS = {
    "NaN": ("c,y,NaN,5", "'NaN'"),
    "infinite": ("c,y,inf,5", "'inf'"),
    "too large": ("c,y,1e40,5", "'1e40' is not a number up to 3.40282e+38"),
    "a time out of bounds": ("c,y,3,1e30", "'1e30'"),
    "not a number": ("c,y,good,5", "'good'"),
    "no rating": ("c,y,,5", "no rating"),
    "no user": (",y,3,5", "no user"),
    "no item": ("c,,3,5", "no item"),
    "cut off": ("c,y", "2 comma-separated fields, 4 expected"),
    "too many fields": ("c,y,3,5,6", "5 comma-separated fields"),
    "a bad time": ("c,y,3,yesterday", "'yesterday'"),
    "twice": ("b,x,4,9", r"user b rates item x a second time (first on line 3)"),
    "not UTF-8": ("c,\udce9,3,5", "not UTF-8"),
    "blank": ("", "fields"),
}


@pytest.mark.parametrize("block_bytes", [24, 1 << 20])
@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_named(tmp_path, monkeypatch, case, block_bytes):
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    bad, problem = BAD_ROWS[case]
    path = tmp_path / "r.csv"
    text = f"user,item,rating,timestamp\na,x,1,5\nb,x,2,5\na,z,3,5\n{bad}\nd,x,2,5\n"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        open_ratings(path)
    assert caught.value.line == 5
    assert caught.value.path == path
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no ratings"),
        (b"user,item,rating\n", "no ratings"),
        (b"user,item,opinion\na,b,1\n", "rating"),
        (b"who,item,rating\na,b,1\n", "user"),
        (b"\n\n", "user"),
    ],
)
def test_no_ratings_in_a_file(tmp_path, content, problem):
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        open_ratings(path)


def test_damaged_zip_and_gzip(tmp_path):
    path = tmp_path / "ml.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "ml/ratings.csv", b"userId,movieId,rating,timestamp\n" + b"".join(b"%d,1,3.5,7\n" % i for i in range(999))
        )
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(InputError, match="damaged"):
        open_ratings(path)
    path.write_bytes(whole[:300] + bytes(200) + whole[500:])
    with pytest.raises(InputError, match="damaged"):
        open_ratings(path)
    packed = tmp_path / "r.csv.gz"
    packed.write_bytes(gzip.compress(b"user,item,rating\na,x,1\n")[:-6])
    with pytest.raises(InputError, match="damaged"):
        open_ratings(packed)


def test_folders_without_ratings(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_ratings(tmp_path / "nowhere")
    with pytest.raises(InputError, match="empty folder"):
        open_ratings(tmp_path)
    pack(tmp_path / "a.csv", b"user,item,rating\na,x,1\n")
    pack(tmp_path / "b.csv", b"user,item,rating\na,x,1\n")
    with pytest.raises(InputError, match="not a ratings data set"):
        open_ratings(tmp_path)
    (tmp_path / "b.csv").unlink()
    assert len(open_ratings(tmp_path)) == 1
