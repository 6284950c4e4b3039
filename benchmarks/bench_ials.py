"""How fast iALS is beside the package `implicit`, on one thread, with the same rank, iterations and CG steps.

    python benchmarks/bench_ials.py [--users 6000] [--items 3000] [--rank 64] [DATA]

DATA is anything that `open_purchases` reads; without it purchases are generated. Both are measured in turn, three times
each, and the best time counts. The ratio is implicit's time over ours. nDCG@20 stands beside the times; the settings of
both are the best of a grid on what is tested, implicit's from the larger one.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_matrix

from discreet.data.open import open_purchases
from discreet.data.purchases import Purchases
from discreet.data.synthetic import purchases_world
from discreet.evaluation.recommendation import bought, recommendation_metrics
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.ials import IALS

TIMES = 3


class Peer:
    """`implicit`'s vectors, asked as ours are."""

    def __init__(self, model: object) -> None:
        self.users, self.items = model.user_factors, model.item_factors

    def scores(self, users: np.ndarray) -> np.ndarray:
        """Inner products."""
        return self.users[users] @ self.items.T


def beside_implicit(purchases: Purchases, rank: int, iterations: int) -> float:
    """Print both models' times and quality; the ratio of times is returned."""
    from implicit.als import AlternatingLeastSquares

    fold = leave_last_out(purchases)
    rows = csr_matrix(bought(fold.train))

    def peer(regularization: float, alpha: float) -> AlternatingLeastSquares:
        model = AlternatingLeastSquares(
            factors=rank,
            iterations=iterations,
            regularization=regularization,
            alpha=alpha,
            num_threads=1,
            use_gpu=False,
            calculate_training_loss=False,
            random_state=0,
        )
        model.fit(rows, show_progress=False)
        return model

    def ours(unobserved: float, ridge: float) -> object:
        return IALS(rank=rank, iterations=iterations, unobserved=unobserved, ridge=ridge).fit(fold.train)

    def quality(scorer: object) -> float:
        return recommendation_metrics(scorer, fold.train, fold.test)["ndcg@20"]

    grid = [(regularization, alpha) for regularization in (1.0, 10.0, 50.0, 200.0) for alpha in (3.0, 10.0, 30.0)]
    theirs = max(((quality(Peer(peer(*each))), each) for each in grid), key=lambda found: found[0])
    mine = max(((quality(ours(*each)), each) for each in ((0.1, 0.03), (0.3, 0.01), (0.3, 0.03))), key=lambda f: f[0])
    seconds: dict[str, float] = {}
    for _ in range(TIMES):
        for name, fit in (("implicit", lambda: peer(*theirs[1])), ("discreet", lambda: ours(*mine[1]))):
            start = time.process_time()
            fit()
            seconds[name] = min(seconds.get(name, np.inf), time.process_time() - start)
    print(f"{len(fold.train.users)} users, {len(fold.train.items)} items, {len(fold.train)} purchases, rank {rank}")
    print(f"implicit {seconds['implicit']:.2f} s, nDCG@20 {theirs[0]:.4f} (regularization, alpha {theirs[1]})")
    print(f"discreet {seconds['discreet']:.2f} s, nDCG@20 {mine[0]:.4f} (unobserved, ridge {mine[1]})")
    ratio = seconds["implicit"] / seconds["discreet"]
    print(f"ratio {ratio:.2f} (above 1: discreet is faster)")
    return ratio


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?")
    parser.add_argument("--users", type=int, default=6000)
    parser.add_argument("--items", type=int, default=3000)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=15)
    given = parser.parse_args()
    purchases = open_purchases(given.data) if given.data else purchases_world(given.users, given.items)
    beside_implicit(purchases, given.rank, given.iterations)


if __name__ == "__main__":
    main()
