"""A leader and a collector inside the server of a run: one door, one process."""

import hashlib
import time
from functools import partial

from dap_processes import Deployment
from dap_site import LocalPeer, Site
from served_world import small_service
from starlette.testclient import TestClient
from sums_tools import Reader

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.config import read_config
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.sums import Floors
from discreet.edge.reader.sums.sums_client import TaskClient
from discreet.serving.aggregation import Aggregator, mount_leader, open_leader
from discreet.serving.endpoints import create_app
from discreet.serving.limits import ServerLimits
from discreet.serving.public_tasks import publish_cells, publish_window_cells
from discreet.serving.status import Running, status_lines


def test_a_served_run_with_its_leader(tmp_path):
    start = int(time.time()) // 600 * 600 - 6000
    deployment = Deployment(tmp_path, start=start, extra={"leader": 'collector_key = "collector.key"'})
    deployment.start("helper")
    leader = open_leader(read_config(tmp_path / "leader.toml"))
    app = create_app(small_service(tmp_path), ServerLimits(rate=0), extend=partial(mount_leader, leader=leader))
    try:
        with TestClient(app) as server:
            assert server.get("/healthz").status_code == 200
            assert server.get("/dap/hpke_config").headers["access-control-allow-origin"] == "*"
            assert server.post("/dap/tasks/x/reports", content=b"x" * 300_000).status_code == 413
            client = Client(deployment.task)
            client._leader = LocalPeer("http://testserver/dap", app)
            client._leader._app = server
            for values in ([1, 0, 0], [0, 0, 1]):
                client.upload(0, Contribution.of(deployment.task, values))
            assert leader.collector is not None
            found = leader.collector.collect(deployment.task, 0)
            assert (found.values.tolist(), found.contributions) == ([1, 0, 1], 2)
    finally:
        deployment.stop()


def test_what_speaks_against_the_clock_is_shown(tmp_path):
    service, site = small_service(tmp_path), Site(tmp_path)
    service.updater.step()
    leader = Aggregator(site.leader_app, print, print, [site.task], worker=site.worker)
    service.running = lambda: Running([site.task], {}, leader.health())
    site.upload(0)
    site.worker.step()
    with TestClient(create_app(service, ServerLimits(rate=0))) as server:
        for days, told in ((0, {}), (60, "ahead"), (-60, "behind")):
            site.clock.now += days * 86_400
            site.worker.clock.look()
            site.clock.now -= days * 86_400
            ready = server.get("/readyz")
            assert ready.status_code == 200, "whoever has no reports for a day serves all the same"
            assert ("clock" in ready.json()) == bool(days)
            if days:
                assert told in ready.json()["clock"]
                lines = status_lines(service.status({}))
                assert f"clock: {site.worker.clock.problem}." in lines
    site.close()


def test_devices_are_told_the_tasks_and_their_cells(tmp_path):
    """What the server announces, a device takes, and what it contributes to a window is what the window's list says."""
    start = int(time.time()) // 600 * 600 - 6000
    terms = {"kind": "multihot", "length": 3, "max_total": 1, "measure": "clicks by cell", "cells": "window"}
    deployment = Deployment(
        tmp_path, start=start, extra={"leader": 'cells = "cells"'}, epsilon=0.1, windows=99, **terms
    )
    task = deployment.task
    leader = open_leader(read_config(tmp_path / "leader.toml"))
    app = create_app(small_service(tmp_path), ServerLimits(rate=0), extend=partial(mount_leader, leader=leader))
    publish_window_cells(tmp_path / "cells", task, 2, ["N7", "N5"])
    digest = publish_cells(tmp_path / "cells", ["N1", "é"])
    reader = Reader(tmp_path / "device", Floors(helpers=frozenset({task.helper})))
    with TestClient(app) as server:
        assert server.get("/v1/tasks").json() == {"tasks": [task.to_json()]}
        fixed = server.get(f"/v1/cells/{digest}")
        assert hashlib.sha256(fixed.content).hexdigest() == digest
        for wrong in ("0" * 64, "..", f"{task.id.hex()}/3", f"{task.id.hex()}/..", "x/1"):
            assert server.get(f"/v1/cells/{wrong}").status_code == 404

        def ask(method, url, headers, body):
            answer = server.request(method, url, headers=headers, content=body)
            return HttpReply(answer.status_code, answer.content)

        client = TaskClient("http://testserver", reader.contributor, transport=ask)
        reader.now = float(start)
        client.refresh()
        assert client.refused == []
        reader.click("N5", start + 2 * 600 + 1)
        reader.run(start + 5 * 600)
    assert reader.values()[2] == [0, 1, 0]
    assert sum(map(sum, reader.values())) == 1
