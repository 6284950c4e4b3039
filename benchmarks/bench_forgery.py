"""How far forged label reports lift an article on everybody's front page.

A trained model with its catalogue, some honest labels, and then labels that all name one article in the middle of the
ranking: slates of the smallest size that is taken, the article always in the set. "before" is the estimate that learns
from the labels themselves how much articles differ; "now" is what the server does (`serving/label_popularity.py`).
Target: 100 forged labels move the article by less than an honest favourite's labels may, and honest popularity is still
learnt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.edge.reader.reports import label_mechanism
from discreet.methods.click_reports.click_evidence import inclusion, show_variance, shrunk_rate, spread_between
from discreet.methods.click_reports.click_reports import ClickReports
from discreet.methods.click_reports.served import ServedModel
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.privacy.noise import SimulatedNoise
from discreet.privacy.release_format import encode
from discreet.protocol.check import limits
from discreet.serving.label_popularity import LabelPopularity
from discreet.serving.server import open_service
from discreet.serving.server_store import KeptReport, ServerStore

HONEST_SLATE = 20
MAX_MOVED_SHARE = 0.5
"""How much of the way to the top 100 forged labels may move the article."""


class Labels:
    """Makes label reports and puts them into the database."""

    def __init__(self, store: ServerStore, version: str, epsilon: float) -> None:
        self._store, self._version, self._epsilon = store, version, epsilon
        self._made = 0
        self.all: list[tuple[list[str], list[int]]] = []

    def add(self, slates: list[tuple[list[str], np.ndarray]]) -> None:
        """Keep labels: the articles of a slate and the positions in the set."""
        kept = []
        for articles, positions in slates:
            self._made += 1
            name = f"{self._made:032x}"
            guarantee = label_mechanism(len(articles), self._epsilon).guarantee()
            release = encode(np.sort(positions).astype(np.int64), 1.0, guarantee)
            shown = json.dumps(articles)
            kept.append(KeptReport(name, "label", b"", self._version, 1, 1, release, slate=name, articles=shown))
            self.all.append((articles, positions.tolist()))
        self._store.keep_reports(kept)

    def honest(self, count: int, ids: list[str], appeal: np.ndarray, rng: np.random.Generator) -> None:
        """Readers who click by the articles' appeal, and report as devices do."""
        mechanism, noise = label_mechanism(HONEST_SLATE, self._epsilon), SimulatedNoise(int(rng.integers(2**31)))
        made = []
        for _ in range(count):
            rows = rng.choice(len(ids), HONEST_SLATE, replace=False)
            chance = np.exp(appeal[rows])
            clicked = int(rng.choice(HONEST_SLATE, p=chance / chance.sum()))
            made.append(([ids[row] for row in rows], mechanism.release(clicked, noise).payload.integers))
        self.add(made)

    def forged(self, count: int, target: str, ids: list[str], rng: np.random.Generator) -> None:
        """Labels that name one article each time."""
        size = limits.min_slate_articles
        chosen = label_mechanism(size, self._epsilon).subset_size
        others = [article for article in ids if article != target]
        made = []
        for _ in range(count):
            slate = [target, *(others[n] for n in rng.choice(len(others), size - 1, replace=False))]
            made.append((slate, np.concatenate(([0], 1 + rng.choice(size - 1, chosen - 1, replace=False)))))
        self.add(made)

    def learnt_before(self, ids: list[str]) -> np.ndarray:
        """The popularity that shrinks by a spread learnt from the labels themselves."""
        sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for articles, positions in self.all:
            hit, stray = inclusion(label_mechanism(len(articles), self._epsilon))
            weight, inside = 1 / show_variance(hit, stray, float(len(articles))), set(positions)
            for place, article in enumerate(articles):
                sums[article][0] += weight
                sums[article][1] += weight * ((place in inside) - stray) / (hit - stray)
        weight, value = np.array(list(sums.values())).T
        rate = float(value.sum() / weight.sum())
        found = dict(zip(sums, shrunk_rate(weight, value, rate, spread_between(weight, value, rate)), strict=True))
        return np.array([found.get(article, 0.0) for article in ids])


def main() -> int:
    """Print ranks by number of forged labels; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--honest", type=int, default=5000, help="how many honest labels there are")
    options = parser.parse_args()
    task = TrainingTask(news_world(options.readers, seed=0), "hashed")
    method = ClickReports(epsilon=options.epsilon)
    model = ServedModel.from_run(Run(method, method.train(task, 0), task.data.name, 0, task.text))
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        service = open_service(Path(folder), model, data=ShownArticles.of(task.data), ranking="shortlist")
        service.updater.step()
        snapshot = service.updater.snapshot
        ids, now = snapshot.ids, int(snapshot.listed_at.max())
        appeal = np.clip(0.5 * rng.standard_normal(len(ids)), -1.5, 1.5)
        labels = Labels(service.store, model.version, model.epsilon_label)
        labels.honest(options.honest, ids, appeal, rng)

        def base(popularity: np.ndarray) -> np.ndarray:
            ages = snapshot.published, snapshot.first_shown
            return model.base_scores(snapshot.fixed, *ages, snapshot.shows, popularity, now)

        def learnt() -> np.ndarray:
            popularity = LabelPopularity(model.version, model.epsilon_label)
            popularity.count(service.store)
            popularity.read(service.store)
            return popularity.of(ids)

        honest = learnt()
        order = np.argsort(-base(honest))
        target = int(order[len(order) // 2])
        agreement = float(np.corrcoef(honest, appeal)[0, 1])
        print(f"{len(ids):,} articles, {options.honest:,} honest labels of ε = {model.epsilon_label:.3g}:")
        earlier = float(np.corrcoef(labels.learnt_before(ids), appeal)[0, 1])
        print(
            f"popularity up to {honest.max():.2f}, correlation with the truth {agreement:.2f} (before: {earlier:.2f})\n"
        )
        print(f"{'forged labels':>14}{'rank before':>13}{'popularity':>12}{'rank now':>10}{'popularity':>12}")
        made, moved = 0, 0.0
        for count in (0, 10, 100, 1000, 10_000):
            labels.forged(count - made, ids[target], ids, rng)
            made = count
            line = f"{count:>14,}"
            for popularity, width in ((labels.learnt_before(ids), 13), (learnt(), 10)):
                scores = base(popularity)
                rank = 1 + int((scores > scores[target]).sum())
                line += f"{rank:>{width},}{popularity[target]:>12.2f}"
                if count == 100:
                    moved = 1 - rank / (len(ids) // 2)
            print(line)
        service.close()
    met = moved <= MAX_MOVED_SHARE and agreement > 0.1
    verdict, limit = "met" if met else "MISSED", f"{MAX_MOVED_SHARE:.0%}"
    print(f"\n{verdict}: 100 forged labels move it {moved:.0%} of the way up, at most {limit}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
