"""DAP from upload to result: the sum is true, each report counts once, each batch is told once."""

from __future__ import annotations

import pytest
from dap_site import START, WINDOW, Site, example_task

from discreet.aggregation.dap.client import ReportRefusedError


@pytest.fixture
def site(tmp_path):
    with_site = Site(tmp_path)
    yield with_site
    with_site.close()


def end_window(site, window=0):
    site.clock.now = START + (window + 2) * WINDOW


def test_the_sum_is_the_truth(site):
    for value in (0, 1, 1, 2, 1):
        site.upload(value)
    end_window(site)
    found = site.collect()
    assert found.values.tolist() == [1, 3, 1]
    assert found.contributions == 5
    assert found.guarantee == site.task.guarantee()


def test_a_window_is_collected_once_and_its_sum_stays_the_same(tmp_path):
    site = Site(tmp_path, task=example_task(epsilon=0.1))
    for value in (0, 1, 1):
        site.upload(value)
    end_window(site)
    first = site.collect()
    assert first.values.tolist() == site.collect().values.tolist()
    with pytest.raises(ReportRefusedError, match="report_replayed"):
        site.upload(1)
    site.close()


def test_windows_are_apart(site):
    site.clock.now = START + WINDOW + 1
    for window, value in ((0, 0), (0, 1), (1, 2), (1, 2), (1, 1)):
        site.upload(value, window)
    end_window(site, 1)
    assert site.collect(1).values.tolist() == [0, 1, 2]
    assert site.collect(0).values.tolist() == [1, 1, 0]
