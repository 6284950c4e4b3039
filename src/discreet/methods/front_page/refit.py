"""Fit the public weights again, on generated worlds: `python -m discreet.methods.front_page.refit`.

It prints what `weights.PUBLIC_WEIGHTS` has: the last weight is fitted on top of the others. Each world counts the same.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numpy.typing import NDArray

from discreet.data.synthetic import news_world
from discreet.methods.baselines.conditional_logit import fit_choice_weights
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.history_features import FEATURES, device_features
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.method import TrainingTask


def world_weights(readers: int, seed: int, text: str) -> NDArray[np.float64]:
    """The most likely weights in one generated world, relative to popularity without noise, of weight 1."""
    data = news_world(readers, seed=seed)
    task, method = TrainingTask(data, text), FrontPage(epsilon=math.inf)
    dev = data.splits["dev"]
    popularity = method.log_rates(task, method.train(task, 0), dev, 0)
    features = device_features(task, PublicArticles.of(task), dev)
    basic, last = features[:, :-1], features[:, -1:]
    weights = fit_choice_weights(basic, dev, offset=popularity)
    return np.append(weights, fit_choice_weights(last, dev, offset=popularity + basic @ weights))


def main() -> int:
    """Print the weights of each world, and their mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=2000, help="readers of each world")
    parser.add_argument("--worlds", type=int, default=3, help="how many worlds, with seeds from 1 on")
    parser.add_argument("--text", default="auto", help="where title vectors come from, as in discreet compare")
    options = parser.parse_args()
    print(f"{'seed':<6}" + "".join(f"{name:>13}" for name in FEATURES))
    found = []
    for seed in range(1, options.worlds + 1):
        found.append(world_weights(options.readers, seed, options.text))
        print(f"{seed:<6}" + "".join(f"{weight:>13.3f}" for weight in found[-1]), flush=True)
    print(f"{'mean':<6}" + "".join(f"{weight:>13.3f}" for weight in np.mean(found, axis=0)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
