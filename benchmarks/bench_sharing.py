"""What sharing is worth to vendors, beside each vendor alone and beside all ratings in one place.

    python benchmarks/bench_sharing.py ml-1m.zip --vendors 10 --epsilon 1 5 10 --partition 0 1 2

Users are dealt out at random, nine tenths of each vendor's ratings are trained on, all methods use the same model. The
gap closed is (local − sharing)/(local − full) of the vendors' mean RMSE; the standard error is over vendors and
partitions. Target: sharing is nowhere worse than alone by more than one standard error.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from discreet.data.open import open_ratings
from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.methods.baselines import Full, Local
from discreet.vendors.partition import folds, partition
from discreet.vendors.sharing import Sharing
from discreet.vendors.vendor_method import VendorMethod


def errors(
    method: VendorMethod, train: list[Ratings], test: list[Ratings], chosen: list[int], seed: int
) -> list[float]:
    """RMSE of each of the chosen vendors."""
    shared = method.share(train, seed)
    found = []
    for number in chosen:
        model = method.predictor(shared, number, train[number], seed)
        missed = model.predict(test[number].user, test[number].item) - test[number].value
        found.append(float(np.sqrt(np.mean(np.square(missed)))))
    return found


def main() -> int:
    """Print the table; 1 if sharing did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--vendors", type=int, default=10)
    parser.add_argument("--tested", type=int, default=20, help="how many vendors are tested, the first ones")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 5.0, 10.0])
    parser.add_argument("--partition", type=int, nargs="+", default=[0, 1, 2], help="seeds of the partitions")
    parser.add_argument("--rank", type=int, default=24)
    parser.add_argument("--iterations", type=int, default=100)
    given = parser.parse_args()
    ratings = open_ratings(given.ratings)
    model = GibbsMF(rank=given.rank, iterations=given.iterations)
    methods: list[VendorMethod] = [
        Local(model),
        Full(model),
        *(Sharing(epsilon, model=model) for epsilon in given.epsilon),
    ]
    found: list[list[float]] = [[] for _ in methods]
    for seed in given.partition:
        parts = [folds(part, seed=seed)[0] for part in partition(ratings, given.vendors, seed=seed)]
        train, test = [part.train for part in parts], [part.test for part in parts]
        chosen = list(range(min(given.tested, given.vendors)))
        for method, values in zip(methods, found, strict=True):
            values += errors(method, train, test, chosen, seed)
            print(
                f"# partition {seed} {method.name} ε={method.epsilon}: {np.mean(values):.4f}",
                file=sys.stderr,
                flush=True,
            )
    table = np.array(found)
    alone, full = table[0], table[1]
    gap = float(np.mean(alone - full))
    print(f"{ratings.name}, {given.vendors} vendors, local {alone.mean():.4f}, full {full.mean():.4f}")
    print(f"{'ε':>6} {'RMSE':>8} {'gain':>9} {'s.e.':>8} {'gap closed':>11} {'gaining':>9}")
    harmless = True
    for method, values in zip(methods[2:], table[2:], strict=True):
        gain = alone - values
        error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
        harmless &= bool(gain.mean() >= -error)
        print(
            f"{method.epsilon:>6g} {values.mean():>8.4f} {gain.mean():>9.4f} {error:>8.4f}"
            f" {gain.mean() / gap:>10.1%} {int((gain > 0).sum()):>5}/{len(gain)}"
        )
    return 0 if harmless else 1


if __name__ == "__main__":
    sys.exit(main())
