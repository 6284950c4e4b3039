"""Small files that unpack to very much, and tables that are none: one line, and no memory."""

import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile

import polars as pl
import pytest

from discreet.cli import run
from discreet.data import lines
from discreet.data.open import open_news, open_ratings
from discreet.data.validation import check_data
from discreet.errors import DiscreetError, InputError
from discreet.text.word_vectors import read_word_vectors
from discreet.unpacking import MIN_LIMIT, VARIABLE, max_unpacked

HEAD = b"user,item,rating\n"


def row(number):
    return b"u%d,i%d,3\n" % (number, number)


def bomb_content():
    """More than the limit, in pieces that pack very well."""
    yield HEAD
    piece = b"u,i,3\n" * (1 << 18)
    for _ in range(MIN_LIMIT // len(piece) + 2):
        yield piece


@pytest.fixture(scope="module")
def bombs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    packed = zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with packed as archive, archive.open("ratings.csv", "w") as member:
        for piece in bomb_content():
            member.write(piece)
    head, piece, *more = bomb_content()
    for name, pack in (("bomb.csv.gz", gzip.compress), ("bomb.csv.xz", lzma.compress)):  # files may follow one another
        (folder / name).write_bytes(pack(head) + pack(piece) * (1 + len(more)))
    return folder


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.csv.gz", "bomb.csv.xz"])
def test_a_small_file_that_unpacks_to_very_much_is_refused(bombs, name, monkeypatch):
    path = bombs / name
    assert path.stat().st_size * 50 < MIN_LIMIT
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1 << 20)
    monkeypatch.setattr("discreet.data.formats.movielens.read_rating_table", lambda _, blocks: list(map(len, blocks)))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"{name}: unpacks to more than 256 MiB.*{VARIABLE}"):
            open_ratings(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_one_endless_line_is_refused_too(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1M")
    with gzip.open(tmp_path / "line.csv.gz", "wb") as file:
        file.write(HEAD + b"u" * (2 << 20))
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        open_ratings(tmp_path / "line.csv.gz")


def test_archives_of_news_and_word_vectors_have_the_same_limit(tmp_path, monkeypatch):
    content = b"user_id,click_article_id,click_timestamp\n" + b"1,2,3\n" * 200_000
    with tarfile.open(tmp_path / "globo.tar.gz", "w:gz") as archive:
        for hour in range(3):
            member = tarfile.TarInfo(f"clicks/clicks_hour_00{hour}.csv")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    with gzip.open(tmp_path / "words.txt.gz", "wb") as file:
        file.write(b"word 1 2\n" * 200_000)
    monkeypatch.setenv(VARIABLE, "1M")
    with pytest.raises(InputError, match=r"globo\.tar\.gz: unpacks to more than 1 MiB"):
        open_news(tmp_path / "globo.tar.gz")
    with pytest.raises(InputError, match=r"words\.txt\.gz: unpacks to more than 1 MiB"):
        read_word_vectors(tmp_path / "words.txt.gz", only=["other"])


def test_a_parquet_file_of_very_many_rows_is_refused_before_it_is_read(tmp_path, monkeypatch):
    for split in ("train", "validation"):
        (tmp_path / split).mkdir()
        columns = {"impression_id": 1, "user_id": 1}
        frame = pl.select(pl.repeat(value, 500_000).alias(name) for name, value in columns.items())
        frame = frame.with_columns(pl.lit(0).cast(pl.Datetime).alias("impression_time"), article_ids_inview=pl.lit([1]))
        frame.write_parquet(tmp_path / split / "behaviors.parquet")
        frame.select("user_id", article_id_fixed=pl.lit([1])).write_parquet(tmp_path / split / "history.parquet")
    monkeypatch.setenv(VARIABLE, "1M")
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("was read"))
    with pytest.raises(InputError, match=r"behaviors\.parquet: unpacks to more than 1 MiB"):
        open_news(tmp_path)


def test_the_limit_grows_with_the_file_and_can_be_set(tmp_path, monkeypatch):
    file = tmp_path / "f"
    file.write_bytes(b"x")
    assert max_unpacked(file) == MIN_LIMIT
    with file.open("r+b") as grown:
        grown.truncate(MIN_LIMIT)
    assert max_unpacked(file) == 100 * MIN_LIMIT
    for given, bytes_ in {"5": 5, "3k": 3 << 10, "20G": 20 << 30, "1MiB": 1 << 20}.items():
        monkeypatch.setenv(VARIABLE, given)
        assert max_unpacked(file) == bytes_
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(DiscreetError, match="such as 20G, not 'much'"):
        max_unpacked(file)


def test_what_is_packed_and_honest_is_read(tmp_path):
    content = HEAD + b"".join(map(row, range(2000)))
    with gzip.open(tmp_path / "r.csv.gz", "wb") as file:
        file.write(content)
    with lzma.open(tmp_path / "r.csv.xz", "wb") as file:
        file.write(content)
    assert len(open_ratings(tmp_path / "r.csv.gz")) == len(open_ratings(tmp_path / "r.csv.xz")) == 2000


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'"' + b"x" * 140_000 + b'",item,rating\n1,2,3\n', 1),
        (HEAD + row(1) + b'"' + b"x" * 140_000 + b'",2\n', 3),
        (b'us"er\r,item,rating\n1,2,3\n', 1),
    ],
)
def test_what_the_csv_library_refuses_is_one_line_with_its_place(tmp_path, content, line, capsys):
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"r\.csv:{line}: "):
        open_ratings(path)
    assert run(["vendors", "compare", str(path), "--out", str(tmp_path / "o")]) == 2
    assert capsys.readouterr().err.startswith(f"discreet: {path}:{line}: ")


def test_titles_that_the_csv_library_refuses_are_one_line_too(tmp_path):
    (tmp_path / "ratings.csv").write_bytes(HEAD + row(1))
    (tmp_path / "movies.csv").write_bytes(b'movieId,title,genres\ni1,A,B\ni2,"' + b"x" * 140_000 + b'",B\n')
    with pytest.raises(InputError, match=r"movies\.csv:3: cannot be read as comma-separated"):
        open_ratings(tmp_path)


def test_unknown_columns_are_named_with_those_expected(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"who,what,rating\n1,2,3\n")
    for read in (open_ratings, check_data):
        with pytest.raises(InputError, match=r"no user or item column among 'who, what, rating'.*user, userid, uid;"):
            read(path)
