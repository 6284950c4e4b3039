"""What goes wrong in earnest: a killed server, a locked or full database, damaged runs; and logs that tell nothing."""

import asyncio
import contextlib
import json
import signal
import sqlite3
import threading
import time
from pathlib import Path

import httpx
import pytest
import served_world
from served_world import TOPICS, free_port, served_process, serving, sketch_report, small_service
from sqlalchemy import event

from discreet.cli import run as run_command


def kept(folder):
    with sqlite3.connect(Path(folder) / "serving.sqlite") as database:
        return [row[0] for row in database.execute("SELECT id FROM reports")]


async def flood(base, reports, acknowledged, stop, killed):
    """Send reports over and over until told to stop; note each that was acknowledged. The last wait for the kill."""
    async with httpx.AsyncClient(base_url=base, timeout=60) as client:

        async def send(one):
            while not stop.is_set():
                with contextlib.suppress(httpx.TransportError):
                    answer = await client.post("/v1/reports", json=one)
                    if answer.status_code in (200, 201):
                        acknowledged.add(one["id"])
                        return
                await asyncio.sleep(0.02)

        async def several(part):
            for place, one in enumerate(part):
                while place > len(part) // 2 and not killed.is_set():
                    await asyncio.sleep(0.005)
                await send(one)

        await asyncio.gather(*(several(reports[start::8]) for start in range(8)))


@pytest.mark.long
def test_a_killed_server_has_lost_no_acknowledged_report_and_doubled_none(tmp_path):
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    acknowledged, stop, killed = set(), threading.Event(), threading.Event()
    with (tmp_path / "log").open("wb") as log:
        with served_process(tmp_path, port, log) as server:
            space = httpx.get(f"{base}/v1/model").json()["space"]
            reports = [sketch_report(space) for _ in range(600)]
            sending = lambda: asyncio.run(flood(base, reports, acknowledged, stop, killed))  # noqa: E731
            sender = threading.Thread(target=sending, daemon=True)
            sender.start()
            while len(acknowledged) < 100 and sender.is_alive():
                time.sleep(0.005)
            server.send_signal(signal.SIGKILL)
            server.wait()
            killed.set()
            before = set(acknowledged)
            survived = kept(tmp_path)
            assert 100 <= len(before) < len(reports), "the kill must fall into the load"
            assert before <= set(survived)
        with served_process(tmp_path, port, log):
            sender.join(timeout=200)  # those that were not acknowledged are sent again
            stop.set()
            sender.join()
    final = kept(tmp_path)
    assert len(final) == len(set(final))
    assert set(final) == acknowledged == {one["id"] for one in reports}


@pytest.mark.long
def test_a_server_that_is_told_to_stop_finishes_and_logs_nothing_of_its_readers(tmp_path):
    port = free_port()
    with (tmp_path / "log").open("wb") as log, served_process(tmp_path, port, log) as server:
        base = f"http://127.0.0.1:{port}"
        model = httpx.get(f"{base}/v1/model", headers={"User-Agent": "secret-agent"}).json()
        one = sketch_report(model["space"])
        assert httpx.post(f"{base}/v1/reports", json=one).status_code == 201
        wrong = {"space": "secret-space", "sketches": [], "category": ["secret-category"], "limit": "secret-limit"}
        assert httpx.post(f"{base}/v1/recommend?q=secret-query", json=wrong).status_code == 422
        assert httpx.get(f"{base}/secret-path").status_code == 404
        server.send_signal(signal.SIGTERM)
        server.wait(20)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert "serving" in events
    assert "stopped" in events
    everything = json.dumps(lines)
    for secret in ("secret", one["release"], one["device"], one["id"], "127.0.0.1:", model["space"]):
        assert secret not in everything.replace(f"http://127.0.0.1:{port}", "")
    assert kept(tmp_path) == [one["id"]]


@pytest.fixture
def service(tmp_path):
    return small_service(tmp_path)


