"""The programs in the README run as they stand there; the version is the same everywhere."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import discreet as d
from discreet.data.synthetic import news_world, write_mind
from discreet.methods.method_registry import METHODS

ROOT = Path(__file__).parents[2]
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a small world of news and a table of ratings."""
    folder, rng = tmp_path_factory.mktemp("readme"), np.random.default_rng(0)
    write_mind(news_world(150, train_days=2, history_days=4, seed=3), folder / "world")
    pairs = sorted(set(zip(rng.integers(80, size=1200).tolist(), rng.integers(15, size=1200).tolist(), strict=True)))
    lines = ["user,item,rating", *(f"{user},{item},{(user + item) % 5 + 1}" for user, item in pairs)]
    (folder / "ratings").mkdir()
    (folder / "ratings" / "ratings.csv").write_text("\n".join(lines) + "\n")
    return folder


def frames(path):
    """A data set as tables, such as a researcher may have."""
    news = d.open_news(path)
    ids, published = np.array(news.articles.ids), news.articles.published.clip(0)
    articles = {"id": ids.tolist(), "title": list(news.articles.titles), "published": published.tolist()}
    names, rows = np.array(news.readers), []
    for split, part in news.splits.items():
        for i in range(len(part)):
            shown = slice(*part.slate[i : i + 2])
            rows.append([names[part.reader[i]], part.time[i], ids[part.shown[shown]], part.clicked[shown], split])
    columns = zip(("reader", "time", "shown", "clicked", "split"), zip(*rows, strict=True), strict=True)
    return articles, {name: list(values) for name, values in columns}


@pytest.mark.parametrize(
    ("number", "printed"), [(0, "front_page"), (1, "RMSE"), (2, "newest")], ids=["publisher", "consortium", "own"]
)
def test_a_program_of_the_readme_runs(number, printed, place, tmp_path, monkeypatch, capsys):
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    articles, impressions = frames("world")
    exec(compile(PROGRAMS[number], "README.md", "exec"), {"articles": articles, "impressions": impressions})
    assert printed in capsys.readouterr().out
    if printed == "newest":
        METHODS.forget("newest")


def test_there_are_three_programs_and_one_version():
    assert len(PROGRAMS) == 3
    assert f"\nversion: {d.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{d.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert (ROOT / "docs" / "releases" / f"{d.__version__}.md").exists()
