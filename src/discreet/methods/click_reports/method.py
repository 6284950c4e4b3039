"""Click reports: each click is reported once in a sketch and once as a label; all else is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.base import Scores, State, Task
from discreet.methods.click_reports.collect import (
    Sketches,
    collect_labels,
    collect_sketches,
    release_plan,
    topic_counts,
)
from discreet.methods.click_reports.features import PublicSide, non_personal_terms
from discreet.methods.click_reports.fit import Reported, Weights, train_on_reports
from discreet.methods.click_reports.interest import TopicPrior
from discreet.methods.click_reports.popularity import Evidence
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.similarity import mean_of_history
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit

_RANKINGS = ("release", "device")


@dataclass(frozen=True, kw_only=True)
class ClickReports:
    """One-shot reports that train and serve, with ε for the life of a click.

    Devices release topic counts of their histories (`TopicCounts`) and a set of articles for each impression
    (`SubsetSelection`). From these alone the server learns what readers have in common, how popular articles are, and
    how interest and articles meet; see the package's docstring for the parts.

    Attributes:
        epsilon: The lifetime budget of a click: its sketch and its label together.
        label_share: How much of it goes to the label; 0 reports no labels, and then content alone ranks.
        topics: K; 0 chooses it by ε: 9·√ε of the sketch, from 4 to 32, and 128 without noise.
        epochs: In how many sketches the history before the first impression is released.
        ranking: `release`: the server ranks by what was released. `device`: the device re-ranks by its exact history
            with the model trained on reports, and sends nothing more.
    """

    name: ClassVar[str] = "click_reports"
    model: ClassVar[None] = None

    epsilon: float = 1.0
    label_share: float = 0.3
    topics: int = 0
    epochs: int = 1
    ranking: str = "release"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise DiscreetError(f"{self.name}: epsilon must be above 0, not {self.epsilon}")
        if not 0 <= self.label_share < 1:
            raise DiscreetError(f"{self.name}: label_share must be at least 0 and below 1, not {self.label_share}")
        if self.topics not in (0, *range(2, 1025)) or self.epochs < 1:
            raise DiscreetError(f"{self.name}: topics must be 0 or from 2 to 1024, epochs at least 1")
        if self.ranking not in _RANKINGS:
            raise DiscreetError(f"{self.name}: ranking is one of {', '.join(_RANKINGS)}, not '{self.ranking}'")

    @property
    def epsilon_label(self) -> float:
        """ε of a label report; 0 for none."""
        return self.epsilon * self.label_share if self.label_share else 0.0

    @property
    def epsilon_sketch(self) -> float:
        """ε of a sketch."""
        return self.epsilon if math.isinf(self.epsilon) else self.epsilon - self.epsilon_label

    @cached_property
    def topic_count(self) -> int:
        """K. More noise leaves fewer topics worth telling apart; the rule was found on MIND's train split."""
        if self.topics:
            return self.topics
        return 128 if math.isinf(self.epsilon) else int(np.clip(round(9 * math.sqrt(self.epsilon_sketch)), 4, 32))

    def train(self, task: Task, seed: int, checkpoint: Path | None = None) -> State:
        """Learn from the reports of the train split: topics from public text, then everything else from reports."""
        space = PublicSpace.of(task, self.topic_count)
        public = PublicSide.of(task, space)
        train = task.data.splits["train"]
        sketches = self._sketches(task, public, None, seed)
        prior = TopicPrior.learn(sketches.values, sketches.clicks, sketches.releases, self.epsilon_sketch)
        labels = collect_labels(train, self.epsilon_label, seed)
        evidence = Evidence.of([(train, labels)], self.epsilon_label)
        fitted = train_on_reports(
            Reported(
                train,
                labels.inside,
                labels.reported,
                non_personal_terms(task, train, evidence, public, prior.mean),
                public.content,
                public.coordinates,
                _interest(prior, sketches, train),
                self.epsilon_label,
            )
        )
        return {
            **space.to_state(),
            "prior_mean": prior.mean,
            "prior_concentration": np.array([prior.concentration]),
            "weights": fitted.weights.flat(),
            "chosen": np.frombuffer(fitted.chosen.encode(), np.uint8).copy(),
        }

    def score(self, task: Task, state: State, impressions: Impressions, seed: int) -> Scores:
        """Score with what was released, or on the device with the exact history; labels count once they were sent."""
        space = PublicSpace.from_state(state)
        public = PublicSide.of(task, space)
        prior = TopicPrior(state["prior_mean"], float(state["prior_concentration"][0]), self.epsilon_sketch)
        evidence = Evidence.of(
            [(part, collect_labels(part, self.epsilon_label, seed)) for part in _known_by(task, impressions)],
            self.epsilon_label,
        )
        terms = non_personal_terms(task, impressions, evidence, public, prior.mean)
        shape = Weights.untrained(terms.shape[1], public.coordinates.shape[1], len(space.topics))
        weights = shape.filled(state["weights"])
        base = terms @ weights.terms + (public.coordinates @ weights.taste)[impressions.shown]
        row = impressions.impression_of_shown
        if self.ranking == "release":
            interest = _interest(prior, self._sketches(task, public, impressions, seed), impressions)
            articles = weights.article_scores(public.content, public.coordinates)
            return base + _products(articles, impressions.shown, interest, row)
        exact = public.exact_interest(impressions, prior.mean)
        tower = public.coordinates @ weights.towers
        away = mean_of_history(public.vectors, impressions) - (prior.mean @ space.topics.profiles).astype(np.float32)
        away[impressions.history_sizes == 0] = 0
        return (
            base
            + _products(tower, impressions.shown, exact, row)
            + weights.content * _products(public.vectors, impressions.shown, away, row)
        )

    def guarantee(self, state: State) -> Guarantee:
        """Each click pays once for a sketch and once for a label, whatever the server does with them."""
        each = "a reader's n clicks together n times as much" if math.isfinite(self.epsilon) else "without noise"
        return Guarantee(
            epsilon=self.epsilon,
            delta=0.0,
            unit=Unit.CLICK,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.PROVED,
            mechanism=f"one sketch and one label for each click; {each}",
        )

    def _sketches(self, task: Task, public: PublicSide, later: Impressions | None, seed: int) -> Sketches:
        plan = release_plan(task.data.splits["train"], later, self.epochs)
        send = topic_counts(public.topic, self.topic_count, self.epsilon_sketch)
        return collect_sketches(plan, len(task.data.readers), self.topic_count, send, seed)


