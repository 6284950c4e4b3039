"""What a served head is worth beside the simulator's, and what it adds to an article: the same run, scored both ways.

The served head has what a device has: coordinates in bytes, title vectors whose word weights come from the server's
titles. Everything else of the score is the simulator's in both, so that the difference is the head's alone.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import tempfile
from pathlib import Path

import numpy as np

from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.head import head_scores
from discreet.methods.method import TrainingTask
from discreet.serving.front_page_head import FrontPageHead
from discreet.serving.server import open_service
from discreet.serving.service import Service


def opened(folder: str, data: ShownArticles, head: FrontPageHead | None) -> Service:
    """A server of the articles."""
    service = open_service(None, None, database=Path(folder) / "s.sqlite", data=data, text="hashed", head=head)
    service.updater.step()
    return service


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=2000)
    parser.add_argument("--population", type=int, default=0, help="simulate the noise of so many readers")
    parser.add_argument("--epsilon", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    task = TrainingTask(news_world(given.readers, seed=given.seed), "hashed")
    method = FrontPage(epsilon=given.epsilon, head_share=0.5, population=given.population)
    state, dev = method.train(task, 0), task.data.splits["dev"]
    without = method.score(task, {name: value for name, value in state.items() if name != "head"}, dev, 0)
    exact, head, shown = head_scores(task, state, dev), FrontPageHead.from_state(state), ShownArticles.of(task.data)
    sizes = []
    for served in (None, head):
        with tempfile.TemporaryDirectory() as folder:
            service = opened(folder, shown, served)
            sizes.append(service.updater.catalogue.bytes_of_one)
            s, told = service.snapshot, json.loads(service.about().plain())["vectors"]
            vector = {i: json.loads(b"{%s}" % e)["vector"] for i, e in zip(s.ids, s.entries, strict=True)}
            service.close()
    rows = [np.frombuffer(base64.b64decode(vector[name]), np.int8) for name in task.data.articles.ids]
    z = told["scale"] * np.stack(rows)[:, -len(head.values) :].astype(np.float64)
    wanted = (mean_of_history(z, dev) * told["head"])[dev.impression_of_shown]
    found = np.einsum("nk,nk->n", wanted, z[dev.shown])
    print(f"an article of a page, compressed: {sizes[0]:.0f} B, with the head {sizes[1]:.0f} B")
    print(f"correlation of the head's part, served and simulated: {np.corrcoef(found, exact)[0, 1]:.5f}")
    for name, scores in (("no head", without), ("simulated", without + exact), ("served", without + found)):
        print(f"{name}: AUC {float(ranking_metrics(scores, dev)['auc'].mean()):.4f}")


if __name__ == "__main__":
    main()
