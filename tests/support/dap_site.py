"""A leader, a helper and a collector in one process, with HTTP's requests but no network between them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from starlette.testclient import TestClient

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.aggregator_store import Store
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.collector import Collector, asked
from discreet.aggregation.dap.helper import Helper
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.http_app import helper_app, leader_app
from discreet.aggregation.dap.leader import Leader
from discreet.aggregation.dap.leader_store import LeaderStore
from discreet.aggregation.dap.messages import Role
from discreet.aggregation.dap.shares import Sealing
from discreet.aggregation.dap.tables import open_engine
from discreet.aggregation.dap.transport import Peer, PeerError, Reply
from discreet.aggregation.dap.worker import Worker
from discreet.aggregation.task import Task
from discreet.privacy.noise import SecureNoise

LEADER, HELPER = "http://leader.test/dap", "http://helper.test"
START, WINDOW = 1_700_000_400 // 600 * 600, 600
LEADER_TOKEN, COLLECTOR_TOKEN = "leader-to-helper-token", "collector-to-leader-token"


def example_task(**changes) -> Task:
    """Three buckets, and next to no noise."""
    terms = {
        "name": "trial", "purpose": "tests", "kind": "histogram", "length": 3, "start": START,
        "window_seconds": WINDOW, "windows": 100, "epsilon": 100.0, "min_batch": 2, "leader": LEADER, "helper": HELPER,
    }  # fmt: skip
    return Task(**{**terms, **changes})


@dataclass
class Clock:
    now: float = START + 1.0

    def __call__(self) -> float:
        return self.now


class LocalPeer(Peer):
    """Asks an application in this process. `fail` may raise, or change a reply, to play the network."""

    def __init__(self, url, app, token=None):
        super().__init__(url, token, sleep=lambda _: None)
        self._app = TestClient(app, base_url=url, raise_server_exceptions=True)
        self.fail = lambda method, url, body, ask: ask()
        self.asked: list[tuple[str, str, bytes | None]] = []

    def ask(self, method, url, body=None, media=None):
        headers = {"Content-Type": media} if media else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"

        def ask():
            answer = self._app.request(method, url.replace(LEADER, "http://leader.test"), content=body, headers=headers)
            return Reply(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.content)

        self.asked.append((method, url, body))
        return self.fail(method, url, body, ask)


@dataclass
class Site:
    """All parties of a task; `folder` has both databases, so that a second site continues where one was killed."""

    folder: object
    task: Task = field(default_factory=example_task)
    clock: Clock = field(default_factory=Clock)
    keys: dict = field(default_factory=dict)
    noise: object = field(default_factory=SecureNoise)
    databases: dict = field(default_factory=dict)

    def __post_init__(self):
        if not self.keys:
            self.keys.update(
                leader=generate_key(1),
                helper=generate_key(2),
                collector=generate_key(3),
                verify=secrets.token_bytes(32),
            )
        agreement = Agreement(self.task, verify_key=self.keys["verify"], collector=self.keys["collector"].config)
        self.agreement = agreement
        helper_database = self.databases.get("helper", f"{self.folder}/helper.sqlite")
        leader_database = self.databases.get("leader", f"{self.folder}/leader.sqlite")
        self.helper = Helper(
            Store(open_engine(helper_database)),
            Sealing(Role.HELPER, [self.keys["helper"]], self.noise, self.clock),
            [agreement],
        )
        self.helper_app = helper_app(self.helper, LEADER_TOKEN)
        self.to_helper = LocalPeer(HELPER, self.helper_app, LEADER_TOKEN)
        self.leader = Leader(
            LeaderStore(open_engine(leader_database)),
            Sealing(Role.LEADER, [self.keys["leader"]], self.noise, self.clock),
            [agreement],
            lambda _: self.to_helper,
        )
        self.worker = Worker(self.leader, 3600, 30 * 86_400, lambda *_: None)
        self.leader_app = leader_app(self.leader, self.worker, COLLECTOR_TOKEN)
        self.client = Client(self.task)
        self.client._leader = LocalPeer(LEADER, self.leader_app)
        self.client._helper = LocalPeer(HELPER, self.helper_app)

    def close(self):
        self.worker.intake.close()
        self.leader.store.close()
        self.helper.store.close()

    def upload(self, value, window=0):
        self.client.upload(window, self.contribution(value))

    def contribution(self, value):
        values = np.zeros(self.task.length, np.int64)
        values[value] = 1
        return Contribution.of(self.task, values)

    def collect(self, window=0):
        """What the collector gets, with the leader's background work done whenever the collector waits."""
        peer = LocalPeer(LEADER, self.leader_app, COLLECTOR_TOKEN)
        peer._sleep = lambda _: self._work()
        collector = Collector(self.keys["collector"], partial(asked, peer))
        self._waits = 0
        return collector.collect(self.task, window)

    def _work(self):
        self._waits += 1
        if self._waits > 20:
            raise PeerError("the leader is never ready")
        self.worker.step()
