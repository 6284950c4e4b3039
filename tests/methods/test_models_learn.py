"""Each published model beats chance by far in a world that it can learn, and goes on where it was stopped."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from resumed_training import resumed

from discreet.data.entities import Entities
from discreet.data.news import Articles, Impressions, NewsData
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method

TOPICS, ARTICLES, READERS, HISTORY, SLATES = 3, 60, 60, 6, 4
MODELS = ("fm", "dfm", "ebnr", "dkn", "dan", "npa", "naml", "nrms", "fednewsrec", "plm_nr")
FAST = {"fm": 0.05, "dfm": 0.02, "fcf": 0.2}
"""Learning rates of those that need a larger one for so few rounds."""


@pytest.fixture(scope="module")
def task() -> TrainingTask:
    """Every reader has one topic, and clicks it whenever it is shown. Words, categories and entities tell topics."""
    rng = np.random.default_rng(5)
    topic = np.arange(ARTICLES) % TOPICS
    titles = [" ".join(f"word{9 * t + w}" for w in rng.choice(9, 5, replace=False)) for t in topic]
    entities = Entities(
        names=[f"Q{t}" for t in range(TOPICS)],
        surface=[title.split()[0] for title in titles],
        first=np.arange(ARTICLES + 1),
        entity=topic.astype(np.int32),
    )
    names = [f"topic {t}" for t in topic]
    articles = Articles(
        [f"N{i}" for i in range(ARTICLES)], titles, names, names, titles, np.full(ARTICLES, -1), (), entities
    )
    own = np.arange(READERS) % TOPICS
    timeline = np.concatenate([_drawn(rng, topic == t, HISTORY) for t in own])
    splits = {split: _impressions(rng, topic, own, timeline, day) for day, split in enumerate(("train", "dev"))}
    return TrainingTask(NewsData("topics", articles, [f"U{i}" for i in range(READERS)], splits), "hashed")


def _drawn(rng: np.random.Generator, among: np.ndarray, count: int) -> np.ndarray:
    return rng.choice(np.flatnonzero(among), count, replace=False).astype(np.int32)


def _impressions(
    rng: np.random.Generator, topic: np.ndarray, own: np.ndarray, timeline: np.ndarray, day: int
) -> Impressions:
    reader = np.repeat(np.arange(len(own)), SLATES).astype(np.int32)
    shown = [np.concatenate([_drawn(rng, topic == own[u], 1), _drawn(rng, topic != own[u], 4)]) for u in reader]
    return Impressions(
        reader=reader,
        time=86_400 * day + np.arange(len(reader)),
        slate=5 * np.arange(len(reader) + 1),
        shown=np.concatenate(shown),
        clicked=np.tile([True, False, False, False, False], len(reader)),
        timeline=timeline,
        history_start=(HISTORY * reader).astype(np.int64),
        history_stop=(HISTORY * (reader + 1)).astype(np.int64),
    )


def method_of(name: str, model: str | None, rounds: int = 40) -> Any:
    chosen = {} if model is None else {"model": model}
    return make_method(name, {"rounds": rounds, "fraction": 0.3, "rate": FAST.get(model or name, 0.01), **chosen})


LEARNT = [(name, model) for name in ("centralized", "fedrec") for model in MODELS]
LEARNT += [("fcf", None), ("uni_fedrec", "plm_nr")]


@pytest.mark.parametrize(("name", "model"), LEARNT)
def test_chance_is_beaten_by_five_standard_errors(task: TrainingTask, name: str, model: str | None) -> None:
    method = method_of(name, model)
    dev = task.data.splits["dev"]
    auc = ranking_metrics(method.score(task, method.train(task, 1), dev, 1), dev)["auc"]
    by_reader = auc.reshape(READERS, SLATES).mean(1)
    assert by_reader.mean() - 0.5 > 5 * by_reader.std() / math.sqrt(READERS)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_resumes_to_the_same_bits(task: TrainingTask, model: str, tmp_path: Path) -> None:
    method = method_of("fedrec", model, rounds=3)
    whole = method.train(task, 1)
    again = resumed(method, task, tmp_path / "checkpoint")
    assert all(np.array_equal(whole[key], again[key], equal_nan=True) for key in whole.keys() - {"watched"})
