"""What vendors' models cost where users are few and the catalogue is wide, and what they cost elsewhere.

    python benchmarks/bench_vendors.py [--users 610] [--items 9700] [--ratings 100000] [--data RATINGS]

Five measurements; all but the second in processor seconds, which other programs on the machine change little:

1. a whole comparison of ten vendors (local, full, sharing at ε = 10), with the settings that the command chooses;
2. the same by the clock, alone and beside two processes that never rest; only meant on a machine that is quiet else;
3. one vendor's model, alone and with what others share, while the catalogue grows 4 and 16 times and the ratings stay;
4. one factorization of all ratings beside myFM's of the same rank, number of iterations and test part, in turns;
5. iALS of the likes among them (4 stars and more) beside the package `implicit`, on one thread, in turns.

myFM has its own environment in the user's cache folder (`bench_gibbs`); where it cannot be had, 4 is skipped.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import bench_gibbs
import bench_ials
from discreet.data.open import open_ratings
from discreet.data.purchases import Purchases
from discreet.data.ratings import Items, Ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.rating_comparison import Design, compare
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.item_features import local_prior
from discreet.vendors.methods.baselines import Full, Local
from discreet.vendors.partition import folds, partition
from discreet.vendors.sharing import Sharing

MAX_SECONDS = 60.0
MAX_GROWTH = 1.3
VENDORS = 10
MAX_BESIDE = 2.5
PARTS = ("whole", "busy", "growth", "peer", "implicit")


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of some work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def wider(ratings: Ratings, times: int) -> Ratings:
    """The same ratings in a catalogue of `times` as many items; the others have the same genres and years."""
    old = ratings.items
    items = Items(
        [f"{copy}:{name}" for copy in range(times) for name in old.ids],
        list(old.titles) * times,
        list(old.genres) * times,
        np.tile(old.years, times),
    )
    return replace(ratings, items=items)


def whole(ratings: Ratings, model: GibbsMF) -> bool:
    """The comparison, from the deal to the verdict."""
    begin = time.perf_counter()
    seconds = timed(lambda: compare_all(ratings, model))
    clock = time.perf_counter() - begin
    shape = f"{len(ratings):,} ratings, {len(ratings.users):,} users, {len(ratings.items):,} items, {VENDORS} vendors"
    print(f"{shape}, local + full + sharing ({model.in_words()}):")
    print(f"{seconds:.1f} s of processor, {clock:.1f} s by the clock (at most {MAX_SECONDS:.0f})")
    return seconds <= MAX_SECONDS


def compare_all(ratings: Ratings, model: GibbsMF) -> None:
    """Local, full and sharing, at every vendor."""
    methods = [Local(model), Full(model), Sharing(10.0, model=model)]
    compare(ratings, Design(VENDORS), methods, MeasurementCache(None))


def busy(ratings: Ratings, model: GibbsMF, turns: int) -> bool:
    """The comparison alone and beside two busy processes, in turns."""
    found: dict[int, list[float]] = {0: [], 2: []}
    for _ in range(turns):
        for others, seconds in found.items():
            running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
            try:
                begin = time.perf_counter()
                compare_all(ratings, model)
                seconds.append(time.perf_counter() - begin)
            finally:
                for process in running:
                    process.kill()
                    process.wait()
    alone, beside = (min(seconds) for seconds in found.values())
    print(
        f"by the clock {alone:.1f} s alone, {beside:.1f} s beside two busy processes: {beside / alone:.2f} times",
        end="",
    )
    print(f" (at most {MAX_BESIDE})")
    return alone <= MAX_SECONDS and beside <= MAX_BESIDE * alone


def growth(ratings: Ratings, model: GibbsMF, turns: int) -> bool:
    """One vendor's model while the catalogue grows."""
    found: dict[str, list[float]] = {"local": [], "sharing": []}
    sharing = Sharing(10.0, model=model)
    for times in (1, 4, 16):
        train = [folds(part)[0].train for part in partition(wider(ratings, times), VENDORS)]
        shared = sharing.share(train, 0)
        alone = [timed(lambda t=train: Local(model).predictor(None, 0, t[0], 0)) for _ in range(turns)]
        together = [timed(lambda t=train, s=shared: sharing.predictor(s, 0, t[0], 0)) for _ in range(turns)]
        found["local"].append(min(alone))
        found["sharing"].append(min(together))
    met = True
    for name, seconds in found.items():
        grown = seconds[-1] / seconds[0]
        met &= grown <= MAX_GROWTH
        line = ", ".join(f"{times}x: {each:.2f} s" for times, each in zip((1, 4, 16), seconds, strict=True))
        print(f"{name} at one vendor by items ({line}): growth {grown:.2f} (at most {MAX_GROWTH})")
    return met


def peer(ratings: Ratings, model: GibbsMF) -> None:
    """MyFM beside us."""
    python = bench_gibbs.peer_python()
    if isinstance(python, str):
        print(f"comparison with myFM skipped, because it cannot be installed here: {python}")
        return
    train, test = bench_gibbs.split(ratings)
    prior = local_prior(train)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "ratings.npz"
        np.savez(
            data, user=train.user, item=train.item, value=train.value, users=len(train.users), items=len(train.items),
            test_user=test.user, test_item=test.item, test_value=test.value, scale=train.scale,
        )  # fmt: skip
        _, step, error = bench_gibbs.run_peer(python, data, model.iterations, model.rank)
    begin = time.process_time()
    fitted = model.fit(train, prior=prior)
    seconds = time.process_time() - begin
    ours = float(np.sqrt(np.mean(np.square(fitted.predict(test.user, test.item) - test.value))))
    print(
        f"one factorization ({model.in_words()}): myFM {step * model.iterations:.1f} s, RMSE {error:.4f} (ids only);"
        f" Discreet {seconds:.1f} s, RMSE {ours:.4f} (with genres and years)"
    )


def main() -> int:
    """Run everything; 0 if every target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="ratings to use instead of generated ones")
    parser.add_argument("--users", type=int, default=610)
    parser.add_argument("--items", type=int, default=9700)
    parser.add_argument("--ratings", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    given = parser.parse_args()
    ratings = (
        open_ratings(given.data)
        if given.data
        else ratings_world(given.users, given.items, given.ratings, half_stars=True)
    )
    model = GibbsMF.for_size(len(ratings))
    GibbsMF(rank=1, iterations=2, burn_in=1).fit(ratings)  # compiled here, not in what is timed
    met = [True]
    if "whole" in given.only:
        met.append(whole(ratings, model))
    if "busy" in given.only:
        met.append(busy(ratings, model, given.turns))
    if "growth" in given.only:
        met.append(growth(ratings, model, given.turns))
    if "peer" in given.only:
        peer(ratings, model)
    if "implicit" in given.only:
        met.append(bench_ials.beside_implicit(Purchases.from_ratings(ratings), rank=64, iterations=15) >= 1)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
