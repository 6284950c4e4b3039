"""Gibbs sampling of a matrix factorization: Discreet against myFM, whose model and sampler are the nearest to ours.

    python benchmarks/bench_gibbs.py [--data RATINGS] [--accuracy] [--turns 3] [--largest 10000000]

Seconds per iteration with 24 factors on ratings of MovieLens 1M's shape (generated, or those of --data), in turns,
Discreet with one thread and with two, myFM with its one; the median of the turns' ratios counts. Then the time of a
rating with ever more ratings, and the memory of a whole fit of the most. With --accuracy also the error of both on a
random tenth after 100 iterations.

myFM gets a virtual environment of its own in the user's cache folder, made on first use. Where that fails, the
comparison is skipped and the reason printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import numba
import numpy as np

from discreet.data.open import open_ratings
from discreet.data.ratings import Ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.vendors.gibbs import GibbsMF, ItemPrior
from discreet.vendors.gibbs.chain import Chain

RANK = 24
STEPS = 4
TARGETS = {1: 3.0, 2: 5.0}
MAX_GROWTH = 1.25
MAX_MEMORY = 3.0
WORST_ERROR = 0.0015
"""How much larger the error may be than myFM's."""
PEER = """
import sys, time
import myfm, numpy as np, scipy.sparse as sp
path, rank, iterations = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = np.load(path)
users, items = int(data["users"]), int(data["items"])
def design(user, item):
    columns = np.column_stack((user, item + users)).ravel()
    start = np.arange(0, len(columns) + 1, 2)
    return sp.csr_matrix((np.ones(len(columns)), columns, start), (len(user), users + items))
clock, processor = [], []
def watch(*_):
    clock.append(time.perf_counter())
    processor.append(time.process_time())
    return False, ""
model = myfm.MyFMRegressor(rank=rank)
model.fit(design(data["user"], data["item"]), data["value"], group_shapes=[users, items], n_iter=iterations,
          n_kept_samples=max(1, iterations - 20), callback=watch)
found = np.clip(model.predict(design(data["test_user"], data["test_item"])), *data["scale"])
error = np.sqrt(np.mean((found - data["test_value"]) ** 2))
print("RESULT", np.median(np.diff(clock)), np.median(np.diff(processor)), error)
"""


