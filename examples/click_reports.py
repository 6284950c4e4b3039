"""One-shot click reports from end to end: two small releases for each click, and a recommender trained on nothing else.

    python examples/click_reports.py [--epsilon 3] [--readers 1500]

Theorem. Replace one click of a reader by another. Everything the server ever receives changes its probability by at
most a factor e^ε, ε = ε_sketch + ε_label, for life: `TopicCounts` is ε_sketch-private (one click moves two counts by
one, so Δ₁ = 2), `SubsetSelection` ε_label-private, each click is in one sketch and in one label (composition), and
the server computes on what it received (post-processing).

`discreet compare DATA --methods click_reports` does this with more care; see docs/explanation/click-reports.md.
"""

import argparse
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from discreet.data.news import Impressions
from discreet.data.synthetic import news_world
from discreet.edge.reader.reports import label
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines import Content, Recency
from discreet.methods.click_reports.interest import TopicPrior
from discreet.methods.method import TrainingTask
from discreet.privacy.guarantee import Scope
from discreet.privacy.mechanisms import SubsetSelection, TopicCounts
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release
from discreet.text.topics import find_topics

NOISE = SecureNoise()  # the operating system's randomness, exact integers: what a real device uses


# --- devices: the only code that sees a click


def send_sketch(history: np.ndarray, topic: np.ndarray, mechanism: TopicCounts) -> bytes:
    """How many clicks lie on each public topic, plus discrete Laplace noise of scale 2/ε."""
    return mechanism.release(topic[history], NOISE).to_bytes()


def send_label(clicked: np.ndarray, epsilon: float) -> bytes:
    """About C/(e^ε + 1) of the C shown articles, among them the clicked one more likely than others."""
    mechanism = SubsetSelection(epsilon=epsilon, choices=len(clicked))
    return label(np.flatnonzero(clicked).tolist(), mechanism, NOISE).to_bytes()


# --- the server: public text, and the bytes that came


def interest_of(sketches: dict[int, bytes], clicks: dict[int, int], readers: int, mechanism: TopicCounts) -> np.ndarray:
    """Each reader's posterior mean share of each topic, minus the mean reader's; the prior is learnt from sketches."""
    who = np.array(sorted(sketches))
    counts = np.array([Release.from_bytes(sketches[reader]).values for reader in who])
    length, once = np.array([clicks[reader] for reader in who]), np.ones(len(who), np.int64)
    prior = TopicPrior.learn(counts, length, once, mechanism.epsilon)
    interest = np.zeros((readers, mechanism.topics))
    interest[who] = prior.interest(counts, length, once)
    return interest


def learn(features: np.ndarray, slates: Impressions, labels: dict[int, bytes], epsilon: float) -> np.ndarray:
    """The most probable weights: Σ ln(1 + (e^ε − 1)·Σ_{c∈Z} p_c) − ½‖(w − w₀)/s‖², p = softmax(features·w)."""
    start, spread = np.array([8.0, 0.0]), np.array([4.0, 0.15])
    inside = np.zeros(len(slates.shown))
    for i, told in labels.items():
        inside[slates.slate[i] + Release.from_bytes(told).payload.integers] = 1
    used, first, row = np.array(sorted(labels)), slates.slate[:-1], slates.impression_of_shown

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = np.exp(features @ weights)
        p = odds / np.add.reduceat(odds, first)[row]
        hit = np.add.reduceat(p * inside, first)
        pull = np.zeros(len(slates))
        pull[used] = np.expm1(epsilon) / (1 + np.expm1(epsilon) * hit[used])
        away = (weights - start) / spread
        gradient = features.T @ (pull[row] * p * (inside - hit[row])) - away / spread
        return float(-np.log1p(np.expm1(epsilon) * hit[used]).sum() + away @ away / 2), -gradient

    return minimize(loss, start, jac=True, method="L-BFGS-B").x


def main() -> None:
    """Generate a world, let its devices report, train, rank the next day."""
    parser = argparse.ArgumentParser(description="A recommender trained on one-shot click reports.")
    parser.add_argument("--epsilon", type=float, default=3.0, help="what a click costs over its life")
    parser.add_argument("--readers", type=int, default=1500)
    options = parser.parse_args()
    task = TrainingTask(news_world(options.readers, seed=0), "hashed")
    train, dev = (task.data.splits[name] for name in ("train", "dev"))
    readers = len(task.data.readers)

    # Public: topics are clusters of titles, and an article resembles each of them more or less.
    vectors = task.public_vectors.matrix
    space = find_topics(vectors, 12)
    topic, resembles = space.topics_of(vectors), (vectors @ space.profiles.T).astype(np.float64)

    # Devices. The history at a reader's first visit goes into one sketch; each slate with a click has one label.
    sketch = TopicCounts(epsilon=0.7 * options.epsilon, topics=len(space))
    epsilon_label = 0.3 * options.epsilon
    sketches, clicks = {}, {}
    for part in (train, dev):
        for i, reader in enumerate(part.reader.tolist()):
            if reader not in clicks and len(part.history(i)):
                sketches[reader], clicks[reader] = send_sketch(part.history(i), topic, sketch), len(part.history(i))
    labels = {}
    for i in range(len(train)):
        clicked = train.clicked[train.slate[i] : train.slate[i + 1]]
        if clicked.any() and len(clicked) > 1:
            labels[i] = send_label(clicked, epsilon_label)

    # Server. From here on there are only bytes that were sent, and public data.
    interest = interest_of(sketches, clicks, readers, sketch)

    def features(part: Impressions) -> np.ndarray:
        """For each shown article: how it meets the reader's interest, and how new it is."""
        reader = interest[part.reader][part.impression_of_shown]
        meets = np.einsum("nk,nk->n", resembles[part.shown], reader)
        return np.stack((meets, Recency().score(task, {}, part, 0)), axis=1)

    weights = learn(features(train), train, labels, epsilon_label)

    def auc(scores: np.ndarray) -> str:
        found = ranking_metrics(scores, dev)["auc"]
        return f"{found.mean():.3f} ± {found.std() / np.sqrt(len(found)):.3f}"

    cost = sketch.epsilon + epsilon_label
    promise = replace(sketch.guarantee(), epsilon=cost, scope=Scope.LIFETIME, mechanism="one sketch and one label")
    for name, sent in (("sketches", sketches), ("labels", labels)):
        print(f"{len(sent)} {name} of {np.mean([len(told) for told in sent.values()]):.0f} bytes")
    print(f"AUC, by reports              {auc(features(dev) @ weights)}")
    print(f"AUC, untrained               {auc(features(dev)[:, 0])}")
    print(f"AUC, content on the device   {auc(Content().score(task, {}, dev, 0))}   (ε = 0: nothing is sent)")
    print(f"guarantee: {promise}")


if __name__ == "__main__":
    main()