def _known_by(task: Task, impressions: Impressions) -> list[Impressions]:
    """The splits that began before `impressions` ended; of each only what is earlier than an impression counts."""
    end = int(impressions.time[-1]) if len(impressions) else 0
    return [part for part in task.data.splits.values() if len(part) and int(part.time[0]) <= end]


def _interest(prior: TopicPrior, sketches: Sketches, impressions: Impressions) -> NDArray[np.float64]:
    """The interest of each impression's reader; zero, that of the mean reader, where nothing was released."""
    by_reader = prior.interest(sketches.values, sketches.clicks, sketches.releases)
    rows = sketches.rows_of(impressions)
    if not len(by_reader):
        return np.zeros((len(rows), len(prior.mean)))
    return np.where((rows >= 0)[:, None], by_reader[rows], 0.0)


def _products(
    articles: NDArray[np.floating], shown: NDArray[np.int32], readers: NDArray[np.floating], row: NDArray[np.int64]
) -> Scores:
    """⟨article, reader⟩ for each shown article, some at a time to bound memory."""
    scores = np.empty(len(shown))
    for start in range(0, len(shown), 200_000):
        part = slice(start, start + 200_000)
        scores[part] = np.einsum("nd,nd->n", articles[shown[part]], readers[row[part]])
    return scores
