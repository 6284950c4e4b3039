"""A leader and a collector inside the server of a run: one door, one process."""

import time
from functools import partial

from dap_processes import Deployment
from dap_site import LocalPeer
from served_world import small_service
from starlette.testclient import TestClient

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.config import read_config
from discreet.serving.aggregation import mount_leader, open_leader
from discreet.serving.endpoints import create_app
from discreet.serving.limits import ServerLimits


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
