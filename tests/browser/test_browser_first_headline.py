"""A first visit to `discreet serve` with many articles: a headline after less than a megabyte, and without delay."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from served_world import serving

from discreet.data.synthetic import news_world
from discreet.methods.click_reports.click_reports import ClickReports
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.serving.model import load_served
from discreet.serving.server import open_service
from discreet.serving.server_store import Waiting
from discreet.serving.service import Service

FEW, SOME, MANY = 60, 6_009, 50_009
VISITS = 3
MAX_BYTES = 1_000_000
MAX_TIMES = 5
"""How many times as long a large catalogue may take as one of a single screen: no bound in seconds holds everywhere."""
WATCH = """new MutationObserver((_, watch) => { if (!document.querySelector("#articles > li")) return;
    window.headline = performance.now();
    watch.disconnect(); }).observe(document, { childList: true, subtree: true });"""
BEFORE = """() => [window.headline / 1000,
    [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter(({ startTime }) => startTime < window.headline)
        .map(({ name, transferSize }) => [name, transferSize])]"""


def filled(run: Path, count: int) -> Service:
    """A service with so many articles."""
    database = run.with_name(f"{count}.sqlite")
    service = open_service(run, load_served(run), database=database, may_be_empty=True)
    subjects = ("harbour", "election", "storm", "final", "recipe", "market", "museum", "trial")
    service.store.put_articles(
        Waiting(
            f"N{n}", f"The {subjects[n % 8]} of the day, part {n}", "", f"c{n % 12}", 1_700_000_000 + n, 1_700_000_000
        )
        for n in range(count)
    )
    service.updater.step()  # encoded here, so that a server is ready at once
    return service


@contextlib.contextmanager
def served(run: Path, count: int) -> Iterator[str]:
    """The address of `discreet serve` with so many articles, when it is ready."""
    database = run.with_name(f"{count}.sqlite")
    filled(run, count).close()
    command = [sys.executable, "-m", "discreet", "serve", str(run), "--database", str(database), "--port", "0"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = next(line for line in server.stdout or () if '"url"' in line).split('"')[3]
            while httpx.get(f"{address}/readyz").status_code != 200:
                time.sleep(0.05)
            yield address
        finally:
            server.terminate()


def first_visit(browser: Any, address: str) -> tuple[float, int]:
    """Seconds until a new reader sees a headline, and bytes of all that was asked for until then."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")  # all has come: bytes of what was under way are known, too
    seconds, before = page.evaluate(BEFORE)
    context.close()
    assert any(name.endswith("/v1/catalogue") and size for name, size in before)
    return seconds, sum(size for _, size in before)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    task, method = TrainingTask(news_world(60, seed=1), "hashed"), ClickReports()
    Run(method, method.train(task, 0), task.data.name, 0, task.text).save(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.long
def test_a_headline_comes_before_the_rest_of_the_catalogue(browser: Any, run: Path) -> None:
    with serving(filled(run, SOME)) as address:
        _, size = first_visit(browser, address)
    assert size < MAX_BYTES


@pytest.mark.slow
def test_a_headline_comes_at_once_from_a_large_catalogue(browser: Any, run: Path) -> None:
    with served(run, FEW) as small, served(run, MANY) as large:
        visits = [(first_visit(browser, small), first_visit(browser, large)) for _ in range(VISITS)]
    few, many = (statistics.median(visit[which][0] for visit in visits) for which in (0, 1))
    size = max(visit[1][1] for visit in visits)
    print(f"\nfirst headline after {many:.2f} s and {size:,} bytes; with {FEW} articles after {few:.2f} s")
    assert size < MAX_BYTES
    assert many < MAX_TIMES * few
