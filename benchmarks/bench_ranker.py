"""Exact top-20 of 65,000 and 1,000,000 articles from a release of 8 dimensions.

Like with like: numpy multiplies the same scores of the same dimensions and takes the best with `argpartition`. The
kernel must be at least twice as fast, or it is not worth its lines. Beside it: a scan of 400-dimensional vectors, which
a server of reader vectors has to do (numpy, and faiss where it is installed; target 30 times), and how far the ranking
is from what the machine's memory can deliver.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numba import njit

from discreet.serving.topk import ScoreTable, best

ARTICLES, DIMENSIONS, VECTOR, TOP = 1_000_000, 8, 400, 20
MIN_RATIO = 30.0
LIKE_WITH_LIKE = 2.0


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """The median time of some runs, after one that is not counted."""
    run()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return median(taken) * 1e3


@njit(fastmath=True)
def add_up(values: np.ndarray) -> float:
    """Read every byte once."""
    total = np.float32(0)
    for i in range(values.size):
        total += values[i]
    return total


def like_with_like(articles: int) -> float:
    """How many times faster than numpy the ranking is with the same scores; the results must be equal."""
    rng = np.random.default_rng(1)
    table = ScoreTable.of(rng.standard_normal((articles, DIMENSIONS), dtype=np.float32))
    columns = np.ascontiguousarray(table.exact.T)
    base = rng.standard_normal(articles, dtype=np.float32)
    interests = rng.standard_normal((50, DIMENSIONS), dtype=np.float32)

    def by_numpy(weights: np.ndarray) -> np.ndarray:
        scores = weights @ columns + base
        rows = np.argpartition(scores, -TOP)[-TOP:]
        return rows[np.argsort(-scores[rows])]

    for weights in interests:
        assert set(best(table, base, weights, TOP)[0].tolist()) == set(by_numpy(weights).tolist())
    turns = [iter(interests), iter(interests)]
    ours = milliseconds(lambda: best(table, base, next(turns[0]), TOP), len(interests) - 1)
    theirs = milliseconds(lambda: by_numpy(next(turns[1])), len(interests) - 1)
    print(
        f"{articles:>9,} articles, {DIMENSIONS} dimensions: {ours:.2f} ms, numpy {theirs:.2f} ms, {theirs / ours:.1f}×"
    )
    return theirs / ours


def main() -> int:
    """Print all times; 1 if a target is missed."""
    alike = min(like_with_like(articles) for articles in (65_000, ARTICLES))
    rng = np.random.default_rng(0)
    table = ScoreTable.of(rng.standard_normal((ARTICLES, DIMENSIONS), dtype=np.float32))
    base = rng.standard_normal(ARTICLES, dtype=np.float32)
    interests = iter(rng.standard_normal((1000, DIMENSIONS), dtype=np.float32))
    ours = milliseconds(lambda: best(table, base, next(interests), TOP), 50)
    weights = next(interests)
    exact = np.argsort(-(base + table.exact @ weights), kind="stable")[:TOP]
    assert set(best(table, base, weights, TOP)[0].tolist()) == set(exact.tolist())

    vectors = rng.standard_normal((ARTICLES, VECTOR), dtype=np.float32)
    readers = iter(rng.standard_normal((100, VECTOR), dtype=np.float32))

    def numpy_scan() -> np.ndarray:
        scores = vectors @ next(readers)
        rows = np.argpartition(scores, -TOP)[-TOP:]
        return rows[np.argsort(-scores[rows])]

    peers = {"numpy": milliseconds(numpy_scan, 7)}
    if importlib.util.find_spec("faiss"):
        import faiss

        index = faiss.IndexFlatIP(VECTOR)
        index.add(vectors)
        peers["faiss flat"] = milliseconds(lambda: index.search(next(readers)[None], TOP), 7)

    read = table.rounded.nbytes + base.nbytes
    stream = vectors.reshape(-1)[: read // 4]  # as many bytes, read again and again as the ranking does
    speed = stream.nbytes / milliseconds(lambda: add_up(stream), 7) / 1e6
    limit = read / speed / 1e6
    print(f"exact top-{TOP} of {ARTICLES:,} articles\n")
    print(f"{'':<44}{'ms':>10}{'ratio':>10}")
    for name, taken in peers.items():
        print(f"{f'{name}, {VECTOR} dimensions':<44}{taken:>10.2f}{taken / ours:>10.1f}")
    print(f"{f'Discreet, a release of {DIMENSIONS} dimensions':<44}{ours:>10.2f}{1:>10}")
    print(
        f"\nmemory: {speed:.1f} GB/s; {read / 1e6:.0f} MB take at least {limit:.2f} ms: "
        f"the ranking takes {ours / limit:.1f} times as long"
    )
    ratio = min(peers.values()) / ours
    met = ratio >= MIN_RATIO and alike >= LIKE_WITH_LIKE
    print(f"{'met' if met else 'MISSED'}: ratio ≥ {MIN_RATIO:g} (least {ratio:.1f}),")
    print(f"with the same dimensions ≥ {LIKE_WITH_LIKE:g} (least {alike:.1f})")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
