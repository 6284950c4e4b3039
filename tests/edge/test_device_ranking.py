"""Ranking on the device: as `front_page` does it, and the same in Python and in the browser."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chromium import WEB
from ranking_vectors import CATEGORIES, FRONT_PAGE, PATH, SECTIONS, articles, terms, text
from tools import tool

from discreet.edge.reader.history import Click, History
from discreet.edge.reader.personal_scores import MAX_NEAREST, ReadArticle, matrix, personal_scores
from discreet.methods.front_page.history_features import FEATURES, reader_features
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.front_page.weights import PUBLIC_WEIGHTS

DIMENSION = 16


def test_the_vectors_are_up_to_date() -> None:
    wanted = [(case["order"], pytest.approx(case["scores"])) for case in json.loads(text())]
    found = json.loads(PATH.read_text(encoding="utf-8"))
    assert [(case["order"], case["scores"]) for case in found] == wanted, "python tests/support/ranking_vectors.py"


def test_the_browser_ranks_the_same() -> None:
    node = tool("node")
    script = Path(__file__).parents[1] / "support" / "ranking_vectors.mjs"
    command = [node, str(script), str(PATH), (WEB / "device").as_uri()]
    assert json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) == []


@pytest.mark.parametrize("clicks", [0, 1, MAX_NEAREST])
def test_a_device_scores_as_the_method_does(clicks: int) -> None:
    known = articles(60, DIMENSION, seed=5)
    shares = dict(zip(CATEGORIES, (0.3, 0.2, 0.1, 0.15, 0.25), strict=True))
    named = [(category, section) for category in CATEGORIES for section in sorted(set(SECTIONS)) if section]
    within = dict(zip(named, (0.75, 0.25) * len(CATEGORIES), strict=True))
    asked = terms(DIMENSION, categories=shares, sections=within)
    rows = matrix([one.vector for one in known], DIMENSION)
    public = PublicArticles(
        vectors=rows.astype(np.float32) * np.float32(asked.vector_scale),
        unit=asked.vector_unit,
        category=np.array([CATEGORIES.index(one.category) for one in known]),
        share=np.array(list(shares.values())),
        text=np.zeros((len(known), 0)),
        centre=np.zeros(DIMENSION, np.float32),
    )
    history = np.arange(clicks, dtype=np.int32)
    weights = [PUBLIC_WEIGHTS[FEATURES.index(name)] for name in ("mean", "nearest", "category")]
    everything = np.arange(60, dtype=np.int32)
    wanted = reader_features(public, history, everything) @ np.array(weights)
    assert weights == [FRONT_PAGE.mean, FRONT_PAGE.nearest, FRONT_PAGE.category]
    number = np.array([named.index((one.category, one.section)) if one.section else -1 for one in known])
    of_category = np.array([CATEGORIES.index(category) for category, _ in named])
    subcategories = Subcategories(number, of_category, np.array(list(within.values())))
    assert PUBLIC_WEIGHTS[FEATURES.index("subcategory")] == FRONT_PAGE.subcategory
    wanted += FRONT_PAGE.subcategory * subcategories.affinity(history, everything)
    read = [ReadArticle(known[row].vector, known[row].category, known[row].section) for row in history.tolist()]
    found = personal_scores(rows, [(one.category, one.section) for one in known], read, asked)
    assert found == pytest.approx(wanted, abs=1e-4)


def test_a_history_of_before_sections_is_taken_over(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "h.db") as old:
        old.execute(
            "CREATE TABLE click (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, epoch INTEGER NOT NULL,"
            " article TEXT NOT NULL, category TEXT NOT NULL, open INTEGER NOT NULL, slate TEXT, space TEXT NOT NULL,"
            " topic INTEGER NOT NULL, vector BLOB NOT NULL) STRICT"
        )
        old.execute("INSERT INTO click VALUES (NULL, 5, 0, 'N1', 'food', 0, NULL, 's', 2, x'01')")
    old.close()
    history = History(tmp_path / "h.db")
    kept = Click(5, 0, "N1", "food", 0, None, "s", 2, b"\x01")
    history.add_click(replace(kept, article="N2", section="bread"))
    assert history.clicks() == [kept, replace(kept, article="N2", section="bread")]
