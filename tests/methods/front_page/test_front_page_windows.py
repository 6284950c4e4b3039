"""One click of a reader counts a day, and a window tells nothing but its noised sum."""

from collections import Counter

import numpy as np
import pytest

from discreet.audits.front_page import audited_log
from discreet.edge.reader.sums import Floors
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import (
    DAY,
    Log,
    min_exposure,
    noise_scale,
    popularity_task,
    released_windows,
)
from discreet.privacy.guarantee import Adversary, Scope, Unit

HOUR = 3600


def log_of(clicks, seed=0, seconds=HOUR, max_clicks=1):
    data = audited_log(clicks)
    return Log.of([data.splits["train"]], len(data.readers), seconds, seed, max_clicks)


def exact_counts(log, windows):
    """What the cells of some windows would have held without noise: all clicks since the article was last due."""
    counted, found = Counter(), []
    for window in windows:
        for article in window.articles:
            so_far = int(((log.click_article == article) & (log.click_time < window.end)).sum())
            found.append(so_far - counted[article])
            counted[article] = so_far
    return np.array(found)


def released_counts(windows):
    return np.concatenate([window.released for window in windows])


@pytest.mark.parametrize("seconds", [HOUR, 900])
def test_each_reader_counts_at_most_once_a_day(seconds):
    log = log_of(5, seconds=seconds)
    pairs = list(zip(log.click_reader, log.click_time // DAY, strict=True))
    assert len(pairs) == len(set(pairs))
    assert {0} <= set(log.click_reader.tolist())


def test_the_click_that_counts_is_of_the_first_window_with_a_click():
    data = audited_log(5)
    split = data.splits["train"]
    time = np.repeat(split.time, split.slate_sizes)[split.clicked]
    reader = np.repeat(split.reader, split.slate_sizes)[split.clicked]
    log = log_of(5)
    for day in (0, 1):
        first = time[(reader == 0) & (time // DAY == day)].min()
        counted = log.click_time[(log.click_reader == 0) & (log.click_time // DAY == day)]
        assert counted // HOUR == first // HOUR


def test_clicks_of_one_reader_do_not_change_which_clicks_of_others_count():
    one, other = log_of(5), log_of(None)
    assert np.array_equal(one.click_article[one.click_reader != 0], other.click_article[other.click_reader != 0])


def test_choice_among_clicks_of_a_window_varies_with_the_seed():
    assert len({tuple(log_of(5, seed).click_article) for seed in range(8)}) > 1


def test_exposure_is_a_share_of_each_slate():
    log = log_of(5)
    windows = list(released_windows(log, HOUR, DayPrice(np.inf), 1, 0))
    assert sum(window.exposure.sum() for window in windows) == pytest.approx(2 * DAY / (HOUR / 2))
    assert all(np.array_equal(window.articles, np.unique(window.articles)) for window in windows)
    assert sum(window.released.sum() for window in windows) == len(log.click_time)


def test_released_sums_have_two_aggregators_noise_and_repeat_by_seed():
    log = log_of(5)
    noised = [list(released_windows(log, HOUR, DayPrice(1.0), 1, seed)) for seed in (0, 0, 1)]
    values = [released_counts(windows) for windows in noised]
    assert np.array_equal(values[0], values[1])
    assert not np.array_equal(values[0], values[2])
    noise = np.concatenate([values[i] - exact_counts(log, noised[i]) for i in (0, 2)])
    assert noise.std() == pytest.approx(np.sqrt(4 * np.exp(-1) / (1 - np.exp(-1)) ** 2), rel=0.2)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_an_article_waits_until_it_was_shown_enough_and_no_longer_than_its_day(epsilon):
    log = log_of(5)
    windows = list(released_windows(log, HOUR, DayPrice(epsilon), 1, 0))
    assert sum(window.exposure.sum() for window in windows) == pytest.approx(log.exposure.sum())
    assert exact_counts(log, windows).sum() == len(log.click_time)
    for window in windows:
        assert window.end % DAY == 0 or window.exposure.min() >= min_exposure(DayPrice(epsilon))
    each_hour = sum(len(window.articles) for window in released_windows(log, HOUR, DayPrice(np.inf), 1, 0))
    assert sum(len(window.articles) for window in windows) < each_hour


def test_what_is_due_depends_on_what_was_shown_alone():
    one, other = (list(released_windows(log_of(clicks), HOUR, DayPrice(1.0), 1, 0)) for clicks in (None, 5))
    assert [window.end for window in one] == [window.end for window in other]
    assert all(np.array_equal(a.articles, b.articles) for a, b in zip(one, other, strict=True))
    assert all(np.array_equal(a.exposure, b.exposure) for a, b in zip(one, other, strict=True))


def test_windows_since_a_moment_are_the_same_as_in_the_whole():
    log = log_of(5)
    whole = [window for window in released_windows(log, HOUR, DayPrice(1.0), 1, 0) if window.end > DAY]
    for since in (DAY, DAY + 7 * HOUR):
        later = list(released_windows(log, HOUR, DayPrice(1.0), 1, 0, since=since))
        rest = [window for window in whole if window.end > since]
        assert [window.end for window in rest] == [window.end for window in later]
        assert all(np.array_equal(a.released, b.released) for a, b in zip(rest, later, strict=True))


def test_copies_stand_for_a_larger_population():
    log = log_of(5)
    many = list(released_windows(log, HOUR, DayPrice(1.0), 50, 0))
    assert np.array_equal(np.rint(released_counts(many) / 50), exact_counts(log, many))


def test_a_real_device_takes_the_task_and_pays_once_a_day():
    helper = "https://helper.example"
    task = popularity_task(900, DayPrice(1.0), length=5, leader="https://news.example/dap", helper=helper)
    assert Floors(helpers=frozenset({helper})).refusal(task) is None
    assert task.period(0) == task.period(95) != task.period(96)
    assert task.sensitivity.l1 == 1
    promise = task.guarantee()
    assert promise.unit is Unit.USER
    assert promise.scope is Scope.DAY
    assert promise.adversary is Adversary.PUBLISHER_AND_AGGREGATOR


def test_a_log_without_labels_releases_nothing():
    from dataclasses import replace

    split = replace(audited_log(5).splits["train"], labelled=False)
    assert not list(released_windows(Log.of([split], 6, HOUR, 0), HOUR, DayPrice(1.0), 1, 0))


def test_a_limit_of_several_clicks_counts_the_first_of_the_day_and_an_article_once():
    log = log_of(5, max_clicks=3)
    counted = list(zip(log.click_reader, log.click_time // DAY, log.click_article, strict=True))
    assert len(counted) == len(set(counted))
    a_day = Counter((reader, day) for reader, day, _ in counted)
    assert max(a_day.values()) == 3
    one = log_of(5)
    assert set(zip(one.click_reader, one.click_time, one.click_article, strict=True)) <= set(
        zip(log.click_reader, log.click_time, log.click_article, strict=True)
    )


def test_the_noise_is_that_of_the_day_also_where_few_articles_are_shown():
    assert noise_scale(DayPrice(1.0), 4) == 4
    log = log_of(5, max_clicks=40)
    noised = [list(released_windows(log, HOUR, DayPrice(1.0), 1, seed, max_clicks=40)) for seed in range(3)]
    assert all(len(window.articles) < 40 for window in noised[0])
    noise = np.concatenate([released_counts(windows) - exact_counts(log, windows) for windows in noised])
    assert noise.std() == pytest.approx(2 * 40, rel=0.3)
