"""A device's contributions: floors, the ledger, one a window, zeros too, at a drawn time, and never twice."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sums_tools import CELLS, CELLS_PAGE, DAY, FLOORS, HELPER, START, Reader, task

from discreet.audits.hostile_server.publisher import START as PUBLISHER_START
from discreet.audits.hostile_server.publisher import Publisher
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.sums import Floors
from discreet.errors import DiscreetError
from discreet.privacy.accounting import compose
from discreet.privacy.filter import Spent

HOUR = 3600


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path / "sums")


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ({"epsilon": 1.5}, "costs ε = 1.5 a day"),
        ({"epsilon": 1.5, "per": "window"}, "costs ε = 1.5 a window"),
        ({"window_seconds": 240, "send_seconds": 240}, "windows last 240 seconds"),
        ({"per": "window", "window_seconds": 7 * DAY}, "do not lie within a day"),
        ({"per": "window", "window_seconds": 7 * HOUR}, "do not lie within a day"),
        ({"per": "window", "start": START + 1800}, "do not lie within a day"),
        ({"send_seconds": 30}, "too little time to send"),
        ({"measure": "politics"}, "does not know how to measure"),
        ({"measure": "clicks by cell", "cells": ""}, "what its values stand for"),
        ({"purpose": ""}, "what it is for"),
        ({"length": 20_001}, "has 20001 values"),
        ({"noise": "discrete_gaussian", "delta": 1e-5}, "δ is 1e-05"),
        ({"helper": "https://other.example/"}, "not one that this device trusts"),
        ({"leader": "https://helper.example/leader"}, "one address"),
        ({"leader": "https://HELPER.example:443/leader"}, "one address"),
        ({"leader": "http://news.example/"}, "not https"),
    ],
)
def test_a_task_below_the_floors_is_refused_with_a_reason(reader: Reader, terms: dict[str, Any], reason: str) -> None:
    with pytest.raises(DiscreetError, match=f"popularity is refused: .*{reason}"):
        reader.contributor.adopt(task(**terms), CELLS)
    assert reader.contributor.tasks == []


def test_terms_cannot_change_under_a_name(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    with pytest.raises(DiscreetError, match="under its name"):
        reader.contributor.adopt(task(epsilon=0.2), CELLS)
    assert reader.contributor.tasks == [task()]
    assert reader.open().tasks == [task()]


def test_cells_must_fit_the_task(reader: Reader) -> None:
    for cells in (CELLS[1:], [*CELLS[1:], CELLS[1]]):
        with pytest.raises(DiscreetError, match="list of cells"):
            reader.contributor.adopt(task(), cells)


def test_every_window_has_one_contribution_with_clicks_or_without(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    reader.click("N2", START + HOUR + 5)
    reader.click("N2", START + HOUR + 6)
    reader.click("N4", START + HOUR + 7)
    reader.run(START + 6 * HOUR)
    assert [window for _, window, _ in reader.sender.given] == [0, 1, 2, 3, 4]
    assert reader.values() == [[0] * 6, [0, 0, 30, 0, 30, 0], [0] * 6, [0] * 6, [0] * 6]


def test_a_day_has_one_total_and_an_article_counts_once(reader: Reader) -> None:
    reader.contributor.adopt(task(max_value=20), CELLS)
    for hour, article in enumerate(["N0", "N0", "N1", "N2", "N3", "N4"]):
        reader.click(article, START + hour * HOUR + 1)
    reader.click("N5", START + DAY + 1)
    reader.run(START + 26 * HOUR)
    totals = [sum(values) for values in reader.values()]
    assert totals[:6] == [20, 0, 20, 20, 0, 0]
    assert totals[24] == 20
    assert len(reader.contributor.statement().debits) == 2


def test_what_is_paid_per_window_is_paid_each_time(reader: Reader) -> None:
    reader.contributor.adopt(task(per="window", epsilon=0.01), CELLS)
    reader.run(START + 6 * HOUR)
    statement = reader.contributor.statement()
    assert len(statement.debits) == len(reader.sender.given) == 5
    assert statement.today == pytest.approx(0.05)


def test_a_trial_has_no_epsilon_and_is_remembered_after_forgetting(tmp_path: Path) -> None:
    helper = "http://localhost:1/"
    reader = Reader(tmp_path, replace(FLOORS, helpers=frozenset({helper})))
    reader.contributor.adopt(task(leader="http://127.0.0.1:2/", helper=helper), CELLS)
    assert "∞" not in str(reader.contributor.statement())
    reader.run(START + 3 * HOUR)
    reader.contributor.forget()
    statement = reader.contributor.statement()
    assert "ε = ∞" in str(statement)
    assert statement.to_json()["is_trial"]


def test_the_budget_of_a_day_holds_over_all_tasks(tmp_path: Path) -> None:
    reader = Reader(tmp_path, replace(FLOORS, max_day_epsilon=0.25))
    for name in ("a", "b", "c"):
        reader.contributor.adopt(task(name=name), CELLS)
    reader.run(START + 30 * HOUR)
    first_day = {given.name for given, window, _ in reader.sender.given if window < 24}
    assert len(first_day) == 2
    assert reader.contributor.statement().today <= 0.25


def test_the_cap_for_life_holds(tmp_path: Path) -> None:
    reader = Reader(tmp_path, replace(FLOORS, max_life_epsilon=0.35))
    reader.contributor.adopt(task(windows=240), CELLS)
    reader.run(START + 10 * DAY)
    statement = reader.contributor.statement()
    assert len(statement.debits) == 3
    assert statement.life <= 0.35
    assert len(reader.sender.given) == 3 * 24


def test_a_long_life_is_cheaper_than_the_sum_of_its_days() -> None:
    days = [(0.05, 0.0)] * 365
    together = Spent.of(days).at(1e-6)
    exact = compose([task(epsilon=0.05).event()] * 365).epsilon(1e-6)
    assert exact <= together <= 1.25 * exact
    assert Spent.of(days[:3]).at(1e-6) == pytest.approx(0.15)
    assert Spent.of([(0.5, 1e-7)]).at(1e-7) == pytest.approx(0.5, rel=1e-3)
    assert math.isinf(Spent.of([(0.5, 1e-7)]).at(0))


def test_nothing_is_sent_twice_after_a_restart_or_a_wrong_clock(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    reader.run(START + 3 * HOUR)
    before = len(reader.sender.given)
    reader.contributor = reader.open()
    reader.now = START + 2 * HOUR
    reader.run(START + 3 * HOUR)
    assert len(reader.sender.given) == before


def test_a_contribution_that_cannot_be_delivered_is_not_sent_again(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    reader.sender.fails = True
    reader.run(START + 3 * HOUR)
    assert [window for _, window, _ in reader.sender.given] == [0, 1]
    assert reader.contributor.problem is not None


def test_missed_windows_are_not_sent_later(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    reader.run(START + 2 * HOUR)
    reader.click("N1", reader.now + 1)
    reader.now = START + 7 * HOUR - 200
    reader.run(START + 9 * HOUR)
    assert [window for _, window, _ in reader.sender.given] == [0, 6, 7]


def test_a_task_counts_from_its_next_window_on(reader: Reader) -> None:
    reader.now = START + 10
    reader.click("N0", START + 5)
    reader.contributor.adopt(task(), CELLS)
    reader.run(START + 3 * HOUR)
    assert [window for _, window, _ in reader.sender.given] == [1]


def test_times_are_spread_and_do_not_repeat_themselves(tmp_path: Path) -> None:
    delays = []
    for number in range(4):
        reader = Reader(tmp_path / f"{number}")
        reader.contributor.adopt(task(), CELLS)
        reader.run(START + 12 * HOUR)
        delays += [time - START - (window + 1) * HOUR for time, _, window, *_ in reader.sender.seen]
    assert min(delays) >= 0
    assert max(delays) < 600
    assert len(set(delays)) > 30


def test_next_due_says_when_to_wake(reader: Reader) -> None:
    assert reader.contributor.next_due() is None
    reader.contributor.adopt(task(), CELLS)
    for window in range(4):
        due = reader.contributor.next_due()
        assert due is not None
        reader.now = due
        assert reader.contributor.contribute_due() == 1
        assert reader.sender.given[-1][1] == window


def test_lost_tasks_do_not_give_a_second_total_a_day(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    for hour in range(30):
        reader.click(f"N{hour % 6}", START + hour * HOUR + 1)
    reader.run(START + 3 * HOUR)
    (reader.folder / "tasks.sqlite").unlink()
    reader.contributor = reader.open()
    reader.contributor.adopt(task(), CELLS)
    reader.run(START + 26 * HOUR)
    assert sum(sum(values) for values in reader.values()[:2]) == 60
    assert [window for _, window, _ in reader.sender.given if 2 < window < 24] == []
    assert reader.sender.given[-1][1] == 24


def test_a_crash_after_the_payment_gives_nothing_twice(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the debit and the note that the window is done, nobody knows what was given: the day is over."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    reader.contributor.adopt(task(), CELLS)
    reader.click("N1", START + HOUR + 1)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.edge.reader.sums.sums_store.TaskStore.contribute", killed)
        with pytest.raises(KeyboardInterrupt):
            reader.run(START + 2 * HOUR)
    reader.contributor = reader.open()
    reader.run(START + 26 * HOUR)
    assert [window for _, window, _ in reader.sender.given] == [24]
    assert len(reader.contributor.statement().debits) == 2


def test_a_lost_ledger_ends_contributions(reader: Reader) -> None:
    reader.contributor.adopt(task(), CELLS)
    reader.run(START + 3 * HOUR)
    shutil.rmtree(reader.folder / "ledger")
    reader.contributor = reader.open()
    sent = len(reader.sender.given)
    reader.run(START + 3 * DAY)
    assert len([window for _, window, _ in reader.sender.given[sent:] if window >= 24]) == 0


def test_an_ended_task_keeps_its_name(reader: Reader) -> None:
    reader.contributor.adopt(task(windows=2), CELLS)
    reader.run(START + 5 * HOUR)
    assert reader.contributor.tasks == []
    with pytest.raises(DiscreetError, match="under its name"):
        reader.contributor.adopt(task(windows=200), CELLS)
    reader.contributor.forget()
    reader.contributor.adopt(task(windows=200), CELLS)


def test_a_client_joins_sums_with_its_own_clicks(tmp_path: Path) -> None:
    """Clicks of the history, counted by article, in tasks that came with the publisher's other public data.

    Of all that it writes nobody else can read anything, whatever the process allows.
    """
    mask = os.umask(0)
    publisher, reader = Publisher(), Reader(tmp_path / "unused")
    some = task(start=PUBLISHER_START)

    def answer(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
        if url.endswith("/v1/tasks"):
            return HttpReply(200, json.dumps({"tasks": [some.to_json()]}).encode())
        return HttpReply(200, CELLS_PAGE) if "/v1/cells/" in url else publisher(method, url, headers, body)

    now = [float(PUBLISHER_START)]
    client = ReaderClient("https://news.example", tmp_path / "device", transport=answer, clock=lambda: now[0])
    client.refresh()
    contributor = client.join_sums(reader.sender, FLOORS)
    client.refresh()
    client.clicked("N1")
    client.clicked("N5")
    while not reader.sender.given:
        now[0] = (contributor.next_due() or 0) + 0.001
        contributor.contribute_due()
    assert reader.values() == [[0, 30, 0, 0, 0, 30]]
    client.forget()
    assert contributor.tasks == []
    written = [tmp_path / "device", *(tmp_path / "device").rglob("*")]
    os.umask(mask)
    assert {path.name for path in written} >= {"history.sqlite", "catalogue.sqlite", "tasks.sqlite", "debits.sqlite"}
    assert [path for path in written if path.stat().st_mode & 0o077] == []


def test_helpers_must_be_named() -> None:
    assert Floors(helpers=frozenset({HELPER.rstrip("/")})).refusal(task()) is None
    assert "trusts" in str(Floors().refusal(task()))
