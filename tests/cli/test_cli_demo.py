"""What the demo leaves on the disk."""

import time

import numpy as np

from discreet.cli.demo import _train
from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.experiments.taught_server import teach
from discreet.experiments.week import week_of
from discreet.files import MARK, verify_folder
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.method import TrainingTask
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.learning.sum_popularity import SumPopularity
from discreet.serving.learning.window_store import WindowStore
from discreet.serving.server import open_service


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


def test_the_demos_page_begins_with_what_the_week_taught(tmp_path):
    task = TrainingTask(news_world(50, train_days=2, history_days=3, seed=1), "hashed")
    method, data = FrontPage(epsilon=1.0, population=5000, window_minutes=720), ShownArticles.of(task.data)
    now = int(time.time())
    service = open_service(None, None, database=tmp_path / "s.sqlite", data=data, as_of=now, text="hashed")
    service.updater.step()
    assert teach(service, task, method, 0, now - data.latest) == 3
    listed = ModelVersions(service.store).listing()
    assert [version.reason for version in listed] == [f"day {day} of a simulated week" for day in (3, 2, 1)]
    assert abs(listed[0].made - now) <= 86_400
    rates = SumPopularity(service.model, WindowStore(service.store), service.versions)
    rates.read()
    assert np.ptp(rates.of(service.updater.snapshot)) > 0.3
    service.close()
