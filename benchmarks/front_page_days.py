"""How much of combined's gain over content front_page keeps on the train days: each is ranked after those before it.

    python benchmarks/front_page_days.py MINDsmall --epsilon 0.5,1,3,10 --seeds 3
    python benchmarks/front_page_days.py MINDsmall --epsilon 1 --population 50000 --max-days 6

Rules may be chosen here, so that the dev day need not be looked at.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import discreet as d
from discreet.data.news import NewsData
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.method import Method, TrainingTask

DAY = 86_400


def days(data: NewsData, text: str = "auto") -> Iterator[TrainingTask]:
    """For each train day but the first: it as the split to rank, and the days before it to learn from."""
    train = data.splits["train"]
    day = train.time // DAY
    for today in np.unique(day)[1:]:
        splits = {"train": train.select(day < today), "dev": train.select(day == today)}
        yield TrainingTask(NewsData(data.name, data.articles, data.readers, splits), text)


def measured(method: Method, tasks: list[TrainingTask], seeds: int = 1) -> NDArray[np.float64]:
    """The AUC of every impression of all days, the mean over seeds."""
    return np.mean([np.concatenate([_auc(method, task, seed) for task in tasks]) for seed in range(seeds)], axis=0)


def _auc(method: Method, task: TrainingTask, seed: int) -> NDArray[np.float64]:
    ranked = task.data.splits["dev"]
    scores = method.score(task, method.train(task, seed), ranked, seed)
    return np.asarray(ranking_metrics(scores, ranked)["auc"])


def main() -> None:
    """Print the gain of each ε over content."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--epsilon", default="0.5,1,3,10", help="per reader and day; with --max-days for life")
    parser.add_argument("--population", type=int, default=0, help="simulate the noise of so many readers")
    parser.add_argument("--max-days", type=int, default=0, help="on how many days a reader contributes at most")
    parser.add_argument("--head-share", default="auto", help="the share of ε for a head, several separated by commas")
    parser.add_argument("--text", default="auto", help="where title vectors come from, as in discreet compare")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    tasks = list(days(d.open_news(chosen.data), chosen.text))
    content, combined = measured(d.Content(), tasks), measured(d.Combined(), tasks)
    gain = (combined - content).mean()
    print(f"{len(content):,} impressions of {len(tasks)} days; content {content.mean():.4f}, combined +{gain:.4f}")
    shares = [share if share == "auto" else float(share) for share in chosen.head_share.split(",")]
    for epsilon, share in product(map(float, chosen.epsilon.split(",")), shares):
        method = d.FrontPage(epsilon=epsilon, population=chosen.population, max_days=chosen.max_days, head_share=share)
        more = measured(method, tasks, chosen.seeds) - content
        error = more.std(ddof=1) / len(more) ** 0.5
        print(
            f"ε = {epsilon:g}, head {share}: +{more.mean():.4f} ± {error:.4f},"
            f" {more.mean() / gain:.0%} of combined's gain",
            flush=True,
        )


if __name__ == "__main__":
    main()
