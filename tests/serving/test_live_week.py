"""The demonstration's week, small: shipped devices, two aggregators in two processes, real sums, a played clock."""

import json
import time
from pathlib import Path

import httpx
import pytest

from discreet.aggregation.task import DAY
from discreet.data.synthetic.local_paper import local_paper
from discreet.experiments.live_week.live_devices import DeviceProcess
from discreet.experiments.live_week.live_site import live_site
from discreet.experiments.live_week.played_week import DEMO_TERMS, play_week
from discreet.experiments.live_week.week_curve import week_curve_svg
from discreet.serving.addresses import listen

DEVICES, DAYS, TOKEN = 40, 2, "a token of an operator"


@pytest.mark.long
def test_devices_read_for_two_days_and_sums_tell_how_good_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the demo's folder is a relative one
    start = int(time.time()) // DAY * DAY - DAYS * DAY  # aggregators, whose clocks are real, forget after a month
    paper = local_paper(DEVICES, start, DAYS, articles_a_day=20, seed=1)
    terms, told = DEMO_TERMS("hashed"), []
    with live_site(Path("served"), listen("127.0.0.1", 0), paper, terms, TOKEN) as site:
        tasks = httpx.get(f"{site.address}/v1/tasks").json()["tasks"]
        assert [task["name"].endswith("played week") for task in tasks] == [True, True, False, False]
        devices = DeviceProcess(site.address, site.helper, paper, terms.epsilon, seed=1)
        week = play_week(site, devices, paper, told.append)
        devices.close()

        a_day = DAY // terms.window_seconds
        assert [day.number for day in told] == [1, 2]
        assert [day.contributions for day in told] == [DEVICES * (a_day + 1)] * DAYS  # popularity, and quality once
        assert sum(day.visits for day in told) == len(paper.visits.time)
        assert [arm.arm.partition("/")[2] for arm in week.arms] == ["public", "learnt"]
        assert sum(arm.clicks.mean for arm in week.arms) > 0.2  # readers open what they are shown

        head = {"Authorization": f"Bearer {TOKEN}"}
        status = httpx.get(f"{site.address}/v1/admin/status", headers=head).json()
        assert status["model"]["versions"] == DAYS * a_day
        (quality,) = status["quality"]
        assert [one["contributions"] for one in quality["over_time"]] == [DEVICES] * DAYS
        assert quality["guarantee"]["epsilon"] == "inf"  # one party runs both aggregators

        assert "experiment" in httpx.get(f"{site.address}/v1/model").json()
        site.end_week()
        assert "experiment" not in httpx.get(f"{site.address}/v1/model").json()
        assert len(httpx.get(f"{site.address}/v1/tasks").json()["tasks"]) == 2  # the week's are over
    assert "<svg" in week_curve_svg(week)
    assert json.loads((tmp_path / "served" / "feed.json").read_text())["items"]
