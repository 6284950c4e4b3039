"""Private averages of ratings at ε = 0.1, and the same without noise (the thesis' Algorithms 1 and 2, Table 1).

python examples/private_averages.py ml-1m.zip
"""

import argparse
from pathlib import Path

import numpy as np

from discreet.data.formats.movielens import read_ratings
from discreet.privacy.mechanisms import DPAverage, DPItemAverages
from discreet.privacy.noise import SimulatedNoise


def main() -> None:
    """Print the error of each average on held-out ratings, over five seeds."""
    parser = argparse.ArgumentParser(description="RMSE of private averages.")
    parser.add_argument("ratings", type=Path, help="a MovieLens archive, folder or file")
    parser.add_argument("--epsilon", type=float, default=0.1)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings)
    value, item, items = ratings.value.astype(np.float64), ratings.item, len(ratings.items)
    bounds = {"epsilon": options.epsilon, "lowest": value.min(), "highest": value.max()}
    overall, each = DPAverage(**bounds), DPItemAverages(**bounds, items=items)

    for share in (0.1, 0.2):
        test = np.random.default_rng(0).random(len(value)) < share

        def rmse(predicted, test=test):
            return float(np.sqrt(np.mean((predicted - value[test]) ** 2)))

        counts = np.bincount(item[~test], minlength=items)
        plain = np.bincount(item[~test], value[~test], items) / np.maximum(counts, 1)
        plain[counts == 0] = value[~test].mean()
        averages, by_item = [], []
        for seed in range(5):
            released = overall.release(value[~test], SimulatedNoise(seed))
            averages.append(rmse(overall.average(released)))
            released = each.release((item[~test], value[~test]), SimulatedNoise(seed))
            by_item.append(rmse(each.item_averages(released)[item[test]]))
        print(f"test {share:.0%}, ε = {options.epsilon:g}")
        print(f"  global average          {min(averages):.4f} to {max(averages):.4f}")
        print(f"  item averages           {min(by_item):.4f} to {max(by_item):.4f}")
        print(f"  item averages, no noise {rmse(plain[item[test]]):.4f}")


if __name__ == "__main__":
    main()
