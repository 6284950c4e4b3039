"""Generating and writing a news world of 50,000 readers, against drawing one visit at a time.

The peer does the core of the same work the usual way: for each visit `numpy.random.Generator.choice` draws a slate
without replacement from the live articles by their weights, and Gumbel noise picks the click. It does a small part
and is charged per visit. Ours is charged for everything, titles and files included. Targets: under two minutes, peak
memory under 4 GB with all imports, and at least five times as fast per visit.

    python benchmarks/bench_synthetic.py
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet.data.synthetic import news_world, write_mind

SECONDS_TARGET, MEMORY_TARGET_GB, SPEED_TARGET = 120.0, 4.0, 5.0
PEER_VISITS = 3000


def visit_by_visit(live: int, slate: int) -> float:
    """Seconds for each visit when slates are drawn one at a time from `live` articles."""
    rng = np.random.default_rng(0)
    weights = rng.lognormal(size=live)
    weights /= weights.sum()
    utility = rng.normal(size=live)
    start = time.perf_counter()
    for _ in range(PEER_VISITS):
        shown = rng.choice(live, size=slate, replace=False, p=weights)
        shown[np.argmax(utility[shown] + rng.gumbel(size=slate))]
    return (time.perf_counter() - start) / PEER_VISITS


def main() -> int:
    """Generate, write, compare; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, default=50_000)
    readers = parser.parse_args().readers
    start = time.perf_counter()
    data = news_world(readers, seed=1)
    generated = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        write_mind(data, Path(folder) / "world")
        written = time.perf_counter()
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.tsv"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    train, dev = data.splits["train"], data.splits["dev"]
    early_clicks = len(train.timeline) - int(train.clicked.sum())
    impressions = len(train) + len(dev)
    visits = impressions + early_clicks
    seconds = written - start
    live = round(3 * len(data.articles) / 22)
    peer = visit_by_visit(live, slate=round(float(train.slate_sizes.mean())))
    ratio = peer * visits / seconds
    print(f"{readers:,} readers, {len(data.articles):,} articles, {impressions:,} impressions, {size / 1e6:.0f} MB")
    print(f"{'generate':24}{generated - start:8.1f} s")
    print(f"{'write in MIND layout':24}{written - generated:8.1f} s")
    print(f"{'together':24}{seconds:8.1f} s      target < {SECONDS_TARGET:.0f} s")
    print(f"{'peak memory':24}{memory:8.2f} GB     target < {MEMORY_TARGET_GB:.0f} GB")
    print(f"{'discreet, per visit':24}{1e6 * seconds / visits:8.1f} µs     ({visits:,} visits)")
    print(f"{'Generator.choice':24}{1e6 * peer:8.1f} µs     (slates and clicks only)")
    print(f"{'ratio':24}{ratio:8.1f}        target ≥ {SPEED_TARGET:.0f}")
    return int(seconds > SECONDS_TARGET or memory > MEMORY_TARGET_GB or ratio < SPEED_TARGET)


if __name__ == "__main__":
    sys.exit(main())
