"""MIND's url and entity columns, and `entity_embedding.vec` where there is one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from data_files import mind_line, pack, write_mind

from discreet.data.news import NewsData
from discreet.data.open import open_news
from discreet.errors import InputError
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method

NOON = 1573646400
VECTORS = "Q7\t0.5\t-1\t2\t\nQ5\t1\t2\t3\t\nQ99\t9\t9\t9\t\n"


def mention(name: str, form: str) -> dict[str, object]:
    """As MIND writes it."""
    return {
        "Label": form,
        "Type": "P",
        "WikidataId": name,
        "Confidence": 1.0,
        "OccurrenceOffsets": [0],
        "SurfaceForms": [form],
    }


def write(folder: Path, vectors: str | None, ending: str = "", column: str | None = None) -> None:
    """Two articles, the first with an address, an entity in its title and another in its abstract."""
    title = column if column is not None else json.dumps([mention("Q7", "Prince Philip")])
    abstract = json.dumps([mention("Q5", "London")])
    news = f"N1\tnews\troyals\tPrince Philip and shoes\tIn London\thttps://example.org/a\t{title}\t{abstract}\n"
    news += "N2\tnews\tsport\tA game of shoes\t\t\t[]\t\n"
    for split, day in (("train", 0), ("dev", 86_400)):
        lines = [mind_line(i, f"U{i}", NOON + day, ["N1"], ["N1-1", "N2-0"]) for i in (1, 2)]
        write_mind(folder / split, news, "".join(lines))
    if vectors is not None:
        pack(folder / "train" / f"entity_embedding.vec{ending}", vectors.encode())


def opened(folder: Path) -> NewsData:
    return open_news(folder)


@pytest.mark.parametrize("ending", ["", ".xz"])
def test_addresses_entities_and_their_vectors_are_read(tmp_path: Path, ending: str) -> None:
    write(tmp_path, VECTORS, ending)
    articles = opened(tmp_path).articles
    assert list(articles.urls) == ["https://example.org/a", ""]
    entities = articles.entities
    assert entities is not None
    assert entities.of(0) == [("Q7", "Prince Philip"), ("Q5", "")]
    assert entities.of(1) == []
    assert entities.vectors is not None
    found = dict(zip(entities.names, entities.vectors.tolist(), strict=True))
    assert found == {"Q5": [1, 2, 3], "Q7": [0.5, -1, 2]}


def test_without_a_file_of_vectors_entities_are_learnt_and_with_one_they_start_from_it(tmp_path: Path) -> None:
    states = {}
    for name, vectors in (("without", None), ("with", VECTORS)):
        write(tmp_path / name, vectors)
        data = opened(tmp_path / name)
        assert data.articles.entities is not None
        assert (data.articles.entities.vectors is None) == (vectors is None)
        method = make_method("fedrec", {"model": "dkn", "rounds": 1, "fraction": 1.0, "model.entity_size": 5})
        task = TrainingTask(data, "hashed")
        states[name] = method.train(task, 0)
        assert np.isfinite(method.score(task, states[name], data.splits["dev"], 0)).all()
    sizes = {name: {value.shape for key, value in state.items() if "entit" in key} for name, state in states.items()}
    assert (2, 5) in sizes["without"]
    assert (2, 5) not in sizes["with"]


@pytest.mark.parametrize(
    ("vectors", "column", "line"),
    [
        ("Q7\t1\t2\nQ5\t1\n", None, "entity_embedding.vec"),
        ("Q7\t1\tmany\n", None, "is no number"),
        (None, "{}", "is no JSON list of entities"),
        (None, "[1", "is no JSON list of entities"),
    ],
)
def test_what_is_broken_is_named(tmp_path: Path, vectors: str | None, column: str | None, line: str) -> None:
    write(tmp_path, vectors, column=column)
    with pytest.raises(InputError, match=line):
        opened(tmp_path)
