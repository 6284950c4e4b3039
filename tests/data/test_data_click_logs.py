"""Globo and Adressa: days and quantiles cut as documented, archives and folders alike, bad lines named."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest
from data_files import DAY, MIDNIGHT, pack, write_adressa, write_globo

from discreet.data.formats.format_registry import recognise
from discreet.data.open import open_news
from discreet.errors import InputError


def article(name, **more):
    return {"id": name, "title": f"Tittel {name}", "category1": "nyheter|innenriks|politi", **more}


def week():
    """Seven days; every reader opens a new article every hour, and the front page in between."""
    return [
        [
            {"userId": f"cx:{r}", "time": 3600 * hour + r, "url": "http://adressa.no"} | extra
            for hour in range(6)
            for r in range(4)
            for extra in ({}, article(f"a{day * 6 + hour}-{r % 2}", publishtime="2016-12-31T22:00:00.000Z"))
        ]
        for day in range(7)
    ]


def test_adressa_five_days_history_then_train_then_dev(tmp_path):
    write_adressa(tmp_path, week())
    data = open_news(tmp_path)
    train, dev = data.splits["train"], data.splits["dev"]
    assert train.time.min() >= MIDNIGHT + 5 * DAY > train.time.min() - DAY
    assert train.time.max() < MIDNIGHT + 6 * DAY <= dev.time.min()
    assert len(train) == len(dev) == 24
    assert train.history_sizes.min() == 30
    assert dev.history_sizes.max() == 41
    assert (train.slate_sizes == 21).all()
    assert data.articles.categories[0] == "nyheter"
    assert data.articles.subcategories[0] == "innenriks|politi"
    assert data.articles.published[0] == MIDNIGHT - 3600
    assert set(data.readers) == {f"cx:{r}" for r in range(4)}
    assert len(data.articles) == 7 * 6 * 2


def test_adressa_known_by_url_where_there_is_no_id(tmp_path):
    url = {"canonicalUrl": "http://adressa.no/1.ece", "publishtime": "2017-01-01T05:00:00Z"}
    front = {"canonicalUrl": "http://adressa.no"}
    events = [{"userId": "cx:1", "time": 1} | url, {"userId": "cx:1", "time": 2} | front]
    write_adressa(tmp_path, [events, [{"userId": "cx:1", "time": 5} | article("x")]])
    assert open_news(tmp_path).articles.ids == ["http://adressa.no/1.ece", "x"]


def test_adressa_title_may_come_with_a_later_event(tmp_path):
    write_adressa(tmp_path, [[{"userId": "u", "time": 1, "id": "x"}], [{"userId": "v", "time": 5} | article("x")]])
    assert open_news(tmp_path).articles.titles == ["Tittel x"]


BAD_EVENTS = {
    "cut off": (b'{"userId": "cx:1", "time": 14832', "not JSON"),
    "not an object": (b"[1, 2]", "not a JSON object"),
    "no reader": (b'{"time": 1483225200, "id": "x"}', "no userId"),
    "a bad time": (b'{"userId": "cx:1", "time": "noon", "id": "x"}', "'noon'"),
    "no time": (b'{"userId": "cx:1", "id": "x"}', "None"),
    "a bad date": (b'{"userId": "cx:1", "time": 1483225200, "publishtime": "1 Jan 2017"}', "1 Jan 2017"),
    "an impossible date": (b'{"userId": "c", "time": 1483225200, "publishtime": "2017-02-31T00:00:00Z"}', "2017-02-31"),
    "not UTF-8": (b'{"userId": "cx:\xe5", "time": 1483225200}', "not UTF-8"),
}


@pytest.mark.parametrize("case", BAD_EVENTS)
def test_adressa_bad_lines(tmp_path, case):
    bad, problem = BAD_EVENTS[case]
    write_adressa(tmp_path, week())
    good = (tmp_path / "20170103").read_bytes().splitlines()
    (tmp_path / "20170103").write_bytes(b"\n".join([*good[:2], bad, *good[2:]]))
    with pytest.raises(InputError, match="20170103:3: ") as caught:
        open_news(tmp_path)
    assert problem in str(caught.value)


def test_adressa_one_day_is_too_few(tmp_path):
    write_adressa(tmp_path, week()[:1])
    with pytest.raises(InputError, match="only one day"):
        open_news(tmp_path)


def test_adressa_without_articles(tmp_path):
    front = [{"userId": "u", "time": 1}]
    write_adressa(tmp_path, [front, front])
    with pytest.raises(InputError, match="no event names an article"):
        open_news(tmp_path)


def globo_clicks():
    rng = np.random.default_rng(0)
    times = np.sort(rng.integers(0, 10_000_000, 700)) + 1_506_826_800_000
    return [
        (int(r), int(a), int(t))
        for r, a, t in zip(rng.integers(5, 25, 700), rng.integers(100, 190, 700), times, strict=True)
    ]


def as_tar(folder, mode):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=f"w:{mode}") as tar:
        tar.add(folder / "clicks", "clicks")
    path = folder / f"clicks.tar.{mode}"
    path.write_bytes(content.getvalue())
    return path


def as_zip(folder):
    path = folder / "clicks.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (folder / "clicks").iterdir():
            archive.write(file, f"clicks/{file.name}")
    return path


def test_globo_from_folder_tar_and_zip_is_the_same(tmp_path):
    clicks = globo_clicks()
    write_globo(tmp_path, clicks)
    sources = [tmp_path, tmp_path / "clicks", as_tar(tmp_path, "gz"), as_tar(tmp_path, "xz"), as_zip(tmp_path)]
    first, *others = (open_news(source, negatives=6, seed=3) for source in sources)
    train, dev = first.splits["train"], first.splits["dev"]
    assert len(train.timeline) == 700
    assert len(first.readers) == len({r for r, _, _ in clicks})
    assert len(first.articles) == len({a for _, a, _ in clicks})
    seconds = sorted(t // 1000 for _, _, t in clicks)
    assert train.time.min() >= seconds[500]
    assert train.time.max() < seconds[600] <= dev.time.min()
    for other in others:
        for split, part in first.splits.items():
            assert np.array_equal(part.shown, other.splits[split].shown)
            assert np.array_equal(part.reader, other.splits[split].reader)
            assert np.array_equal(part.history_stop, other.splits[split].history_stop)


def test_globo_metadata_gives_category_and_date(tmp_path):
    write_globo(tmp_path, globo_clicks())
    ids = open_news(tmp_path).articles.ids
    meta = "article_id,category_id,created_at_ts,publisher_id,words_count\n" + f"{ids[3]},281,1506826800123,0,200\n"
    pack(tmp_path / "articles_metadata.csv", meta.encode())
    articles = open_news(tmp_path).articles
    assert articles.categories[2:4] == ["", "281"]
    assert articles.published[2:4].tolist() == [-1, 1506826800]


BAD_CLICKS = {
    "cut off": ("5,1,1,2,17", "5 comma-separated fields, 7 expected"),
    "a name for a number": ("5,1,1,2,abc,1506826800000,4", "'abc' in column click_article_id"),
    "an empty field": (",1,1,2,17,1506826800000,4", "column user_id"),
    "an id too large": ("99999999999999999999,1,1,2,17,1506826800000,4", "column user_id"),
    "NaN": ("5,1,1,2,17,NaN,4", "'NaN' in column click_timestamp"),
}


@pytest.mark.parametrize("case", BAD_CLICKS)
def test_globo_bad_lines(tmp_path, case):
    bad, problem = BAD_CLICKS[case]
    write_globo(tmp_path, globo_clicks())
    file = tmp_path / "clicks" / "clicks_hour_002.csv"
    good = file.read_text().splitlines()
    file.write_text("\n".join([*good[:4], bad, *good[4:]]) + "\n")
    with pytest.raises(InputError, match=r"clicks_hour_002\.csv:5: ") as caught:
        open_news(tmp_path)
    assert problem in str(caught.value)


def test_globo_header_without_a_column(tmp_path):
    write_globo(tmp_path, globo_clicks())
    pack(tmp_path / "clicks" / "clicks_hour_001.csv", b"user_id,click_timestamp\n1,2\n")
    with pytest.raises(InputError, match=r"clicks_hour_001\.csv:1: .*click_article_id"):
        open_news(tmp_path)


@pytest.mark.parametrize("lost", [4, 300, 2000])
@pytest.mark.parametrize("make", [lambda f: as_tar(f, "gz"), lambda f: as_tar(f, "xz"), as_zip])
def test_globo_damaged_archives(tmp_path, make, lost):
    write_globo(tmp_path, globo_clicks())
    path = make(tmp_path)
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(InputError, match="damaged") as caught:
        open_news(path)
    assert caught.value.path == path


def test_day_files_and_click_files_are_recognised(tmp_path):
    write_adressa(tmp_path / "a", week()[:2])
    write_globo(tmp_path / "g", globo_clicks())
    assert recognise(tmp_path / "a").name == "adressa"
    assert recognise(tmp_path / "g").name == "globo"
    assert json.loads((tmp_path / "a" / "20170101").read_text().splitlines()[0])["userId"] == "cx:0"
