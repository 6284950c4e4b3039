"""What a report costs each aggregator of DAP: bytes, processor time and storage; and what a million devices a day cost.

Leader and helper run as processes on loopback, with SQLite and without TLS; each report comes over a connection of its
own. Reports are uploaded, then brought to the helper, then collected. A first window warms both processes up.

    python benchmarks/bench_dap.py --reports 2000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.collector import Collector, asking
from discreet.aggregation.dap.key_files import read_key, read_token, write_key, write_secret
from discreet.aggregation.dap.messages import Report, ReportShare, UploadRequest, VerifyInit, VerifyResp, VerifyRespType
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError

TASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("count", {"kind": "count"}),
    ("histogram of 300", {"kind": "histogram", "length": 300}),
    ("histogram of 1,000", {"kind": "histogram", "length": 1000}),
    ("300 values up to 15", {"kind": "sumvec", "length": 300, "max_value": 15, "max_total": 60}),
)
WINDOW, PATIENCE, MILLION = 600, 120.0, 1_000_000
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Cost:
    """What one report costs: bytes, milliseconds of a core, and bytes on the disk."""

    upload: int
    between: int
    device: float
    leader_upload: float
    leader: float
    helper: float
    waiting: float
    leader_counted: float
    helper_counted: float


class Site:
    """A leader and a helper with one task, in a folder."""

    def __init__(self, folder: Path, terms: dict[str, Any]) -> None:
        self.folder = folder
        ports = {role: _free_port() for role in ("leader", "helper")}
        start = int(time.time()) // WINDOW * WINDOW - 20 * WINDOW
        urls = {role: f"http://127.0.0.1:{port}" for role, port in ports.items()}
        self.task = Task(
            name="cost", purpose="cost", start=start, window_seconds=WINDOW, windows=100, epsilon=1.0, **terms, **urls
        )
        (folder / "task.json").write_text(json.dumps(self.task.to_json()))
        for name in ("leader", "helper", "collector"):
            write_key(folder / f"{name}.key")
        for name in ("verify", "token"):
            write_secret(folder / name)
        tokens = {"helper": ("leader_token",), "leader": ("helper_token", "collector_token")}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        for role, port in ports.items():
            lines = [f'database = "{role}.sqlite"', f'keys = ["{role}.key"]', f"port = {port}", "rate = 0"]
            lines += ["max_reports_of_one = 0", "job_seconds = 3600", *(f'{name} = "token"' for name in tokens[role])]
            lines += ["[[tasks]]", 'terms = "task.json"', 'verify_key = "verify"', 'collector = "collector.key.pub"']
            (folder / f"{role}.toml").write_text("\n".join(lines))
            command = [
                sys.executable,
                "-m",
                "discreet",
                "aggregate",
                "--as",
                role,
                "--config",
                str(folder / f"{role}.toml"),
            ]
            self.processes[role] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._wait_for(port)
        self.collector = Collector(
            read_key(folder / "collector.key"), asking(read_token(folder / "token"), None, lambda _: time.sleep(0.1))
        )

    def close(self) -> None:
        """End both."""
        for process in self.processes.values():
            process.terminate()
            process.wait()

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    self.close()
                    raise
                time.sleep(0.1)

    def used(self) -> dict[str, float]:
        """Seconds of a core that each has used."""
        found = {}
        for role, process in self.processes.items():
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            found[role] = (int(fields[11]) + int(fields[12])) / TICKS
        return found

    def stored(self) -> dict[str, int]:
        """Bytes of each one's database, without free pages."""
        found = {}
        for role in self.processes:
            with contextlib.closing(sqlite3.connect(self.folder / f"{role}.sqlite")) as database:
                pages, free, size = (
                    database.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("page_count", "freelist_count", "page_size")
                )
                found[role] = (pages - free) * size
        return found

    def bring(self) -> None:
        """Have all reports brought to the helper: a request for an empty window wakes the leader."""
        with contextlib.suppress(DiscreetError):
            self.collector.collect(self.task, 5)

    def run(self, window: int, count: int) -> Cost:
        """Bring a window from its first report to its sum."""
        client = Client(self.task)
        client.configs()
        contribution = Contribution.of(self.task, self.task.nothing())
        before = time.process_time()
        bodies = [client.report(window, contribution) for _ in range(count)]
        device = time.process_time() - before
        used, stored = [self.used()], [self.stored()]
        for body in bodies:
            Client(self.task).send(body)
        used.append(self.used())
        stored.append(self.stored())
        self.bring()
        stored.append(self.stored())
        found = self.collector.collect(self.task, window)
        used.append(self.used())
        assert found.contributions == count, found.contributions
        return Cost(
            upload=len(bodies[0]),
            between=between(self.task, bodies[0]),
            device=1e3 * device / count,
            leader_upload=1e3 * (used[1]["leader"] - used[0]["leader"]) / count,
            leader=1e3 * (used[2]["leader"] - used[1]["leader"]) / count,
            helper=1e3 * (used[2]["helper"] - used[1]["helper"]) / count,
            waiting=(stored[1]["leader"] - stored[0]["leader"]) / count,
            leader_counted=(stored[2]["leader"] - stored[0]["leader"]) / count,
            helper_counted=(stored[2]["helper"] - stored[0]["helper"]) / count,
        )


