"""Servers with some workers each over one database, their leader inside, and a helper: to be loaded, and killed."""

from __future__ import annotations

import contextlib
import csv
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
from dap_processes import PATIENCE, Deployment, free_port
from postgres_cluster import fresh_database

from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.collector import Collector, asked
from discreet.aggregation.dap.key_files import read_key, read_token
from discreet.aggregation.dap.transport import Peer

TOKEN = "administrator-of-the-test"
WINDOW = 600


class ScaledSite:
    """Its processes, what kills them, and what starts them again."""

    def __init__(
        self,
        folder: Path,
        cluster=None,
        *,
        servers: int = 2,
        workers: int = 2,
        articles: int = 20,
        options: dict | None = None,
        **terms,
    ) -> None:
        self.folder, self.cluster, self.workers, self.options = folder, cluster, workers, options or {}
        start = int(time.time()) // WINDOW * WINDOW - 60 * WINDOW
        databases = {} if cluster is None else {"leader": fresh_database(cluster.address)}
        self.deployment = Deployment(folder, start=start, databases=databases, windows=100, **terms)
        self.task = self.deployment.task
        self.database = "serving.sqlite" if cluster is None else fresh_database(cluster.address)
        self.ports = [free_port() for _ in range(servers)]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.servers: list[subprocess.Popen | None] = [None] * servers
        (folder / "admin").write_text(TOKEN)
        with (folder / "feed.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "title", "category"])
            rows.writerows([f"F{number}", f"storm {number} at sea", "weather"] for number in range(articles))

    def start(self) -> None:
        self.deployment.start("helper")
        for number in range(len(self.servers)):
            self.start_server(number)
        for number in range(len(self.servers)):
            self.wait_ready(number)

    def start_server(self, number: int) -> None:
        options = {
            "--feed": "feed.csv", "--text": "hashed", "--database": self.database, "--aggregate": "leader.toml",
            "--port": self.ports[number], "--workers": self.workers, "--rate": 0, "--admin-token-file": "admin",
            **self.options,
        }  # fmt: skip
        command = [sys.executable, "-m", "discreet", "serve", *(str(word) for pair in options.items() for word in pair)]
        log = (self.folder / f"server{number}.log").open("ab")
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.servers[number] = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=environment)

    def wait_ready(self, number: int) -> None:
        def ready() -> bool:
            assert self.servers[number].poll() is None, (self.folder / f"server{number}.log").read_text()[-2000:]
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(f"{self.urls[number]}/readyz", timeout=10).status_code == 200
            return False

        self.deployment.wait_for(ready, f"server {number}")

    def workers_of(self, number: int) -> list[int]:
        parent = self.servers[number].pid
        found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout
        return [int(word) for word in found.split()]

    def kill(self, what: str, chance: random.Random) -> None:
        """kill -9 of a worker, a whole server, the helper or the database; and what was killed begins again."""
        number = chance.randrange(len(self.servers))
        if what == "worker":
            found = self.workers_of(number)
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(found), signal.SIGKILL)
        elif what == "server":
            workers = self.workers_of(number)
            self.servers[number].kill()
            self.servers[number].wait()
            for one in workers:  # those that are left end by themselves; here all die at once
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            self.start_server(number)
        elif what == "helper":
            self.deployment.kill("helper")
            self.deployment.start("helper")
        else:
            self.cluster.kill()
            self.cluster.restart()
        for place, server in enumerate(self.servers):  # one that found no database at its start has given up
            if server.poll() is not None:
                self.start_server(place)

    def client(self, keys) -> Client:
        client = Client(self.task)
        client._configs = keys
        return client

    def keys(self):
        client = Client(self.task)
        client._leader = Peer(f"{self.urls[0]}/dap")
        return client.configs()

    def peer(self, number: int) -> Peer:
        return Peer(f"{self.urls[number]}/dap")

    def collector(self, number: int) -> Collector:
        """A collector that asks one of the servers."""
        token = read_token(self.folder / "collector.token")

        def ask(task, request):
            return asked(Peer(f"{self.urls[number]}/dap", token, sleep=lambda _: time.sleep(0.1)), task, request)

        return Collector(read_key(self.folder / "collector.key"), ask)

    def stop(self) -> None:
        for server in self.servers:
            if server is not None and server.poll() is None:
                server.terminate()
        for server in self.servers:
            if server is not None:
                try:
                    server.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    server.kill()
        self.deployment.stop()
