"""Leader and helper as processes on loopback, which can be killed and started again."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from dap_site import example_task

from discreet.aggregation.dap.collector import Collector, asking
from discreet.aggregation.dap.key_files import read_key, read_token, write_key, write_secret
from discreet.aggregation.task import Task

PATIENCE = 900.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Deployment:
    """The files of both aggregators and the collector in a folder, and the processes that use them."""

    def __init__(
        self,
        folder: Path,
        *,
        start: int,
        scheme: str = "http",
        extra: dict | None = None,
        databases: dict | None = None,
        **terms,
    ) -> None:
        self.folder, self.scheme = folder, scheme
        self.ports = {"leader": free_port(), "helper": free_port()}
        urls = {role: f"{scheme}://127.0.0.1:{port}" for role, port in self.ports.items()}
        self.task: Task = example_task(start=start, **urls, **terms)
        (folder / "task.json").write_text(json.dumps(self.task.to_json()))
        for name in ("leader", "helper", "collector"):
            write_key(folder / f"{name}.key")
        for name in ("verify", "leader.token", "collector.token"):
            write_secret(folder / name)
        tokens = {
            "helper": 'leader_token = "leader.token"',
            "leader": 'helper_token = "leader.token"\ncollector_token = "collector.token"\njob_seconds = 0.2',
        }
        for role, port in self.ports.items():
            database = (databases or {}).get(role, f"{role}.sqlite")
            lines = [f'database = "{database}"', f'keys = ["{role}.key"]', f"port = {port}", "rate = 0"]
            lines += ["max_reports_of_one = 0", tokens[role], (extra or {}).get(role, ""), "[[tasks]]"]
            lines += ['terms = "task.json"', 'verify_key = "verify"', 'collector = "collector.key.pub"', ""]
            (folder / f"{role}.toml").write_text("\n".join(lines))
        self.processes: dict[str, subprocess.Popen] = {}
        self.given_up = threading.Event()

    def start(self, role: str) -> None:
        """Start an aggregator, and return when it answers."""
        log = (self.folder / f"{role}.log").open("ab")
        command = [
            sys.executable,
            "-m",
            "discreet",
            "aggregate",
            "--as",
            role,
            "--config",
            str(self.folder / f"{role}.toml"),
        ]
        self.processes[role] = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
        self.wait_for(lambda: self.answers(role), f"{role} to answer")

    def answers(self, role: str) -> bool:
        if self.processes[role].poll() is not None:
            raise AssertionError((self.folder / f"{role}.log").read_text()[-2000:])
        try:
            with socket.create_connection(("127.0.0.1", self.ports[role]), 5):
                return True
        except OSError:
            return False

    @contextlib.contextmanager
    def giving_up(self):
        """Let threads know when the test has failed, so that none goes on waiting."""
        try:
            yield
        except BaseException:
            self.given_up.set()
            raise

    def kill(self, role: str) -> None:
        """kill -9."""
        self.processes[role].kill()
        self.processes[role].wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(30)

    def collector(self, authorities: Path | None = None) -> Collector:
        token = read_token(self.folder / "collector.token")
        return Collector(read_key(self.folder / "collector.key"), asking(token, authorities, lambda _: time.sleep(0.1)))

    @staticmethod
    def wait_for(condition, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"waited for {what}"
            time.sleep(0.05)
