"""A database that stands still or is full: ranking goes on, readiness says so in time, and the process still ends."""

import contextlib
import json
import signal
import sqlite3
import time

import httpx
import pytest
from postgres_cluster import running_cluster
from served_world import free_port, served_process, serving, sketch_report, small_service
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.serving.database_tables import open_engine
from discreet.serving.http import FINISH_SECONDS
from discreet.serving.logs import JsonLines
from discreet.serving.readiness import CLOSE_SECONDS

PATIENCE = 60


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as found:
        yield found


@pytest.mark.long
def test_where_postgres_stands_still_ranking_goes_on_and_readiness_says_so(cluster, tmp_path):
    service = small_service(tmp_path, database=cluster.address)
    with serving(service) as base, httpx.Client(base_url=base, timeout=PATIENCE) as client:
        space = client.get("/v1/model").json()["space"]
        assert client.post("/v1/reports", json=sketch_report(space)).status_code == 201
        assert client.get("/readyz").status_code == 200
        one = sketch_report(space)
        with cluster.standing_still():
            answer = client.post("/v1/reports", json=one)
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            times = []
            for _ in range(12):  # more than there are threads in a pool
                began = time.monotonic()
                assert client.get("/readyz").status_code == 503
                times.append(time.monotonic() - began)
                assert client.post("/v1/recommend", json={"space": space}).status_code == 200
            assert min(times) < 2.0
        deadline = time.monotonic() + PATIENCE
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        while (again := client.post("/v1/reports", json=one).status_code) == 503:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert again in (200, 201)


@pytest.mark.long
def test_where_postgres_stands_still_the_server_ends_when_it_is_told_to(cluster, tmp_path):
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with (
        (tmp_path / "log").open("wb") as log,
        served_process(tmp_path, port, log, cluster.address) as server,
        cluster.standing_still(),
    ):
        space = httpx.get(f"{base}/v1/model", timeout=PATIENCE).json()["space"]
        with contextlib.suppress(httpx.TimeoutException):
            httpx.post(f"{base}/v1/reports", json=sketch_report(space), timeout=0.5)
        server.send_signal(signal.SIGTERM)
        server.wait(FINISH_SECONDS + CLOSE_SECONDS + PATIENCE / 2)
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert any(event.startswith("stopped") for event in events)


def test_a_postgres_that_stands_still_is_one_clear_line_at_the_start(cluster, tmp_path):
    with cluster.standing_still(), pytest.raises(DiscreetError, match="cannot be opened"):
        open_engine(cluster.address)


@pytest.mark.long
def test_a_question_to_a_postgres_that_falls_silent_has_an_end(cluster):
    engine = open_engine(cluster.address)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        with cluster.standing_still(), pytest.raises(SQLAlchemyError):
            connection.exec_driver_sql("SELECT 2")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 3").scalar_one() == 3
        with pytest.raises(SQLAlchemyError, match="statement timeout"):
            connection.exec_driver_sql("SELECT pg_sleep(60)")
    engine.dispose()


def limit_pages(engine, more):
    """As if the disk were full after so many more pages."""
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def full(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages + more}")

    event.listen(engine, "connect", full)
    engine.dispose()
    return lambda: (event.remove(engine, "connect", full), engine.dispose())


@pytest.mark.long
def test_a_full_disk_is_told_once_and_by_readiness_while_ranking_goes_on(tmp_path, caplog):
    service = small_service(tmp_path)
    with serving(service) as base, httpx.Client(base_url=base, timeout=PATIENCE) as client:
        space = client.get("/v1/model").json()["space"]
        assert client.get("/readyz").status_code == 200
        make_room = limit_pages(service.store.engine, 4)
        statuses = [client.post("/v1/reports", json=sketch_report(space)).status_code for _ in range(300)]
        assert statuses[-1] == 503
        assert statuses.count(503) > 20
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
        assert "writes" in ready.json()["why"]
        assert client.post("/v1/recommend", json={"space": space}).status_code == 200
        lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
        told = [line for line in lines if line["event"] == "reports were not kept"]
        assert [line["cause"] for line in told] == ["SQLITE_FULL"]
        assert len([line for line in lines if line["level"] in ("warning", "error")]) <= 4
        make_room()
        deadline = time.monotonic() + PATIENCE
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert client.post("/v1/reports", json=sketch_report(space)).status_code == 201


def test_a_disk_that_is_full_at_the_start_is_one_clear_line(tmp_path, monkeypatch):
    from discreet.database import engine

    def small(connection, record):
        set_up(connection, record)
        connection.execute("PRAGMA max_page_count = 24")

    set_up = engine._set_up_sqlite
    monkeypatch.setattr(engine, "_set_up_sqlite", small)
    with pytest.raises(DiscreetError, match=r"serving\.sqlite: .*full"):
        small_service(tmp_path)
    monkeypatch.undo()
    small_service(tmp_path).close()
    with sqlite3.connect(tmp_path / "serving.sqlite") as database:
        assert database.execute("SELECT count(*) FROM pending").fetchone()[0] > 0
