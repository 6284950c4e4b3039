"""What the demo leaves on the disk."""

from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from discreet.cli.demo import _train
from discreet.cli.live_demo import live_demo
from discreet.data.synthetic import news_world
from discreet.experiments.week import week_of
from discreet.files import MARK, check_folder, verify_folder
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.method import TrainingTask


def test_the_demos_run_has_a_digest_of_what_was_measured_of_it(tmp_path):
    task = TrainingTask(news_world(60, seed=1), "hashed")
    _train(task, tmp_path / "run", seed=0)
    assert "rankings.json" in (tmp_path / "run" / MARK).read_text()
    verify_folder(tmp_path / "run")


def test_a_week_is_told_day_by_day():
    told = []
    task = TrainingTask(news_world(50, train_days=2, history_days=3, seed=1), "hashed")
    week = week_of(task, FrontPage(epsilon=1.0, population=5000, window_minutes=720), 0, told.append)
    days = week.days
    assert [day.number for day in days] == [1, 2, 3]
    assert told == days
    assert all(0 <= day.public.mean <= 1 and day.impressions > 0 for day in days)


def test_the_cost_of_a_week_is_that_of_what_was_learnt_in_it():
    """Where a head is learnt it has a δ, and the clicks that count a day are a number."""
    task = TrainingTask(news_world(50, train_days=2, history_days=3, seed=1), "hashed")
    method = FrontPage(epsilon=1.0, population=5000, window_minutes=720, head_share=0.2)
    guarantee = week_of(task, method, 0, lambda day: None).guarantee
    assert guarantee == method.guarantee(method.train(task, 0))
    assert (guarantee.delta, "few" in guarantee.mechanism) == (1e-6, False)


def test_a_demonstration_that_was_interrupted_can_be_begun_again(tmp_path, monkeypatch):
    @contextmanager
    def site(folder, *_):
        folder.mkdir(parents=True)
        (folder / "serving.sqlite").write_text("its own")
        yield SimpleNamespace(address="http://127.0.0.1:1", helper=None)

    monkeypatch.setattr("discreet.experiments.live_week.live_site.live_site", site)
    monkeypatch.setattr(
        "discreet.experiments.live_week.live_devices.DeviceProcess", Mock(side_effect=KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt), live_demo(tmp_path / "served", Mock(), 10, "hashed", 0):
        pass
    check_folder(tmp_path / "served", overwrite=True, own=("*",))
