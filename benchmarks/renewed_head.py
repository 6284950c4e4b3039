"""Does a head pay that is renewed while serving? A week of a generated world, from a feed's start: no click is known.

Weights and the head's directions are learnt from one sum a day, as a server learns them. Beside it: no head; weights
alone, from the same share of ε; and the whole head of a run (`head_share`), which no server renews. `candidate` is what
ranks once both tests have passed. The directions are those of the titles and topics of what the train days showed.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from discreet.data.news import Impressions
from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.head_articles import HeadArticles
from discreet.methods.front_page.history_features import device_features
from discreet.methods.front_page.learnt_weights import learn_weights
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY, WeightPosterior, WeightPrior
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise
from discreet.protocol.weight_cells import MAX_DIRECTIONS


def main() -> None:
    """Print one line for each way to rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=5000)
    parser.add_argument("--population", type=int, default=0, help="simulate the noise of so many readers")
    parser.add_argument("--epsilon", type=float, default=math.inf, help="of a day, all sums together")
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    task = TrainingTask(news_world(given.readers, train_days=6, seed=given.seed), "hashed")
    terms = {"epsilon": given.epsilon, "population": given.population}
    rest = terms | {"epsilon": (1 - given.share) * given.epsilon}
    without, learning = FrontPage(**terms), FrontPage(**rest)
    train, dev = task.data.splits["train"], task.data.splits["dev"]
    own = {part: device_features(task, PublicArticles.of(task), split) for part, split in task.data.splits.items()}
    vectors = HeadArticles.of(task).vectors[:, :MAX_DIRECTIONS].astype(np.float64)

    def products(split: Impressions) -> np.ndarray:
        return mean_of_history(vectors, split)[split.impression_of_shown] * vectors[split.shown]

    def auc(scores: np.ndarray) -> np.ndarray:
        return np.asarray(ranking_metrics(scores, dev)["auc"])

    def rows(method: FrontPage, part: str) -> np.ndarray:
        split = task.data.splits[part]
        rates = method.log_rates(task, states[method], split, given.seed)
        return np.column_stack((own[part], rates, products(split)))

    states = {method: method.train(task, given.seed) for method in (without, learning)}
    base = auc(rows(without, "dev")[:, :6] @ WITH_POPULARITY)
    print(f"{len(dev)} impressions; no head: AUC {base.mean():.4f}")

    def show(name: str, scores: np.ndarray) -> None:
        apart = auc(scores) - base
        error = apart.std() / len(apart) ** 0.5
        print(f"{name}: AUC {auc(scores).mean():.4f} ({apart.mean():+.4f} ± {error:.4f})")

    def learnt(prior: WeightPrior, seed: int) -> WeightPosterior:
        shown, clicks = rows(learning, "train")[:, : len(prior.first)], learning.popularity(task)
        clicks.restore(states[learning])
        noise = SimulatedNoise(np.random.SeedSequence([seed, 6]))
        epsilon, copies = given.share * given.epsilon, learning._copies(task)
        return learn_weights(train, shown, epsilon, lambda _: clicks.slate_clicks, copies, noise, prior)

    size, units = vectors.shape[1], vectors[np.unique(train.shown)].var(axis=0)
    served = rows(learning, "dev")
    for name, prior in (
        ("weights alone", WeightPrior()),
        ("weights and directions", WeightPrior.with_head(WITH_POPULARITY, np.zeros(size), units)),
    ):
        known = learnt(prior, given.seed)
        width = len(prior.first)
        print(f"{name}: chi² {known.chi_squared:.1f}; gain {known.gain:.1f}, beyond {known.least_gain:.1f} it ranks")
        if prior.directions:
            print(f"  of the head: {known.head_chi_squared:.1f}, beyond {known.max_head_chi_squared:.1f} it moves")
        show(f"{name}, what ranks", served[:, :width] @ known.weights)
        show(f"{name}, candidate", served[:, :width] @ known.candidate)
    whole = FrontPage(**terms, head_share=given.share)
    show("the whole head of a run", whole.score(task, whole.train(task, given.seed), dev, given.seed))


if __name__ == "__main__":
    main()
