"""`front_page`: what a window costs the server, and what a ranking costs the device.

A window's update has 10,000 articles. The peer is the same likelihood by scipy.stats, term by term, without a table;
both must agree. A ranking has 5,000 candidates with 384-dimensional titles and a history of 50 clicks.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import dlaplace, poisson

from discreet.methods.front_page.click_rates import GRID, ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.history_features import reader_features
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weights import PUBLIC_WEIGHTS
from discreet.methods.front_page.windows import Window
from discreet.privacy.noise import SimulatedNoise, rounded_up

SCALE = 1.0
TEXT_SIZE = 65


def peer_likelihood(released: NDArray[np.int64], log_expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Poisson clicks and the noise of two aggregators, term by term."""
    reach, clicks = np.arange(-40, 41), np.arange(60)
    noise = np.convolve(dlaplace.pmf(reach, 1 / SCALE), dlaplace.pmf(reach, 1 / SCALE))
    found = np.zeros_like(log_expected)
    for k in clicks:
        found += noise[np.clip(released - k + 80, 0, 160)][:, None] * poisson.pmf(k, np.exp(log_expected))
    return np.asarray(np.log(np.maximum(found, 1e-300)))


def best_of(runs: int, work: Callable[[], object]) -> float:
    """The shortest of some runs, in milliseconds."""
    took = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        took.append(time.perf_counter() - begun)
    return 1000 * min(took)


def main() -> int:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=10_000)
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    random = np.random.default_rng(0)
    exposure = random.exponential(0.5, options.articles) + 0.01
    noise = SimulatedNoise(0)
    clicks = random.poisson(exposure)
    clicks += sum(noise.discrete_laplace(rounded_up(SCALE), options.articles) for _ in range(2))
    learnt = ClickRates(CountLikelihood(SCALE), random.normal(size=(options.articles, TEXT_SIZE)) / 8)
    hours = iter(range(1, 1000))

    def update() -> None:
        learnt.update(Window(next(hours) * 3600, np.arange(options.articles), exposure, clicks))

    update()
    logs = np.log(exposure)[:, None] + GRID
    ours, peer = CountLikelihood(SCALE)(clicks, logs), peer_likelihood(clicks, logs)
    small = logs < np.log(20)
    worst = float(np.abs(ours - peer)[small].max())
    print(f"{options.articles:,} articles, the best of {options.runs}")
    everything = np.arange(options.articles)
    for name, runs, work in (
        ("a window's update", options.runs, update),
        ("all rates", options.runs, lambda: learnt.log_rate(everything)),
        ("its likelihood", options.runs, lambda: CountLikelihood(SCALE)(clicks, logs)),
        (f"the same by scipy.stats (differs by {worst:.0e})", 1, lambda: peer_likelihood(clicks, logs)),
    ):
        print(f"  {name:<45}{best_of(runs, work):8.1f} ms")
    vectors = random.normal(size=(options.candidates + 50, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    category = random.integers(0, 15, len(vectors))
    public = PublicArticles(vectors, 0.1, category, np.full(15, 1 / 15), np.zeros((len(vectors), 1)), vectors[0])
    history = np.arange(50, dtype=np.int32)
    candidates = np.arange(50, len(vectors), dtype=np.int32)

    def rank() -> None:
        np.argsort(-(reader_features(public, history, candidates) @ PUBLIC_WEIGHTS[:3]))

    print(f"  {f'a device ranks {options.candidates:,}':<45}{best_of(options.runs, rank):8.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
