"""Several workers of one server: one address, one database, one set of metrics; whoever dies is replaced."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from dap_processes import Deployment, free_port
from serving_messages import ADMIN, TOKEN

from discreet.cli import run
from discreet.serving.database_tables import open_engine
from discreet.serving.lease import LEASE_SECONDS, Lease
from discreet.serving.limits import ServerLimits
from discreet.serving.server_store import ServerStore
from discreet.serving.workers import METRICS_FOLDER

wait = Deployment.wait_for


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_one_process_has_the_lease_until_it_ends_or_is_silent(database):
    clock = Clock()
    stores = [ServerStore(open_engine(database)) for _ in range(2)]
    first, second = (Lease(store, "work", clock, clock) for store in stores)
    other = Lease(stores[1], "other work", clock, clock)
    assert first.held()
    assert not second.held()
    assert other.held(), "another lease is another matter"
    clock.now += LEASE_SECONDS - 1
    assert first.held(), "renewed"
    clock.now += 5
    assert not second.held()
    clock.now += LEASE_SECONDS + 1  # the first is silent
    assert second.held()
    assert not first.held()
    second.release()
    clock.now += 5
    assert first.held(), "at once"
    assert not second.held(), "who released it does not ask again"
    for store in stores:
        store.close()


def test_all_workers_together_let_one_address_do_what_one_server_would():
    whole = ServerLimits()
    part = whole.shared_by(3)
    assert whole.shared_by(1) is whole
    assert 3 * part.rate == pytest.approx(whole.rate)
    for name in ("burst", "max_reports_of_one", "max_connections_of_one"):
        assert getattr(whole, name) <= 3 * getattr(part, name) < getattr(whole, name) + 3
    assert part.max_body == whole.max_body


def test_a_trial_has_one_worker(capsys, monkeypatch):
    monkeypatch.setenv(METRICS_FOLDER, "")  # the command sets it; after the test it is as before
    assert run(["serve", "--helper", "embedded", "--workers", "2", "--port", "0"]) == 2
    assert "leave --workers out" in capsys.readouterr().err


@contextlib.contextmanager
def forked(folder, *words):
    script = Path(__file__).parents[1] / "support" / "forked_workers.py"
    parent = subprocess.Popen([sys.executable, script, folder, *words])
    try:
        yield parent
    finally:
        parent.kill()
        parent.wait()


def pids(folder):
    return {int(one.name.partition(".")[0]) for one in folder.iterdir()}


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2][:3]


def test_a_worker_that_dies_is_replaced_and_without_their_parent_workers_end(tmp_path):
    with forked(tmp_path) as parent:
        wait(lambda: len(pids(tmp_path)) == 2, "both workers")
        one, other = pids(tmp_path)
        os.kill(one, signal.SIGKILL)
        wait(lambda: len(pids(tmp_path)) == 3, "another worker")
        assert alive(other)
        assert len(list(tmp_path.glob("*.speaks"))) == 1
        parent.kill()
        wait(lambda: not any(map(alive, pids(tmp_path))), "workers to end")


def test_workers_end_when_their_parent_is_told_to(tmp_path):
    with forked(tmp_path) as parent:
        wait(lambda: len(pids(tmp_path)) == 2, "both workers")
        parent.terminate()
        assert parent.wait(120) == 0
        assert not any(map(alive, pids(tmp_path)))


def test_where_the_first_worker_cannot_begin_all_end(tmp_path):
    with forked(tmp_path, "fail") as parent:
        assert parent.wait(120) == 3


@pytest.mark.long
def test_workers_of_a_server_share_an_address_and_add_up_their_metrics(tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "feed.csv").write_text("id,title\n" + "".join(f"N{n},storm {n} at sea\n" for n in range(9)))
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    options = (
        f"--feed feed.csv --text hashed --database s.sqlite --port {port} --rate 0 --workers 2 --admin-token-file token"
    )
    command = [sys.executable, "-m", "discreet", "serve", *options.split()]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env=environment)

    def shown():
        return (tmp_path / "log").read_text()

    try:
        wait(lambda: shown().count("Application startup complete") == 2 and is_ready(base), "both workers")
        workers = {int(one) for one in re.findall(r"Started server process \[(\d+)\]", shown())}
        assert len(workers) == 2
        for stopped in workers:  # each answers while the other stands still
            os.kill(stopped, signal.SIGSTOP)
            wait(lambda: is_ready(base), "the other worker")
            os.kill(stopped, signal.SIGCONT)
        before = served(base)
        os.kill(min(workers), signal.SIGKILL)
        wait(lambda: served(base) > before, "what the dead worker has counted, and this")
        assert shown().count("Serving feed.csv") == 1
        server.terminate()
        assert server.wait(120) == 0
        assert not list(tmp_path.glob("discreet-metrics-*"))
    finally:
        server.kill()
        server.wait()


def is_ready(base):
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{base}/readyz", timeout=20).status_code == 200
    return False


def served(base):
    with contextlib.suppress(httpx.TransportError):
        lines = httpx.get(f"{base}/metrics", headers=ADMIN, timeout=20).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("discreet_requests_total"))
    return 0
