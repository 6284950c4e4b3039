"""What a server learns while it serves, against what `front_page` learns from the same clicks in its simulator.

    python benchmarks/served_popularity.py --readers 2000 --seeds 5

A generated week is played twice. In the simulator; and through the shipped devices, the shipped server, which is told
the slates, and sums with the noise of two aggregators (`experiments.served_week`). Ranked is the last day, each window
with what was known when it began. The device's own features are the same, so what differs is popularity alone. Target:
the two do not differ by more than two standard errors of the paired difference, noise of the draws included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet.aggregation.sums import PlainSums
from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import ranking_metrics
from discreet.experiments.served_week import ServedWeek, served_rates
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise


def main() -> int:
    """Print the AUC of the world's last day with each popularity, and with none; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=2000)
    parser.add_argument("--days", type=int, default=6, help="days before the one that is ranked")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--minutes", type=int, default=60, help="how long a window is")
    parser.add_argument("--seeds", type=int, default=3, help="draws of the noise")
    options = parser.parse_args()
    data = news_world(options.readers, train_days=options.days, seed=3)
    task, dev = TrainingTask(data, "hashed"), data.splits["dev"]
    method = FrontPage(epsilon=options.epsilon, window_minutes=options.minutes)
    own = method.device_scores(task, dev)
    found = {"public weights": [_auc(own, dev)], "simulator": [], "served": []}
    for seed in range(options.seeds):
        state = method.train(task, seed)
        found["simulator"].append(_auc(own + method.log_rates(task, state, dev, seed), dev))
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            week = ServedWeek(
                Path(folder),
                data,
                lambda _, seed=seed: PlainSums(SimulatedNoise(np.random.SeedSequence([seed, 77]))),
                price=DayPrice(options.epsilon),
                max_clicks=int(state["max_clicks"][0]),
                seconds=60 * options.minutes,
                text="hashed",
            )
            found["served"].append(_auc(own + served_rates(week, dev), dev))
            week.close()
        both = ", ".join(f"{name} {found[name][-1].mean():.4f}" for name in ("simulator", "served"))
        print(f"draw {seed}: {both}; {time.process_time() - began:.0f} s of processor time", flush=True)
    print(
        f"\n{options.readers:,} readers, {len(dev):,} impressions, ε = {options.epsilon:g} a day, {options.seeds} draws"
    )
    for name, draws in found.items():
        print(f"{name:<16}{np.mean(draws):.4f} ± {_error(np.mean(draws, axis=0)):.4f}")
    difference = np.mean(found["served"], axis=0) - np.mean(found["simulator"], axis=0)
    by_draw = np.std([s.mean() - t.mean() for s, t in zip(found["served"], found["simulator"], strict=True)])
    error = np.hypot(_error(difference), by_draw / np.sqrt(options.seeds))
    print(f"served − simulator {difference.mean():+.4f} ± {error:.4f}")
    met = abs(difference.mean()) <= 2 * error
    print("met" if met else "MISSED")
    return 0 if met else 1


def _auc(scores, impressions):
    return ranking_metrics(scores, impressions)["auc"]


def _error(values):
    return float(np.std(values) / np.sqrt(len(values)))


if __name__ == "__main__":
    sys.exit(main())
