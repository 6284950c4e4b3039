"""Prio3 against a naive loop over Python's integers, and in node and Chromium against npm's @divviup/prio3.

Targets: sharding a histogram of 1,000 at least 10 times as fast as the naive loop; verification at length 300 of at
least 500 reports a second for each aggregator on two processors, in memory that does not grow with their number;
in JavaScript at most the peer's time, and length 1,000 under half a second in a worker, its start included.

The peer, frozen at an older draft, is installed into a temporary folder with npm if that is asked for: --peer.
"""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from discreet.aggregation.prio3 import (
    Prio3,
    VerifierInput,
    best_chunk_length,
    verifier_shares_to_message_batch,
    verify_init_batch,
)
from naive_prio3 import shard_histogram

CTX, KEY = b"benchmark", bytes(range(32))
MIN_RATIO = 10.0
MIN_REPORTS_A_SECOND = 500.0
MAX_GROWTH_MIB = 32.0
MAX_WORKER_MILLISECONDS = 500.0
JOB = 500
THREADS = 2
MODULES = Path(__file__).parents[1] / "src" / "discreet" / "serving" / "web" / "device" / "prio3"
SETTINGS = (("Histogram", 300), ("Histogram", 1000), ("SumVec", 300))
PEER = "@divviup/prio3@0.8.0"
CHROMIUM = os.environ.get("DISCREET_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
IN_PAGE = """async () => {
  const { openSharder } = await import("/sharding.js");
  const request = {
    variant: "Prio3Histogram", parameters: { length: 1000, chunk_length: 33 }, ctx: new Uint8Array(16), measurement: 7,
  };
  const taken = [];
  let start = performance.now();
  const sharder = openSharder();
  for (let i = 0; i < 16; i++) {
    await sharder.shard(request);
    taken.push(performance.now() - start);
    start = performance.now();
  }
  sharder.close();
  const [first, ...rest] = taken;
  return { first, median: rest.sort((a, b) => a - b)[7] };
}"""


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of a run, after one that is not counted."""
    run()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken)


def compare_with_naive(length: int) -> float:
    """Print both times of sharding and return the ratio; both make the same bytes."""
    chunk = best_chunk_length(length)
    prio3 = Prio3.histogram(length, chunk)
    nonce, rand = secrets.token_bytes(16), secrets.token_bytes(prio3.rand_size)
    naive = partial(shard_histogram, length, chunk, CTX, 7, nonce, rand)
    ours = partial(prio3.shard, CTX, 7, nonce, rand)
    if naive() != ours():
        raise AssertionError("the naive loop makes another report")
    theirs, mine = seconds(naive, 5), seconds(ours, 51)
    print(f"{length:>8} {theirs * 1e3:>14.2f} {mine * 1e3:>14.2f} {theirs / mine:>8.1f}")
    return theirs / mine


def verify(prio3: Prio3, reports: list[tuple[bytes, bytes, list[bytes]]], jobs: int) -> tuple[list[float], int]:
    """The time each aggregator takes for so many jobs, with the summing of output shares; and reports that count."""
    shares = [[VerifierInput(nonce, public, inputs[agg]) for nonce, public, inputs in reports] for agg in (0, 1)]
    taken, counted = [0.0, 0.0], 0
    totals = [prio3.agg_init(), prio3.agg_init()]
    for _ in range(jobs):
        first: list[list[Any]] = []
        for agg in (0, 1):
            start = time.perf_counter()
            first.append(verify_init_batch(prio3, KEY, CTX, agg, shares[agg], THREADS))
            taken[agg] += time.perf_counter() - start
        start = time.perf_counter()
        pairs = [(leader[1], helper[1]) for leader, helper in zip(*first, strict=True)]
        messages = verifier_shares_to_message_batch(prio3, CTX, pairs, THREADS)
        taken[1] += time.perf_counter() - start  # the helper does this; the leader gets the message
        for agg in (0, 1):
            start = time.perf_counter()
            outs = [
                prio3.verify_next(done[0], message)
                for done, message in zip(first[agg], messages, strict=True)
                if message is not None
            ]
            totals[agg] = prio3.agg_update(totals[agg], *outs)
            taken[agg] += time.perf_counter() - start
        counted += len(outs)
    if sum(prio3.unshard(totals, counted)) != counted:
        raise AssertionError("the sum is not the truth")
    return taken, counted


def measure_verification(length: int) -> bool:
    """Print each aggregator's reports a second and the growth of memory; whether both are within their targets."""
    prio3 = Prio3.histogram(length, best_chunk_length(length))
    reports = []
    for number in range(JOB):
        nonce = secrets.token_bytes(16)
        reports.append((nonce, *prio3.shard(CTX, number % length, nonce, secrets.token_bytes(prio3.rand_size))))
    verify(prio3, reports, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (leader, helper), counted = verify(prio3, reports, 20)
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = len(reports[0][2][0]), prio3.verifier_share_size
    print(
        f"{length:>8} {counted / leader:>14.0f} {counted / helper:>14.0f} {growth:>12.1f} {size[0]:>12} {size[1]:>12}"
    )
    return counted / max(leader, helper) >= MIN_REPORTS_A_SECOND and growth <= MAX_GROWTH_MIB


def in_node(path: Path, whose: str, variant: str, length: int) -> dict[str, float]:
    """Milliseconds of the first and of later calls."""
    chunk = best_chunk_length(length * (4 if variant == "SumVec" else 1))
    command = ["node", str(Path(__file__).with_suffix(".mjs")), str(path), whose, variant, str(length), str(chunk)]
    done: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done


def compare_in_node(peer: Path | None) -> bool:
    """Print the times of sharding in node; whether none is above the peer's."""
    within = True
    for variant, length in SETTINGS:
        ours = in_node(MODULES / "prio3.js", "ours", variant, length)
        line = f"{variant:>10} {length:>6} {ours['first']:>12.1f} {ours['median']:>12.1f}"
        if peer is not None:
            theirs = in_node(peer, "peer", variant, length)
            line += f" {theirs['first']:>12.1f} {theirs['median']:>12.1f} {theirs['median'] / ours['median']:>8.1f}"
            within &= ours["median"] <= theirs["median"]
        print(line)
    return within


@contextmanager
def installed_peer(wanted: bool) -> Iterator[Path | None]:
    """The peer's module in a temporary folder, if it is wanted and can be had."""
    if not wanted or shutil.which("npm") is None:
        print(
            "  no peer: " + ("npm is not installed" if wanted else f"--peer installs {PEER} for the time of this run")
        )
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, PEER]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            print(f"  no peer: npm cannot install {PEER}")
            yield None
        else:
            yield Path(folder) / "node_modules" / "@divviup" / "prio3" / "dist" / "index.js"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def measure_worker() -> bool:
    """Print the times of a worker in Chromium; whether the first report is there in time."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("  skipped: the playwright package is not installed")
        return True
    if CHROMIUM is None:
        print("  skipped: there is no Chromium here; install one or set DISCREET_CHROMIUM to its path")
        return True
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(MODULES)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as run:
        chromium = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        taken = page.evaluate(IN_PAGE)
        chromium.close()
    server.shutdown()
    print(f" Histogram   1000 {taken['first']:>12.1f} {taken['median']:>12.1f}")
    return bool(taken["first"] <= MAX_WORKER_MILLISECONDS)


def main() -> int:
    """Run all; exit code 1 if a target is missed."""
    print("Sharding a histogram for two aggregators, milliseconds")
    print(f"{'length':>8} {'naive loop':>14} {'discreet':>14} {'ratio':>8}")
    ratios = [compare_with_naive(length) for length in (100, 1000)]
    print(f"\nVerifying histograms, {THREADS} threads, jobs of {JOB} reports")
    head = ("leader, 1/s", "helper, 1/s")
    print(f"{'length':>8} {head[0]:>14} {head[1]:>14} {'growth, MiB':>12} {'share, B':>12} {'verifier, B':>12}")
    verified = [measure_verification(length) for length in (300, 1000)]
    print("\nSharding in node, milliseconds: first call and median of later ones, and the same of the peer")
    within = True
    if shutil.which("node") is None:
        print("  skipped: node is not installed")
    else:
        with installed_peer("--peer" in sys.argv[1:]) as peer:
            within = compare_in_node(peer)
    print("\nSharding in a worker in Chromium, milliseconds: the worker's start with its first report, and later ones")
    in_time = measure_worker()
    return 0 if ratios[-1] >= MIN_RATIO and verified[0] and within and in_time else 1


if __name__ == "__main__":
    sys.exit(main())
