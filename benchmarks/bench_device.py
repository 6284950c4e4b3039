"""One sketch of a history of 50 clicks as a device makes it, against the mechanism alone, which pays for nothing.

Target: under 5 ms with ledger, history and all, apart from the disk's flushes. So the folder is in memory where there
is such a file system (/dev/shm), and the processor's time is counted; what it takes by the clock in the usual temporary
folder, flushes included, is printed beside it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reports import sketch_mechanism
from discreet.privacy.guarantee import Adjacency
from discreet.privacy.ledger import Schedule
from discreet.privacy.noise import SecureNoise

CLICKS, TOPICS, REPORTS = 50, 12, 40
MAX_MILLISECONDS = 5.0
WEEK = timedelta(days=7)
START = datetime(2026, 1, 5, tzinfo=UTC)
IN_MEMORY = Path("/dev/shm")


def device_times(root: Path | None, clock: Callable[[], float]) -> list[float]:
    """Milliseconds of each report by `clock`: an epoch of clicks has just ended, and its sketch is asked for."""
    terms = PublisherTerms("m", "s", TOPICS, 0.7, 0.3, 1.0, Adjacency.SUBSTITUTE, Schedule(START, WEEK))
    catalogue = DeviceCatalogue(Article(f"N{n}", "", "news", n % TOPICS, b"", 0.0) for n in range(CLICKS))
    now, taken = START.timestamp() + 60, []
    with tempfile.TemporaryDirectory(dir=root) as folder:
        device = Device(Path(folder), terms, catalogue, clock=lambda: now)
        for _ in range(REPORTS):
            for number in range(CLICKS):
                device.clicked(f"N{number}")
            now += WEEK.total_seconds()
            start = clock()
            sketches = device.sketches()
            taken.append((clock() - start) * 1e3)
        assert len(sketches) == REPORTS
    return taken[1:]


def mechanism_times() -> list[float]:
    """Milliseconds of the mechanism alone, from clicks to bytes."""
    history, taken = [number % TOPICS for number in range(CLICKS)], []
    for _ in range(REPORTS):
        start = time.process_time()
        sketch_mechanism(TOPICS, 0.7).release(history, SecureNoise()).to_bytes()
        taken.append((time.process_time() - start) * 1e3)
    return taken[1:]


def main() -> int:
    """Print all three; 1 if the target is missed."""
    alone = median(mechanism_times())
    memory = IN_MEMORY if IN_MEMORY.is_dir() else None
    paid = median(device_times(memory, time.process_time))
    flushed = median(device_times(None, time.perf_counter))
    print(f"one sketch of {CLICKS} clicks, median of {REPORTS - 1}, ms\n")
    print(f"{'mechanism alone, unpaid':<34} {alone:>8.3f}")
    print(f"{'device, in memory':<34} {paid:>8.3f}   {paid / alone:.0f} times")
    print(f"{'device, elapsed, with all flushes':<34} {flushed:>8.3f}   {flushed / alone:.0f} times")
    met = paid < MAX_MILLISECONDS
    print(f"\n{'met' if met else 'MISSED'}: device < {MAX_MILLISECONDS:g} ms apart from flushes ({paid:.3f})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
