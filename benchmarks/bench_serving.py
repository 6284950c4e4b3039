"""Recommendations a second, against the same server's own /healthz: what ranking costs beside HTTP itself.

A server process with 65,000 articles, load from another process over loopback, distinct releases in every request and
no cache of answers. Targets: of /healthz's throughput at least 0.5 with one sketch, 0.45 with twelve, and 0.35 for a
shortlist of 200 with details; no error, p99 below ten times p50; a first headline within 2 s and 1 MB. With --minutes N
the load goes on while the catalogue changes, and memory must stay flat.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

ARTICLES, TOPICS, CONNECTIONS, ROUNDS = 65_000, 8, 16, 9
MAX_TAIL, MAX_GROWTH = 10.0, 1.1
MAX_HEADLINE_SECONDS, MAX_HEADLINE_BYTES = 2.0, 1_000_000
CASES = {"one sketch": (1, {"limit": 20}, 0.5), "twelve": (12, {"limit": 20}, 0.45)}
CASES["200 with details"] = (1, {"limit": 200, "details": True}, 0.35)
TOKEN = "benchmark-token-of-the-administrator"
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))


def serve(folder: str, port: int) -> None:
    """The server's process: a catalogue of generated vectors, ranked as a trained model's would be."""
    from served_world import NO_RATE_LIMIT, StandInModel, small_world

    from discreet.serving.addresses import listen
    from discreet.serving.server import open_service, run_server
    from discreet.serving.server_store import Waiting

    model = StandInModel(list(small_world().articles.titles), topics=TOPICS)
    known, rng = model.title_vectors, np.random.default_rng(0)

    def vectors(titles: list[str]) -> np.ndarray:
        found = rng.standard_normal((len(titles), 512), dtype=np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True) if len(titles) > 1 else known(titles)

    model.title_vectors = vectors
    service = open_service(Path(folder), model, may_be_empty=True, ranking="server")
    now = int(time.time())
    articles = (Waiting(f"N{n}", f"title {n}", "", f"c{n % 20}", now - n, now - n) for n in range(ARTICLES))
    service.store.put_articles(articles)
    listener = listen("127.0.0.1", port)
    run_server(service, listener, limits=NO_RATE_LIMIT, admin_token=TOKEN, level="warning")


def requests(space: str, count: int, sketches: int, asked: dict[str, object]) -> list[bytes]:
    """Questions as bytes on the wire, each with releases of its own."""
    from discreet.edge.reader.reports import sketch_mechanism
    from discreet.privacy.noise import SecureNoise

    mechanism, noise, rng = sketch_mechanism(TOPICS, 0.7), SecureNoise(), np.random.default_rng(1)
    made = []
    for _ in range(count):
        releases = [mechanism.release(rng.integers(0, TOPICS, 12), noise).to_bytes() for _ in range(sketches)]
        told = [
            {"epoch": epoch, "clicks": 12, "release": base64.b64encode(release).decode()}
            for epoch, release in enumerate(releases)
        ]
        body = json.dumps({"space": space, "sketches": told, **asked}).encode()
        head = (
            f"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        made.append(head.encode() + b"\r\n\r\n" + body)
    return made


class Connection(asyncio.Protocol):
    """One connection that sends a request as soon as the last is answered."""

    def __init__(self, questions: list[bytes], stop: float, times: list[float], errors: list[bytes]) -> None:
        self._questions, self._stop, self._times, self._errors = questions, stop, times, errors
        self._place, self._received, self._began = 0, b"", 0.0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first."""
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Take an answer, note its time, send the next."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._received.lower().find(b"content-length: ") + 16
        length = int(self._received[start : self._received.find(b"\r", start)])
        if len(self._received) < end + 4 + length:
            return
        self._times.append(time.perf_counter() - self._began)
        if not self._received.startswith(b"HTTP/1.1 200"):
            self._errors.append(self._received[:200])
        self._received = b""
        if time.perf_counter() < self._stop:
            self._send()
        else:
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """A connection that the server closed is an error."""
        if not self.done.done():
            self._errors.append(b"connection lost")
            self.done.set_result(None)

    def _send(self) -> None:
        question = self._questions[self._place % len(self._questions)]
        self._place += 1
        self._began = time.perf_counter()
        self._transport.write(question)  # type: ignore[attr-defined]