def test_a_locked_database_stops_reports_but_not_recommendations(tmp_path, service):
    with serving(service, admin_token="x" * 20) as base, httpx.Client(base_url=base, timeout=20) as client:
        space = client.get("/v1/model").json()["space"]
        other = sqlite3.connect(tmp_path / "serving.sqlite", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        one = sketch_report(space)
        answer = client.post("/v1/reports", json=one)
        assert answer.status_code == 503
        assert "again" in answer.json()["error"]
        assert int(answer.headers["retry-after"]) > 0
        headers = {"Authorization": "Bearer " + "x" * 20}
        put = client.put("/v1/admin/articles", json=[{"id": "L", "title": "late"}], headers=headers)
        assert put.status_code == 503
        assert client.post("/v1/recommend", json={"space": space}).status_code == 200
        other.execute("ROLLBACK")
        other.close()
        assert client.post("/v1/reports", json=one).status_code == 201
    assert kept(tmp_path) == [one["id"]]


def test_a_full_disk_stops_reports_but_loses_none(tmp_path, service):
    with serving(service) as base, httpx.Client(base_url=base) as client:
        space = client.get("/v1/model").json()["space"]
        engine = service.store.engine
        with engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

        def full(connection, _):
            connection.execute(f"PRAGMA max_page_count = {pages + 4}")

        event.listen(engine, "connect", full)
        engine.dispose()
        answers = {}
        for _ in range(300):
            one = sketch_report(space)
            answers[one["id"]] = client.post("/v1/reports", json=one)
        statuses = [answer.status_code for answer in answers.values()]
        assert set(statuses) == {201, 503}
        assert client.post("/v1/recommend", json={"space": space}).status_code == 200
        assert sorted(kept(tmp_path)) == sorted(i for i, answer in answers.items() if answer.status_code == 201)


def test_before_the_catalogue_is_ready_a_device_is_told_to_wait(service):
    async def ask():
        transport = httpx.ASGITransport(app=served_world.create_app(service))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.get(path) for path in ("/readyz", "/v1/model", "/healthz")]

    ready, model, health = asyncio.run(ask())
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert model.status_code == 503
    assert "retry-after" in model.headers
    assert health.status_code == 200
    service.close()


def test_a_mistake_in_the_server_is_an_answer_and_no_payload_in_the_log(service, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("secret-value")

    with serving(service) as base, httpx.Client(base_url=base) as client:
        space = client.get("/v1/model").json()["space"]
        monkeypatch.setattr(type(service.model), "interest", broken)
        answer = client.post("/v1/recommend", json={"space": space, "open": [1] * TOPICS})
        assert answer.status_code == 500
        assert "secret" not in answer.text
    from discreet.serving.logs import JsonLines

    lines = [JsonLines().format(record) for record in caplog.records]
    assert any("RuntimeError" in line for line in lines)
    assert not any("secret" in line for line in lines)


def test_a_damaged_run_is_one_clear_line(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{")
    for folder in (tmp_path, tmp_path / "nothing"):
        assert run_command(["serve", str(folder)]) == 2
        problem = capsys.readouterr().err
        assert "run.json" in problem
        assert len(problem.strip().splitlines()) == 1
    short = tmp_path / "token"
    short.write_text("short\n")
    assert run_command(["serve", str(tmp_path), "--admin-token-file", str(short)]) == 2
    assert "openssl" in capsys.readouterr().err


def test_rankings_that_were_measured_are_shown(tmp_path):
    quality = {"auc": 0.62, "se": 0.01}
    (tmp_path / "rankings.json").write_text(json.dumps({"local": quality}))
    service = small_service(tmp_path)
    with serving(service) as base:
        shown = {one["name"]: one["quality"] for one in httpx.get(f"{base}/v1/model").json()["rankings"]}
    assert shown == {"local": quality, "shortlist": None, "server": None}
