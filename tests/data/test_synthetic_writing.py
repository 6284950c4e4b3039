"""The generated world in MIND's files: read back unchanged, the same bytes from the same seed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

from discreet.data.formats.mind import read_mind
from discreet.data.news import NewsData
from discreet.data.synthetic import news_world, write_mind
from discreet.errors import DiscreetError


@pytest.fixture(scope="module")
def data() -> NewsData:
    return news_world(200, seed=8)


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_what_is_written_is_read_back(data: NewsData, tmp_path: Path) -> None:
    write_mind(data, tmp_path / "world")
    back = read_mind(tmp_path / "world")
    text = {name: i for i, name in enumerate(data.articles.ids)}
    for i, name in enumerate(back.articles.ids):
        assert back.articles.titles[i] == data.articles.titles[text[name]]
        assert back.articles.subcategories[i] == data.articles.subcategories[text[name]]
    assert list(back.splits) == list(data.splits) == ["train", "dev"]
    for split, ours in data.splits.items():
        theirs = back.splits[split]
        assert theirs.labelled
        np.testing.assert_array_equal(theirs.time, ours.time)
        np.testing.assert_array_equal(theirs.slate, ours.slate)
        np.testing.assert_array_equal(theirs.clicked, ours.clicked)
        assert [back.articles.ids[a] for a in theirs.shown] == [data.articles.ids[a] for a in ours.shown]
        for i in range(len(ours)):
            assert back.readers[theirs.reader[i]] == data.readers[ours.reader[i]]
            assert [back.articles.ids[a] for a in theirs.history(i)] == [data.articles.ids[a] for a in ours.history(i)]


def test_the_files_have_minds_columns_and_times(data: NewsData, tmp_path: Path) -> None:
    write_mind(data, tmp_path / "world")
    for split in ("train", "dev"):
        news = (tmp_path / "world" / split / "news.tsv").read_text(encoding="utf-8").splitlines()
        behaviors = (tmp_path / "world" / split / "behaviors.tsv").read_text(encoding="utf-8").splitlines()
        assert all(len(line.split("\t")) == 8 for line in news)
        assert len(behaviors) == len(data.splits[split])
        for line in behaviors:
            _, reader, time, history, slate = line.split("\t")
            assert re.fullmatch(r"U\d+", reader)
            assert re.fullmatch(r"11/\d{1,2}/2019 (1[0-2]|[1-9]):[0-5]\d:[0-5]\d [AP]M", time)
            assert re.fullmatch(r"(N\d+( N\d+)*)?", history)
            assert re.fullmatch(r"N\d+-[01]( N\d+-[01])+", slate)


def test_articles_of_the_dev_day_are_not_in_the_train_files(data: NewsData, tmp_path: Path) -> None:
    write_mind(data, tmp_path / "world")
    lines = (tmp_path / "world" / "train" / "news.tsv").read_text(encoding="utf-8").splitlines()
    written = {line.split("\t", 1)[0] for line in lines}
    last = data.splits["train"].time.max()
    out = {
        name for name, published in zip(data.articles.ids, data.articles.published, strict=True) if published <= last
    }
    assert written == out
    assert len(out) < len(data.articles)


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        write_mind(news_world(60, seed=seed), tmp_path / name)
    assert digests(tmp_path / "one") == digests(tmp_path / "same")
    assert set(digests(tmp_path / "one").values()).isdisjoint(digests(tmp_path / "other").values())


def test_a_full_folder_is_kept_unless_told_otherwise(data: NewsData, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(DiscreetError, match="not empty"):
        write_mind(data, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    with pytest.raises(DiscreetError, match="not written by Discreet"):
        write_mind(data, tmp_path, overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "precious"
    write_mind(data, tmp_path / "own")
    before = digests(tmp_path / "own")
    write_mind(data, tmp_path / "own", overwrite=True)
    assert digests(tmp_path / "own") == before
