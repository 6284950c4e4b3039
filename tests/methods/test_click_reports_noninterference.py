"""Fix what was released and vary the clicks: everything the server learns and every ranking must stay the same."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.news import NewsData
from discreet.data.synthetic import news_world
from discreet.methods.click_reports import oneshot
from discreet.methods.click_reports.collect import collect_labels, collect_sketches
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method

METHODS = {
    "click_reports": {"epsilon": 3.0, "topics": 8},
    "strict_privaterec": {"epsilon": 3.0},
    "user_codes": {"epsilon": 3.0, "codes": 8},
}


@pytest.fixture(scope="module")
def world():
    return news_world(150, articles_per_day=30, seed=6)


@pytest.fixture(scope="module")
def task(world):
    return TrainingTask(world, "hashed")


def with_other_clicks(data: NewsData, seed: int) -> NewsData:
    """The same slates at the same times, but other articles clicked, and other histories of the same lengths."""
    rng = np.random.default_rng(seed)
    splits = {}
    for name, part in data.splits.items():
        clicked = part.clicked.copy()
        for start, stop in zip(part.slate, part.slate[1:], strict=False):
            clicked[start:stop] = rng.permutation(clicked[start:stop])
        timeline = rng.integers(0, len(data.articles), len(part.timeline)).astype(part.timeline.dtype)
        splits[name] = replace(part, clicked=clicked, timeline=timeline)
    return replace(data, splits=splits)


@pytest.mark.parametrize("name", METHODS)
def test_the_server_depends_on_releases_alone(world, task, name, monkeypatch):
    method, released = make_method(name, METHODS[name]), {"sketches": [], "labels": []}

    def keep(kind, collect):
        return lambda *given: released[kind].append(collect(*given)) or released[kind][-1]

    monkeypatch.setattr(oneshot, "collect_sketches", keep("sketches", collect_sketches))
    monkeypatch.setattr(oneshot, "collect_labels", keep("labels", collect_labels))
    state = method.train(task, 0)
    scores = method.score(task, state, world.splits["dev"], 0)

    other = with_other_clicks(world, 1)
    other_task = TrainingTask(other, "hashed", task.found)
    replayed = {kind: iter(made) for kind, made in released.items()}
    monkeypatch.setattr(oneshot, "collect_sketches", lambda *_: next(replayed["sketches"]))
    monkeypatch.setattr(oneshot, "collect_labels", lambda *_: next(replayed["labels"]))
    again = method.train(other_task, 0)
    assert {key: value.tobytes() for key, value in again.items()} == {
        key: value.tobytes() for key, value in state.items()
    }
    assert method.score(other_task, again, other.splits["dev"], 0).tobytes() == scores.tobytes()


def test_topics_are_the_same_whatever_was_clicked(world, task):
    """Found anew, from public text alone."""
    from discreet.methods.click_reports.public import PublicSpace

    other = TrainingTask(with_other_clicks(world, 2), "hashed")
    one, another = (PublicSpace.of(each, 6).to_state() for each in (task, other))
    assert {key: value.tobytes() for key, value in one.items()} == {
        key: value.tobytes() for key, value in another.items()
    }


def test_other_clicks_make_other_releases(world, task):
    """So that the test above could fail: without the replay, what is learnt does depend on the clicks."""
    method = make_method("click_reports", METHODS["click_reports"])
    other = TrainingTask(with_other_clicks(world, 1), "hashed", task.found)
    one, another = method.train(task, 0), method.train(other, 0)
    assert one["prior_mean"].tolist() != another["prior_mean"].tolist()
