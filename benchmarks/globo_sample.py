"""A sample of Globo's clicks by a fixed rule, as a csv file of purchases: the users whose number 16 divides.

python benchmarks/globo_sample.py clicks.tar.xz globo-sample.csv
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from discreet.data.open import open_purchases

ONE_OF = 16


def main() -> None:
    """Read all clicks, write those of the sample."""
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    clicks = open_purchases(source)
    number = np.array([int(name) for name in clicks.users])[clicks.user]
    kept = number % ONE_OF == 0
    items = [clicks.items.ids[item] for item in clicks.item[kept]]
    pl.DataFrame({"user": number[kept], "item": items, "time": clicks.time[kept]}).write_csv(out)
    users, articles = len(np.unique(number[kept])), len(set(items))
    print(f"{out}: {kept.sum():,} clicks of {len(clicks):,}, {users:,} users, {articles:,} articles")


if __name__ == "__main__":
    main()