def peer_python() -> Path | str:
    """The interpreter of an environment with myFM, or the reason why there is none."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet" / "bench-myfm"
    python = folder / "bin" / "python"
    if python.exists() and not subprocess.run([python, "-c", "import myfm"], capture_output=True).returncode:
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "myfm==0.4.0"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError) as failure:
        lines = (getattr(failure, "stderr", None) or str(failure)).strip().splitlines()
        return lines[-1] if lines else str(failure)
    return python


def run_peer(python: Path, data: Path, iterations: int, rank: int = RANK) -> tuple[float, float, float]:
    """Seconds of clock and of processor for one iteration, and the error on the test part."""
    done = subprocess.run(
        [python, "-c", PEER, data, str(rank), str(iterations)],
        capture_output=True,
        text=True,
        check=True,
        cwd=data.parent,
    )
    clock, processor, error = next(line for line in done.stdout.splitlines() if line.startswith("RESULT")).split()[1:]
    return float(clock), float(processor), float(error)


def steps(chain: Chain, threads: int, count: int = STEPS) -> tuple[float, float]:
    """Median seconds of clock and of processor for one iteration."""
    numba.set_num_threads(threads)
    clocks, processors = [], []
    for _ in range(count):
        clock, processor = time.perf_counter(), time.process_time()
        chain.step()
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    return statistics.median(clocks), statistics.median(processors)


def start(ratings: Ratings) -> Chain:
    """A chain that is warm."""
    chain = Chain(ratings, ItemPrior.plain(len(ratings.items)), RANK, 0)
    chain.step()
    return chain


def split(ratings: Ratings) -> tuple[Ratings, Ratings]:
    """A random tenth to test on, and the rest to train on."""
    test, train = np.split(np.random.default_rng(0).permutation(len(ratings)), [len(ratings) // 10])
    parts = [
        {name: getattr(ratings, name)[which] for name in ("user", "item", "value", "time")} for which in (train, test)
    ]
    return replace(ratings, **parts[0]), replace(ratings, **parts[1])


def compare(ratings: Ratings, turns: int, accuracy: bool) -> bool:
    """Print the comparison with myFM; whether all targets are met (a peer that cannot be had misses none)."""
    train, test = split(ratings)
    python = peer_python()
    if isinstance(python, str):
        print(f"comparison with myFM skipped, because it cannot be installed here: {python}")
        return True
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "ratings.npz"
        np.savez(
            data, user=train.user, item=train.item, value=train.value, users=len(train.users), items=len(train.items),
            test_user=test.user, test_item=test.item, test_value=test.value, scale=train.scale,
        )  # fmt: skip
        chain = start(train)
        rows: dict[int, list[tuple[float, float]]] = {threads: [] for threads in TARGETS}
        peers = []
        for _ in range(turns):
            peers.append(run_peer(python, data, STEPS + 1))
            for threads, timed in rows.items():
                timed.append(steps(chain, threads))
        print(f"{len(train):,} ratings, {RANK} factors, {turns} turns, seconds per iteration (median)\n")
        print(f"{'':<12}{'myFM':>10}{'Discreet':>10}{'ratio':>9}{'of CPU':>9}{'target':>9}")
        met = []
        for threads, timed in rows.items():
            ratio, of_cpu = (
                statistics.median(peer[i] / own[i] for peer, own in zip(peers, timed, strict=True)) for i in (0, 1)
            )
            peer, own = (statistics.median(row[0] for row in table) for table in (peers, timed))
            met.append(ratio >= TARGETS[threads])
            print(
                f"{threads} thread{'s' if threads > 1 else '':<5}{peer:10.3f}{own:10.3f}{ratio:9.1f}{of_cpu:9.1f}"
                f"{TARGETS[threads]:9.1f}  {'ok' if met[-1] else 'MISSED'}"
            )
        if accuracy:
            theirs = run_peer(python, data, 100)[2]
            fitted = GibbsMF(rank=RANK).fit(train)
            ours = float(np.sqrt(np.mean(np.square(fitted.predict(test.user, test.item) - test.value))))
            met.append(ours <= theirs + WORST_ERROR)
            print(
                f"\nRMSE after 100 iterations: myFM {theirs:.4f}, Discreet {ours:.4f}, {'ok' if met[-1] else 'MISSED'}"
            )
    return all(met)


def growth(largest: int, turns: int) -> bool:
    """Time of a rating with ever more ratings, in turns."""
    sizes = (largest // 10, largest * 3 // 10, largest)
    chains = {size: start(_world(size)) for size in sizes}
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(turns):
        for size, chain in chains.items():
            times[size].append(steps(chain, 2, 2)[1] / len(chain.by_user.other))
    medians = {size: statistics.median(values) for size, values in times.items()}
    grown = medians[sizes[-1]] / medians[sizes[0]]
    line = ", ".join(f"{size:,}: {1e9 * value:.0f} ns" for size, value in medians.items())
    print(f"\nprocessor time of an iteration for each rating: {line}; growth {grown:.2f} (at most {MAX_GROWTH})")
    return grown <= MAX_GROWTH


def memory(largest: int) -> bool:
    """Peak memory of a whole fit, with its samples, in a process of its own."""
    code = (
        "import sys, resource, time; sys.path.insert(0, sys.argv[2]); import bench_gibbs as b\n"
        "world = b._world(int(sys.argv[1])); begin = time.perf_counter(); b.GibbsMF(rank=b.RANK).fit(world)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, time.perf_counter() - begin)"
    )
    command = [sys.executable, "-c", code, str(largest), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, seconds = (float(figure) for figure in done.stdout.split())
    print(f"fit of {largest:,} ratings with 100 iterations: {seconds:.0f} s, {peak:.2f} GB (at most {MAX_MEMORY:.0f})")
    return peak <= MAX_MEMORY


def _world(ratings: int) -> Ratings:
    return ratings_world(max(1, ratings // 165), 10_000, ratings)


def main() -> int:
    """Run everything; 0 if every target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="ratings to use instead of generated ones")
    parser.add_argument("--accuracy", action="store_true", help="also compare the error after 100 iterations")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--largest", type=int, default=10_000_000, help="0: no measurement of growth and memory")
    options = parser.parse_args()
    ratings = open_ratings(options.data) if options.data else ratings_world(6040, 3706, 1_000_209)
    met = [compare(ratings, options.turns, options.accuracy)]
    if options.largest:
        met += [growth(options.largest, options.turns), memory(options.largest)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
