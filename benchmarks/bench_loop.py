"""Simulated devices that poll and contribute, for some minutes: errors, lost contributions, memory, times.

    python benchmarks/bench_loop.py --devices 10000 --minutes 5

A server with its leader inside, a helper, and all devices in one more process, on one machine. Each device fetches the
tasks and the catalogue's list at two moments drawn at random, and sends one contribution at a third; each request has a
connection of its own and the device's own address (X-Forwarded-For), so all limits are on. Contributions are made
beforehand. At the end all windows are collected. Targets: no error, each acknowledged contribution counts once, and
memory is bounded: in the second half of the time no process needs 10 % more than in the first, in which it has loaded
what it works with.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from load_tools import exchange, processor_seconds, resident

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
WINDOWS, LENGTH, AT_ONCE, MAX_GROWTH = 5, 100, 500, 1.1
_made_by: dict[str, Any] = {}
_POLLS = ("/v1/tasks", "/v1/catalogue", "/v1/tasks", "/v1/catalogue")


def reports(site: Any, devices: int) -> list[bytes]:
    """One upload request for each device, made in some processes."""
    keys, context = site.keys(), multiprocessing.get_context("fork")
    with context.Pool(os.cpu_count(), _begin, (site.task, site.client(keys))) as pool:
        return pool.map(_report, range(devices), 64)


def _begin(task: Any, client: Any) -> None:
    _made_by.update(task=task, client=client)


def _report(number: int) -> bytes:
    from discreet.aggregation.contribution import Contribution

    values = np.zeros(LENGTH, np.int64)
    values[number % LENGTH] = 1
    return bytes(_made_by["client"].report(number % WINDOWS, Contribution.of(_made_by["task"], values)))


def requests_of(task: Any, number: int, report: bytes) -> list[bytes]:
    """What a device sends: its polls, and at last its contribution."""
    from discreet.aggregation.dap.messages import UploadRequest, media_type
    from discreet.aggregation.dap.problems import encode_id

    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    common = f"Host: x\r\nConnection: close\r\nX-Forwarded-For: {address}\r\nAccept-Encoding: gzip\r\n"
    asked = [f"GET {path} HTTP/1.1\r\n{common}\r\n".encode() for path in _POLLS]
    head = f"POST /dap/tasks/{encode_id(task.id)}/reports HTTP/1.1\r\n{common}Content-Length: {len(report)}\r\n"
    return [*asked, f"{head}Content-Type: {media_type(UploadRequest)}\r\n\r\n".encode() + report]


async def watch(processes: dict[str, list[int]], found: list[tuple[float, dict[str, float]]]) -> None:
    """Note every second how much memory processes hold."""
    while True:
        found.append((time.perf_counter(), {name: sum(map(resident, some)) for name, some in processes.items()}))
        await asyncio.sleep(1)


async def play(
    port: int,
    plan: Sequence[tuple[float, int, bytes]],
    processes: dict[str, list[int]],
    memory: list[tuple[float, dict[str, float]]],
) -> tuple[list[float], list[int], list[int]]:
    """Send all requests at their times: how long each took, who was acknowledged, and which statuses went wrong."""
    watching = asyncio.create_task(watch(processes, memory))
    began, places = time.perf_counter(), asyncio.Semaphore(AT_ONCE)
    times: list[float] = []
    acknowledged: list[int] = []
    wrong: list[int] = []

    async def one(device: int, request: bytes) -> None:
        async with places:
            sent = time.perf_counter()
            status = await exchange(port, request)
            times.append(time.perf_counter() - sent)
            if status != 200:
                wrong.append(status)
            elif request.startswith(b"POST"):
                acknowledged.append(device)

    running = set()
    for moment, device, request in plan:
        pause = began + moment - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        task = asyncio.create_task(one(device, request))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    watching.cancel()
    return times, acknowledged, wrong


def main() -> int:
    """Measure; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=0.25)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    from scaled_site import ScaledSite

    with tempfile.TemporaryDirectory() as folder:
        proxy = {"--trusted-proxy": "127.0.0.1", "--rate": 50}
        site = ScaledSite(Path(folder), servers=1, workers=options.workers, articles=2000, options=proxy, length=LENGTH)
        try:
            site.start()
            return measure(site, options.devices, 60 * options.minutes)
        finally:
            site.stop()


def measure(site: Any, devices: int, seconds: float) -> int:
    """Play all devices, then collect all windows."""
    began = time.perf_counter()
    made = reports(site, devices)
    print(f"{devices:,} contributions of {len(made[0]):,} bytes made in {time.perf_counter() - began:.0f} s")
    chance, plan = random.Random(1), []
    for number, report in enumerate(made):
        asked = requests_of(site.task, number, report)
        moments = [chance.uniform(0, seconds) for _ in range(3)]
        for place, request in enumerate(asked):
            plan.append((moments[place // 2], number, request))
    plan.sort(key=lambda one: one[0])
    del made
    server = site.servers[0].pid
    processes = {"server": [server, *site.workers_of(0)], "helper": [site.deployment.processes["helper"].pid]}
    before = {name: sum(map(processor_seconds, some)) for name, some in processes.items()}
    began = time.perf_counter()
    memory: list[tuple[float, dict[str, float]]] = []
    times, acknowledged, wrong = asyncio.run(play(site.ports[0], plan, processes, memory))
    taken = time.perf_counter() - began
    counted = [site.collector(0).collect(site.task, window).contributions for window in range(WINDOWS)]
    told = np.bincount([device % WINDOWS for device in acknowledged], minlength=WINDOWS).tolist()
    middle, last = np.quantile(times, [0.5, 0.99]) * 1e3
    print(f"{len(times):,} requests in {taken:.0f} s ({len(times) / taken:,.0f}/s) on {os.cpu_count()} cores,")
    print(f"load of the machine {os.getloadavg()[0]:.1f}; p50 {middle:.1f} ms, p99 {last:.0f} ms;")
    print(f"{len(wrong)} errors {set(wrong) or ''}")
    growth = 1.0
    for name, some in processes.items():
        used = sum(map(processor_seconds, some)) - before[name]
        halves = [[held[name] for at, held in memory if (at - began > taken / 2) == late] for late in (False, True)]
        first, second = (max(half, default=0.0) for half in halves)
        growth = max(growth, second / max(first, 1.0))
        print(f"{name}: memory {memory[0][1][name]:.0f} MB at the start, at most {first:.0f} in the first half", end="")
        print(f" and {second:.0f} in the second; {used:.0f} s of processor time")
    print(f"acknowledged {sum(told):,}, counted {sum(counted):,}, by window {told} and {counted}")
    met = not wrong and counted == told and sum(told) == devices and growth < MAX_GROWTH
    print("met" if met else "MISSED")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
