"""MIND: what is written is read back, in every layout and compression; what is broken is named by file and line."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from data_files import mind_line, mind_news, pack, write_mind
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data import lines
from discreet.data.formats.mind import read_mind
from discreet.data.open import open_news
from discreet.errors import InputError

NOON = 1573646400
IDS = ["N1", "N2", "N3", "a-7", "x"]


def small(folder: Path, ending: str = "") -> None:
    train = mind_line(1, "U1", NOON, ["N1", "N2"], ["N3-0", "a-7-1"]) + mind_line(2, "U2", NOON - 60, [], ["N1-0"])
    write_mind(folder / "train", mind_news(IDS[:4]), train, ending)
    dev = mind_line(1, "U3", NOON + 60, ["x"], ["N1-1", "x-0"]) + mind_line(2, "U1", NOON + 60, ["N1", "N2"], ["x-1"])
    write_mind(folder / "dev", mind_news([*IDS[2:], "N9"]), dev, ending)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_splits_share_articles_and_readers(tmp_path, ending):
    small(tmp_path, ending)
    data = open_news(tmp_path)
    assert list(data.splits) == ["train", "dev"]
    assert data.articles.ids == ["N1", "N2", "N3", "a-7", "x", "N9"]
    assert data.articles.titles[3] == "Title of a-7"
    assert data.articles.subcategories[0] == "subN1"
    assert sorted(data.readers) == ["U1", "U2", "U3"]
    train, dev = data.splits["train"], data.splits["dev"]
    assert train.time.tolist() == [NOON - 60, NOON]
    assert [data.readers[i] for i in train.reader] == ["U2", "U1"]
    assert train.history(0).tolist() == []
    assert train.history(1).tolist() == [0, 1]
    assert train.slate_sizes.tolist() == [1, 2]
    assert train.shown.tolist() == [0, 2, 3]
    assert train.clicked.tolist() == [False, False, True]
    assert [data.readers[i] for i in dev.reader] == ["U3", "U1"]


@pytest.mark.parametrize("prefix", ["MINDsmall_", "MINDlarge_", ""])
def test_official_folder_names(tmp_path, prefix):
    write_mind(tmp_path / f"{prefix}train", mind_news(["N1"]), mind_line(1, "U", NOON, [], ["N1-1"]))
    write_mind(tmp_path / f"{prefix}dev", mind_news(["N2"]), mind_line(1, "U", NOON, [], ["N2-1"]))
    write_mind(tmp_path / f"{prefix}test", mind_news(["N3"]), mind_line(1, "V", NOON, ["N1"], ["N3", "N2"]))
    data = open_news(tmp_path)
    assert list(data.splits) == ["train", "dev", "test"]
    assert data.splits["dev"].labelled
    assert not data.splits["test"].labelled
    assert data.splits["test"].shown.tolist() == [2, 1]
    assert not data.splits["test"].clicked.any()


def test_a_split_folder_alone(tmp_path):
    write_mind(tmp_path / "MINDsmall_dev", mind_news(["N1"]), mind_line(1, "U", NOON, [], ["N1-1"]))
    assert list(open_news(tmp_path / "MINDsmall_dev").splits) == ["dev"]
    (tmp_path / "MINDsmall_dev").rename(tmp_path / "mine")
    assert list(open_news(tmp_path / "mine").splits) == ["train"]


def test_empty_text_fields_and_quotes_are_kept_as_they_are(tmp_path):
    news = 'N1\tnews\t\tShe said "no\t\t\t\t\nN2\tnews\tx\t"Two" words\tabs\tu\t[]\t[]\n'
    write_mind(tmp_path / "train", news, mind_line(1, "U", NOON, [], ["N1-0", "N2-0"]))
    articles = open_news(tmp_path).articles
    assert articles.titles == ['She said "no', '"Two" words']
    assert articles.subcategories == ["", "x"]
    assert articles.abstracts == ["", "abs"]
    assert articles.published.tolist() == [-1, -1]


def test_windows_line_ends_and_a_last_line_without_end(tmp_path):
    behaviors = (mind_line(1, "U", NOON, ["N1"], ["N2-1"]) + mind_line(2, "V", NOON, ["N2"], ["N1-0"])).rstrip("\n")
    write_mind(tmp_path / "train", mind_news(["N1", "N2"]).replace("\n", "\r\n"), behaviors.replace("\n", "\r\n"))
    part = open_news(tmp_path).splits["train"]
    assert part.shown.tolist() == [1, 0]
    assert part.clicked.tolist() == [True, False]


def test_a_repeated_history_is_stored_once(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    behaviors = "".join(mind_line(i, "U", NOON + i, ["N1", "N2", "N1"], ["N2-1"]) for i in range(20))
    write_mind(tmp_path / "train", mind_news(["N1", "N2"]), behaviors)
    part = open_news(tmp_path).splits["train"]
    assert part.timeline.tolist() == [0, 1, 0]
    assert all(part.history(i).tolist() == [0, 1, 0] for i in range(20))


names = st.lists(st.sampled_from(IDS), max_size=6)
shown = st.lists(st.tuples(st.sampled_from(IDS), st.booleans()), min_size=1, max_size=6)
impressions = st.lists(
    st.tuples(st.sampled_from(["U1", "Ü", "3"]), st.integers(0, 2_000_000_000), names, shown), min_size=1, max_size=25
)


@settings(max_examples=60, deadline=None)
@given(log=impressions, block_bytes=st.sampled_from([1, 40, 1 << 20]), ending=st.sampled_from(["", ".gz", ".xz"]))
def test_round_trip(log, block_bytes, ending):
    behaviors = "".join(
        mind_line(i, reader, time, history, [f"{name}-{int(clicked)}" for name, clicked in slate])
        for i, (reader, time, history, slate) in enumerate(log)
    )
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block_bytes)
        write_mind(Path(folder) / "train", mind_news(IDS), behaviors, ending)
        data = read_mind(Path(folder))
    part = data.splits["train"]
    read = [
        (
            data.readers[part.reader[i]],
            int(part.time[i]),
            [data.articles.ids[a] for a in part.history(i)],
            [
                (data.articles.ids[part.shown[j]], bool(part.clicked[j]))
                for j in range(part.slate[i], part.slate[i + 1])
            ],
        )
        for i in range(len(part))
    ]
    assert read == sorted(log, key=lambda impression: impression[1])
    distinct = {tuple(history) for _, _, history, _ in log}
    assert len(part.timeline) == sum(map(len, distinct))


GOOD = [mind_line(i, "U", NOON + i, ["N1"], ["N2-0", "N1-1"]) for i in range(5)]
BAD_LINES = {
    "unknown article in the slate": (mind_line(9, "U", NOON, [], ["N2-0", "N77-1"]), "N77"),
    "unknown article in the history": (mind_line(9, "U", NOON, ["N1", "N78"], ["N2-0"]), "N78"),
    "a label that is neither": (mind_line(9, "U", NOON, [], ["N2-0", "N1-2"]), "'N1-2' in the slate does not end"),
    "no label": (mind_line(9, "U", NOON, [], ["N2"]), "-0 or -1"),
    "no slate": (mind_line(9, "U", NOON, ["N1"], []), "slate is empty"),
    "two spaces": (mind_line(9, "U", NOON, ["N1", "", "N2"], ["N2-0"]), "article ''"),
    "a bad date": ("9\tU\t31/12/2019 5:53:12 AM\tN1\tN2-0\n", "31/12/2019"),
    "no date": ("9\tU\t\tN1\tN2-0\n", "is not a time"),
    "no reader": ("9\t\t11/13/2019 5:53:12 AM\tN1\tN2-0\n", "no reader"),
    "cut off": ("9\tU\t11/13/2019 5:53:12 AM\tN1\n", "4 tab-separated fields, 5 expected"),
    "too many fields": ("9\tU\t11/13/2019 5:53:12 AM\tN1\tN2-0\tmore\n", "6 tab-separated fields"),
    "a blank line": ("\n", "1 tab-separated fields"),
}


@pytest.mark.parametrize("block_bytes", [50, 1 << 20])
@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_named(tmp_path, monkeypatch, case, block_bytes):
    monkeypatch.setattr(lines, "BLOCK_BYTES", block_bytes)
    bad, problem = BAD_LINES[case]
    write_mind(tmp_path / "train", mind_news(["N1", "N2"]), "".join([*GOOD[:3], bad, *GOOD[3:]]))
    with pytest.raises(InputError) as caught:
        open_news(tmp_path)
    assert caught.value.path == tmp_path / "train" / "behaviors.tsv"
    assert caught.value.line == 4
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_NEWS = {
    "not UTF-8": (b"N2\tnews\tx\tcaf\xe9\ta\tu\t[]\t[]\n", "not UTF-8"),
    "cut off": (b"N2\tnews\tx\tTitle\n", "4 tab-separated fields, 8 expected"),
    "an id twice": (mind_news(["N1"]).encode(), "N1 stands here a second time"),
    "no id": (b"\tnews\tx\tTitle\ta\tu\t[]\t[]\n", "no article id"),
}


@pytest.mark.parametrize("case", BAD_NEWS)
def test_a_bad_article_is_named(tmp_path, case):
    bad, problem = BAD_NEWS[case]
    write_mind(tmp_path / "train", "", "".join(GOOD))
    pack(tmp_path / "train" / "news.tsv", mind_news(["N1", "N3"]).encode() + bad + mind_news(["N2"]).encode())
    with pytest.raises(InputError, match=problem) as caught:
        open_news(tmp_path)
    assert caught.value.path.name == "news.tsv"
    assert caught.value.line == 3


@pytest.mark.parametrize("ending", [".gz", ".xz"])
@pytest.mark.parametrize("harm", [lambda raw: raw[:-20], lambda raw: b"nonsense" + raw])
def test_damaged_archives(tmp_path, ending, harm):
    small(tmp_path, ending)
    file = tmp_path / "train" / f"behaviors.tsv{ending}"
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(InputError, match="damaged") as caught:
        open_news(tmp_path)
    assert caught.value.path == file


def test_files_that_are_missing_or_empty(tmp_path):
    small(tmp_path)
    (tmp_path / "dev" / "behaviors.tsv").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        open_news(tmp_path)
    (tmp_path / "dev" / "news.tsv").unlink()
    with pytest.raises(InputError, match=r"has no news\.tsv"):
        open_news(tmp_path)


def test_two_sets_of_one_split(tmp_path):
    for name in ("MINDsmall_train", "MINDlarge_train"):
        write_mind(tmp_path / name, mind_news(["N1"]), mind_line(1, "U", NOON, [], ["N1-1"]))
    with pytest.raises(InputError, match="two train sets"):
        open_news(tmp_path)


def test_splits_that_overlap_in_time_are_refused(tmp_path):
    write_mind(tmp_path / "train", mind_news(["N1"]), mind_line(1, "U", NOON + 5, [], ["N1-1"]))
    write_mind(tmp_path / "dev", mind_news(["N1"]), mind_line(1, "U", NOON, [], ["N1-1"]))
    with pytest.raises(InputError, match="overlap"):
        open_news(tmp_path)


def test_impressions_without_clicks_are_kept(tmp_path):
    small(tmp_path)
    part = open_news(tmp_path).splits["train"]
    clicks = np.bincount(part.impression_of_shown[part.clicked], minlength=len(part))
    assert clicks.tolist() == [0, 1]
