"""The command lines that `examples/own_package` must pass, and the data that they need."""

import json
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_package"

TRAINING = ["--rounds", "3", "--set", "fraction=0.1", "--text", "hashed"]
TRAIN_MODEL = ["train", "news", "--method", "fedrec", "--model", "mean_title", "--set", "model.stretch=3", *TRAINING]
COMPARE = ["compare", "news", "--methods", "title_length,random", "--text", "hashed", "--json"]
COMPARE_MODELS = ["compare", "news", "--methods", "fedrec", "--model", "mean_title", "--text", "hashed", "--json"]
COMPARE_MODELS += ["--set", "rounds=3", "--set", "fraction=0.1", "--out", "models"]
COMPARE_VENDORS = ["vendors", "compare", "ratings.csv", "--vendors", "3", "--epsilon", "5", "--json"]
COMPARE_VENDORS += ["--methods", "local,shared_mean", "--rank", "2", "--iterations", "6"]


def write_inputs(folder: Path) -> None:
    """News in the example's own format, and a table of ratings."""
    from discreet.data.synthetic import news_world

    news, rng = news_world(120, train_days=1, history_days=3, seed=5), np.random.default_rng(0)
    articles, ids = news.articles, news.articles.ids
    (folder / "news").mkdir()
    with (folder / "news" / "articles.jsonl").open("w") as file:
        for number, name in enumerate(ids):
            about = {"id": name, "title": articles.titles[number], "category": articles.categories[number]}
            print(json.dumps({**about, "published": int(articles.published[number])}), file=file)
    with (folder / "news" / "impressions.jsonl").open("w") as file:
        for split, part in news.splits.items():
            for i in range(len(part)):
                shown = slice(*part.slate[i : i + 2])
                row = {"reader": news.readers[part.reader[i]], "time": int(part.time[i]), "split": split}
                row |= {"shown": [ids[a] for a in part.shown[shown]], "clicked": part.clicked[shown].tolist()}
                print(json.dumps({**row, "history": [ids[a] for a in part.history(i)]}), file=file)
    pairs = sorted(set(zip(rng.integers(60, size=900).tolist(), rng.integers(20, size=900).tolist(), strict=True)))
    lines = ["user,item,rating", *(f"{user},{item},{(user + item) % 5 + 1}" for user, item in pairs)]
    (folder / "ratings.csv").write_text("\n".join(lines) + "\n")


def twice(discreet, words) -> list[dict]:
    """The rows of a comparison, which are the same when it is asked for again, and then measured by nobody."""
    first, again = (json.loads(discreet(*words))["methods"] for _ in range(2))
    assert not any(row.pop("reused") for row in first)
    assert all(row.pop("reused") for row in again)
    assert first == again
    return first


def check_outputs(discreet) -> None:
    """Run all of it; `discreet(*words)` runs one command line and gives what it printed."""
    listed = json.loads(discreet("list", "--json"))
    for kind, word, name in (
        ("methods", "method", "title_length"),
        ("models", "model", "mean_title"),
        ("mechanisms", "mechanism", "bounded count"),
        ("vendor_methods", "method", "shared_mean"),
        ("formats", "format", "jsonl"),
    ):
        assert name in [row[word] for row in listed[kind]]
    assert json.loads(discreet("data", "check", "news", "--json"))["format"] == "jsonl"
    discreet("train", "news", "--method", "title_length", "--set", "power=1", "--text", "hashed", "--out", "run")
    (measured,) = json.loads(discreet("evaluate", "run", "news", "--json"))["methods"]
    assert measured["method"] == "title_length"
    compared = twice(discreet, COMPARE)
    assert [row["method"] for row in compared] == ["title_length", "random"]
    assert twice(discreet, COMPARE_MODELS)[0]["model"] == "mean_title"
    (audited,) = json.loads(discreet("audit", "bounded count", "--json"))["mechanisms"]
    assert audited["verdict"] == "holds"
    assert 0.5 < audited["lower_bound"] <= audited["claim"] == 1.0
    shared = twice(discreet, COMPARE_VENDORS)[1]
    assert (shared["method"], shared["guarantee"]["epsilon"]) == ("shared_mean", 5.0)
    assert "shared_mean" in re.sub(r"\s+", " ", discreet(*(word for word in COMPARE_VENDORS if word != "--json")))
