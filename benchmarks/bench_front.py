"""What `--diversity` does to the first page of a reader of whom nothing is known.

A trained model with its catalogue. For each setting: how many categories the first 20 articles have, the share of the
largest, and what is given up: by how much their mean base score is below that of the best 20, in standard deviations
of the 500 best.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from discreet.data.open import open_news
from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.methods.click_reports.click_reports import ClickReports
from discreet.methods.click_reports.served import ServedModel
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.serving.catalogue_pages import front
from discreet.serving.ranker import POOL
from discreet.serving.server import open_service

SHOWN = 20


def main() -> int:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a news data set; without one, a generated world")
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--text", default="hashed")
    options = parser.parse_args()
    data = open_news(options.data) if options.data else news_world(options.readers, seed=0)
    task, method = TrainingTask(data, options.text), ClickReports()
    model = ServedModel.from_run(Run(method, method.train(task, 0), data.name, 0, task.text))
    with tempfile.TemporaryDirectory() as folder:
        latest = max(int(part.time.max()) for part in data.splits.values())
        service = open_service(Path(folder), model, data=ShownArticles.of(data), as_of=latest)
        service.updater._clock = lambda: float(latest)
        service.updater.step()
        snapshot = service.updater.snapshot
        best = np.sort(snapshot.base)[::-1].astype(np.float64)
        print(f"{data.name}: {len(snapshot):,} articles of {len(snapshot.categories)} categories\n")
        print(f"{'diversity':>10}{'categories':>12}{'largest share':>15}{'given up':>10}")
        for diversity in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0):
            rows = front(snapshot, SHOWN, diversity)
            counts = np.bincount(snapshot.category[rows])
            lost = (best[:SHOWN].mean() - float(snapshot.base[rows].mean())) / (best[:POOL].std() or 1.0)
            print(f"{diversity:>10g}{np.count_nonzero(counts):>12}{counts.max() / SHOWN:>15.0%}{lost:>10.2f}")
        service.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