def between(task: Task, body: bytes) -> int:
    """Bytes of a report in an aggregation job's request and answer."""
    prio3, report = task.prio3(), UploadRequest.decode(body).reports[0]
    assert isinstance(report, Report)
    share = ReportShare(report.report_metadata, report.public_share, report.helper_encrypted_input_share)
    head = 5  # of a message of the ping-pong
    asked = VerifyInit(share, bytes(head + prio3.verifier_share_size))
    told = VerifyResp(bytes(16), VerifyRespType.CONTINUE, bytes(head + prio3.verifier_message_size))
    return len(asked.encode()) + len(told.encode())


def measure(terms: dict[str, Any], reports: int) -> Cost:
    """The cost of one kind of task."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder), terms)
        try:
            site.run(1, 50)
            return site.run(0, reports)
        finally:
            site.close()


def main() -> None:
    """Measure all kinds, and print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--reports", type=int, default=2000, help="reports of each kind")
    reports = parser.parse_args().reports
    costs = {name: measure(terms, reports) for name, terms in TASKS}
    row("one report", "up", "leader ⇄ helper", "device", "leader, takes it", "leader, verifies it", "helper")
    row("---", *["---:"] * 6)
    for name, c in costs.items():
        times = (f"{taken:.2f} ms" for taken in (c.device, c.leader_upload, c.leader, c.helper))
        row(name, f"{c.upload:,} B", f"{c.between:,} B", *times)
    print()
    row("one report on the disk", "leader, while it waits", "leader, until collected", "helper, until collected")
    row("---", *["---:"] * 3)
    for name, c in costs.items():
        row(name, *(f"{size:,.0f} B" for size in (c.waiting, c.leader_counted, c.helper_counted)))
    print()
    row("10⁶ reports a day", "into the leader", "leader ⇄ helper", "leader", "helper", "disk, if all wait", "ids, each")
    row("---", *["---:"] * 6)
    for name, c in costs.items():
        sent = (f"{size * MILLION / 1e9:.2f} GB" for size in (c.upload, c.between))
        times = (f"{taken * MILLION / 60_000:.0f} core min" for taken in (c.leader_upload + c.leader, c.helper))
        ids = max(c.leader_counted, c.helper_counted) * MILLION / 1e6
        row(name, *sent, *times, f"{c.waiting * MILLION / 1e9:.1f} GB", f"{ids:.0f} MB")


def row(*cells: str) -> None:
    """Print a row of a table."""
    print("| " + " | ".join(cells) + " |", flush=True)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


if __name__ == "__main__":
    main()