async def load(port: int, questions: list[bytes], seconds: float) -> tuple[float, list[float], list[bytes]]:
    """Requests a second, the time of each, and what went wrong."""
    times: list[float] = []
    errors: list[bytes] = []
    began = time.perf_counter()
    loop = asyncio.get_running_loop()
    parts = [questions[start::CONNECTIONS] for start in range(CONNECTIONS)]
    made = [
        await loop.create_connection(lambda p=p: Connection(p, began + seconds, times, errors), "127.0.0.1", port)
        for p in parts
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    return len(times) / (time.perf_counter() - began), times, errors


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def processor_seconds(process: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def change_catalogue(port: int, stop: asyncio.Event) -> int:
    """Put and delete articles, twice a second, while readers ask."""
    changes = 0

    def call(method: str, path: str, body: object = None) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        address = f"http://127.0.0.1:{port}/v1/admin/articles{path}"
        urllib.request.urlopen(urllib.request.Request(address, data, headers, method=method)).read()

    while not stop.is_set():
        name = f"X{changes % 100}"
        await asyncio.to_thread(call, "PUT", "", [{"id": name, "title": f"late news {changes}"}])
        if changes % 2:
            await asyncio.to_thread(call, "DELETE", f"/{name}")
        changes += 1
        await asyncio.sleep(0.5)
    return changes


async def soak(port: int, process: int, questions: list[bytes], minutes: float) -> bool:
    """Load with catalogue changes; whether memory stayed flat and nothing was lost."""
    stop = asyncio.Event()
    changing = asyncio.create_task(change_catalogue(port, stop))
    await load(port, questions, min(20.0, minutes * 12))
    memory, slow, failed, total = [resident(process)], 0.0, 0, 0
    for _ in range(max(1, round(minutes * 6))):
        _, times, errors = await load(port, questions, 10.0)
        memory.append(resident(process))
        total, failed, slow = total + len(times), failed + len(errors), max(slow, float(np.quantile(times, 0.99)))
    stop.set()
    changes = await changing
    growth = memory[-1] / memory[0]
    print(f"\n{minutes:g} minutes, {total:,} requests, {changes} catalogue changes: {failed} errors,")
    print(f"worst p99 {slow * 1e3:.1f} ms, memory {memory[0]:.0f} to {memory[-1]:.0f} MB (× {growth:.3f})")
    return failed == 0 and growth <= MAX_GROWTH


def main() -> int:
    """Measure both; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each measurement takes")
    parser.add_argument("--minutes", type=float, default=0.0, help="then keep the load up while the catalogue changes")
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        server = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, port), daemon=True)
        server.start()
        try:
            return measure(port, server.pid or 0, options.seconds, options.minutes)
        finally:
            server.terminate()
            server.join()


def measure(port: int, process: int, seconds: float, minutes: float) -> int:
    """Wait for the server, then load it."""
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").read()
            break
        except OSError:
            time.sleep(0.2)
    model = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/model"))
    kinds = {name: requests(model["space"], 6000, count, asked) for name, (count, asked, _) in CASES.items()}
    kinds = {"/healthz": [b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"] * CONNECTIONS, **kinds}
    for asked in kinds.values():
        asyncio.run(load(port, asked, 1))
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    costs: dict[str, list[float]] = {name: [] for name in kinds}
    failed: list[bytes] = []
    for _ in range(ROUNDS):  # in turns, so that a busy machine is as hard on one as on the other
        for name, asked in kinds.items():
            before = processor_seconds(process)
            rate, taken, errors = asyncio.run(load(port, asked, seconds / ROUNDS))
            rates[name].append(rate)
            costs[name].append((processor_seconds(process) - before) / len(taken) * 1e6)
            times[name] += taken
            failed += errors
    print(f"{ARTICLES:,} articles, {TOPICS} topics, {CONNECTIONS} connections, {os.cpu_count()} cores\n")
    print(f"{'':<18}{'requests/s':>12}{'share':>8}{'least':>8}{'p50 ms':>9}{'p99 ms':>9}{'µs of server':>14}")
    met = not failed
    for name in kinds:
        rate, share = np.median(rates[name]), np.median(np.divide(rates[name], rates["/healthz"]))
        middle, last = np.quantile(times[name], [0.5, 0.99]) * 1e3
        least = CASES[name][2] if name in CASES else 1.0
        met = met and share >= least and last < MAX_TAIL * middle
        print(
            f"{name:<18}{rate:>12,.0f}{share:>8.2f}{least:>8.2f}{middle:>9.2f}{last:>9.2f}{np.median(costs[name]):>14,.0f}"
        )
    print(f"\n{len(failed)} errors {failed[:1] or ''}")
    taken, size = first_headline(port)
    print(f"first headline after {taken:.2f} s and {size / 1e3:,.0f} kB (at most {MAX_HEADLINE_SECONDS:g} s, 1,000 kB)")
    met = met and taken <= MAX_HEADLINE_SECONDS and size <= MAX_HEADLINE_BYTES
    steady = not minutes or asyncio.run(soak(port, process, kinds["one sketch"], minutes))
    print("met" if met and steady else "MISSED")
    return 0 if met and steady else 1


def first_headline(port: int) -> tuple[float, int]:
    """Seconds and bytes until a new device has a title to show: the terms, then the list of pages."""
    began, size = time.perf_counter(), 0
    for path in ("/v1/model", "/v1/catalogue"):
        asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept-Encoding": "gzip"})
        body = urllib.request.urlopen(asked).read()
        size += len(body)
        answer = json.loads(gzip.decompress(body))
    assert answer["front"][0]["title"]
    return time.perf_counter() - began, size


if __name__ == "__main__":
    sys.exit(main())
