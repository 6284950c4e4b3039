"""Taste, content and popularity each explain some of the clicks in the generated world, and none explains all.

Sub-topics and styles stand in for a language model here: similarity is what the history has in common with the
candidate, the trained ranking learns how much each of these counts.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.data.synthetic import NewsWorld, news_world_with_truth
from discreet.data.synthetic.article_world import category_of_subtopic

Floats = NDArray[np.float64]
DEV_DAY = 14 + 4  # counted from the first day of the histories


@pytest.fixture(scope="module")
def world() -> NewsWorld:
    return news_world_with_truth(4000, seed=21)


@pytest.fixture(scope="module")
def aucs(world: NewsWorld) -> dict[str, float]:
    train, dev = world.data.splits["train"], world.data.splits["dev"]
    subtopic, style = world.articles.subtopic, world.articles.style
    labels = (subtopic, category_of_subtopic()[subtopic], style)
    features = {
        part: np.column_stack(
            [in_history(label, impressions) for label in labels]
            + [rate_of_label(label, train)[impressions.shown] for label in (subtopic, style)]
        )
        for part, impressions in (("train", train), ("dev", dev))
    }
    rankings = {
        "random": np.random.default_rng(0).random(len(dev.shown)),
        "popularity": known_rate(train, dev),
        "content": in_history(subtopic, dev),
        "trained": features["dev"] @ choice_weights(features["train"], train),
        "oracle": world.utility["dev"].astype(np.float64),
    }
    return {name: mean_auc(scores, dev) for name, scores in rankings.items()}


def mean_auc(scores: Floats, impressions: Impressions) -> float:
    values = []
    for start, stop in zip(impressions.slate[:-1], impressions.slate[1:], strict=True):
        s, clicked = scores[start:stop], impressions.clicked[start:stop]
        gap = s[clicked][:, None] - s[~clicked]
        values.append(((gap > 0) + 0.5 * (gap == 0)).mean())
    return float(np.mean(values))


def in_history(label: NDArray[np.integer], impressions: Impressions) -> Floats:
    """Log of how often the candidate's label is in the history against how often it is shown at all, smoothed."""
    kinds = int(label.max()) + 1
    clicks_until = np.vstack((np.zeros(kinds), np.cumsum(np.eye(kinds)[label[impressions.timeline]], axis=0)))
    counts = clicks_until[impressions.history_stop] - clicks_until[impressions.history_start]
    usual = (np.bincount(label[impressions.shown], minlength=kinds) + 1) / (len(impressions.shown) + kinds)
    share = (counts + 3 * usual) / (impressions.history_sizes[:, None] + 3)
    return np.asarray(np.log(share / usual)[impressions.impression_of_shown, label[impressions.shown]])


def rate_of_label(label: NDArray[np.integer], train: Impressions) -> Floats:
    clicks = np.bincount(label[train.shown], weights=train.clicked, minlength=int(label.max()) + 1)
    shows = np.bincount(label[train.shown], minlength=int(label.max()) + 1)
    return np.asarray(np.log((clicks + 4) / (shows + 100))[label])


def known_rate(train: Impressions, dev: Impressions) -> Floats:
    """Click-through of each article in train and in the dev hours before the impression's own, smoothed."""
    articles = int(max(train.shown.max(), dev.shown.max())) + 1
    clicks = np.bincount(train.shown, weights=train.clicked, minlength=articles)
    shows = np.bincount(train.shown, minlength=articles).astype(np.float64)
    hour = np.repeat(dev.time // 3600, dev.slate_sizes)
    scores = np.zeros(len(dev.shown))
    for now in np.unique(hour):
        places = np.flatnonzero(hour == now)
        scores[places] = ((clicks + 0.8) / (shows + 20))[dev.shown[places]]
        np.add.at(clicks, dev.shown[places], dev.clicked[places])
        np.add.at(shows, dev.shown[places], 1)
    return scores


def choice_weights(features: Floats, train: Impressions, steps: int = 200) -> Floats:
    """Weights of a softmax over each slate, by gradient ascent on standardised features."""
    spread = features.std(axis=0)
    scaled = features / spread
    row = train.impression_of_shown
    clicks = np.bincount(row, weights=train.clicked)
    weights = np.zeros(features.shape[1])
    for _ in range(steps):
        odds = np.exp(scaled @ weights)
        expected = (clicks / np.bincount(row, weights=odds))[row] * odds
        weights += 0.3 * scaled.T @ (train.clicked - expected) / clicks.sum()
    return np.asarray(weights / spread)


@pytest.mark.long
def test_each_signal_explains_some_and_none_explains_all(aucs: dict[str, float]) -> None:
    assert 0.48 < aucs["random"] < 0.52
    assert 0.54 < aucs["popularity"] < 0.63
    assert 0.58 < aucs["content"] < 0.67
    assert 0.65 < aucs["trained"] < 0.74
    assert 0.77 < aucs["oracle"] < 0.84


def test_training_pays_and_leaves_room(aucs: dict[str, float]) -> None:
    assert aucs["popularity"] + 0.02 < aucs["content"]
    assert aucs["content"] + 0.025 < aucs["trained"]
    assert aucs["trained"] + 0.05 < aucs["oracle"]


def test_taste_and_style_are_personal(world: NewsWorld) -> None:
    """Another reader's taste for the same candidates explains much less than one's own."""
    dev, readers = world.data.splits["dev"], world.readers
    own = dev.reader[dev.impression_of_shown]
    other = np.random.default_rng(3).permutation(len(readers))[own]
    for preference, label in ((readers.taste(DEV_DAY), world.articles.subtopic), (readers.style, world.articles.style)):
        mine, theirs = (mean_auc(preference[who, label[dev.shown]].astype(np.float64), dev) for who in (own, other))
        assert mine > 0.6
        assert abs(theirs - 0.5) < 0.05


def test_readers_drift(world: NewsWorld) -> None:
    early, late = world.readers.taste(0), world.readers.taste(DEV_DAY)
    changed = np.abs(early - late).max(axis=1) > 1
    assert 0.3 < changed.mean() < 1.0
    alike = [np.corrcoef(early[r], late[r])[0, 1] for r in range(200)]
    assert np.mean(alike) > 0.6
