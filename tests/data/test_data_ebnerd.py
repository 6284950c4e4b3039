"""EB-NeRD's parquet files: fixed histories, labels, optional articles, and files that are not what they should be."""

from datetime import datetime, timedelta

import polars as pl
import pytest
from data_files import write_ebnerd_split

from discreet.data.open import open_news
from discreet.errors import InputError

START = datetime(2023, 5, 18, 7)


def impression(reader, minutes, shown, clicked):
    return {
        "impression_id": minutes,
        "user_id": reader,
        "impression_time": START + timedelta(minutes=minutes),
        "article_ids_inview": shown,
        "article_ids_clicked": clicked,
    }


def history(reader, articles, until=START):
    times = [until - timedelta(hours=len(articles) - i) for i in range(len(articles))]
    return {"user_id": reader, "article_id_fixed": articles, "impression_time_fixed": times}


BEHAVIORS = [
    impression(9, 30, [11, 12, 13], [12]),
    impression(5, 10, [13, 11], [11, 11, 13]),
    impression(9, 31, [14], []),
]
HISTORIES = [history(9, [21, 11, 21]), history(5, [12]), history(77, [])]


def write(folder):
    write_ebnerd_split(folder / "train", BEHAVIORS, HISTORIES)
    later = [impression(5, 60 * 24 * 7, [15, 12], [15]), impression(6, 60 * 24 * 7 + 1, [15], [15])]
    write_ebnerd_split(folder / "validation", later, [history(5, [12, 13], START + timedelta(days=6))])


def test_impressions_labels_and_histories(tmp_path):
    write(tmp_path)
    data = open_news(tmp_path)
    assert list(data.splits) == ["train", "dev"]
    train, dev = data.splits["train"], data.splits["dev"]

    def named(articles):
        return [data.articles.ids[a] for a in articles]

    assert [data.readers[r] for r in train.reader] == ["5", "9", "9"]
    assert named(train.shown) == ["13", "11", "11", "12", "13", "14"]
    assert train.clicked.tolist() == [True, True, False, True, False, False]
    assert named(train.history(0)) == ["12"]
    assert named(train.history(1)) == ["21", "11", "21"]
    assert train.history_start[1] == train.history_start[2]
    assert named(dev.history(0)) == ["12", "13"]
    assert named(dev.history(1)) == []
    assert set(data.articles.titles) == {""}


@pytest.mark.parametrize("above", [False, True])
def test_articles_beside_the_splits_or_above(tmp_path, above):
    root = tmp_path / "demo"
    write(root)
    articles = pl.DataFrame(
        {
            "article_id": [12, 11],
            "title": ["Tolv", None],
            "subtitle": ["under", "u"],
            "category_str": ["nyheder", "sport"],
            "subcategory": [[3, 4], []],
            "published_time": [START, None],
        }
    )
    articles.write_parquet((tmp_path if above else root) / "articles.parquet")
    read = open_news(root).articles
    assert read.ids == ["12", "11", "13", "14", "15", "21"]
    assert read.titles[:3] == ["Tolv", "", ""]
    assert read.subcategories[:3] == ["3", "", ""]
    assert read.abstracts[:3] == ["under", "u", ""]
    assert read.published[0] == 1684393200
    assert read.published[1:].tolist() == [-1] * 5


def test_a_test_set_has_no_labels(tmp_path):
    write(tmp_path)
    late = impression(5, 60 * 24 * 14, [11, 15], None)
    del late["article_ids_clicked"]
    write_ebnerd_split(tmp_path / "test", [late], [history(5, [12])])
    test = open_news(tmp_path).splits["test"]
    assert not test.labelled
    assert not test.clicked.any()


def broken(name):
    changed = [dict(row) for row in BEHAVIORS]
    match name:
        case "shows no article":
            changed[1]["article_ids_inview"], changed[1]["article_ids_clicked"] = [], []
        case "not in view":
            changed[1]["article_ids_clicked"] = [99]
        case "impression_time":
            changed[1]["impression_time"] = None
    return changed


@pytest.mark.parametrize("problem", ["shows no article", "not in view", "impression_time"])
def test_bad_rows_are_named(tmp_path, problem):
    write_ebnerd_split(tmp_path / "train", broken(problem), HISTORIES)
    with pytest.raises(InputError, match=f"behaviors.parquet: row 2 .*{problem}"):
        open_news(tmp_path)


def test_a_history_that_knows_the_future_is_refused(tmp_path):
    late = [history(9, [21, 11], START + timedelta(hours=3))]
    write_ebnerd_split(tmp_path / "train", BEHAVIORS, late)
    with pytest.raises(InputError, match=r"history\.parquet: the history of reader 9 reaches"):
        open_news(tmp_path)


def test_two_histories_of_one_reader(tmp_path):
    write_ebnerd_split(tmp_path / "train", BEHAVIORS, [*HISTORIES, HISTORIES[0]])
    with pytest.raises(InputError, match="row 4"):
        open_news(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1 nonsense", None])
@pytest.mark.parametrize("name", ["behaviors.parquet", "history.parquet"])
def test_damaged_or_missing_files(tmp_path, name, content):
    write(tmp_path)
    file = tmp_path / "train" / name
    if content is not None:
        file.write_bytes(content)
    elif name == "history.parquet":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-400])
    with pytest.raises(InputError) as caught:
        open_news(tmp_path)
    assert caught.value.path == file
    assert "\n" not in str(caught.value)


def test_a_missing_column_is_named(tmp_path):
    write(tmp_path)
    file = tmp_path / "train" / "behaviors.parquet"
    pl.read_parquet(file).drop("article_ids_inview").write_parquet(file)
    with pytest.raises(InputError, match="no column article_ids_inview"):
        open_news(tmp_path)
