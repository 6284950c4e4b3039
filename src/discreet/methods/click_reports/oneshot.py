"""What one-shot methods share: devices report once, the server learns and ranks from the reports alone."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.edge.reader.reports import LabelMechanism
from discreet.errors import DiscreetError
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.click_reports.click_evidence import Evidence
from discreet.methods.click_reports.collect import (
    Sender,
    Sketches,
    collect_labels,
    collect_sketches,
    release_plan,
)
from discreet.methods.click_reports.fit import Reported, Weights, train_on_reports
from discreet.methods.click_reports.interest import ReaderPrior
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import PublicSide, non_personal_terms
from discreet.methods.method import Method, Scores, State, TrainingTask
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit

_RANKINGS = ("release", "device")


@dataclass(frozen=True, kw_only=True)
class OneShot(Method):
    """A method that trains and serves on one-shot releases.

    Attributes:
        epsilon: The lifetime budget: sketch and label together.
        label_share: How much of it goes to the label; 0 reports no labels, and then content alone ranks.
        epochs: In how many sketches the history before the first impression is released.
        ranking: `release`: the server ranks by what was released. `device`: the device re-ranks by its exact history
            with the model trained on reports, and sends nothing more.
    """

    name: ClassVar[str]

    epsilon: float = 1.0
    label_share: float = 0.3
    epochs: int = 1
    ranking: str = "release"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise DiscreetError(f"{self.name}: epsilon must be above 0, not {self.epsilon}")
        if not 0 <= self.label_share < 1:
            raise DiscreetError(f"{self.name}: label_share must be at least 0 and below 1, not {self.label_share}")
        if self.epochs < 1:
            raise DiscreetError(f"{self.name}: epochs must be at least 1, not {self.epochs}")
        if self.ranking not in _RANKINGS:
            raise DiscreetError(f"{self.name}: ranking is one of {', '.join(_RANKINGS)}, not '{self.ranking}'")

    @property
    def epsilon_label(self) -> float:
        """ε of a label report; 0 for none."""
        return split(self.epsilon, self.label_share)[0]

    @property
    def epsilon_sketch(self) -> float:
        """ε of a sketch."""
        return split(self.epsilon, self.label_share)[1]

    @property
    @abstractmethod
    def topic_count(self) -> int:
        """How many numbers a sketch has."""

    @abstractmethod
    def sender(self, public: PublicSide, space: PublicSpace) -> Sender:
        """What a device makes of some clicks."""

    @abstractmethod
    def learn_readers(self, sketches: Sketches) -> ReaderPrior:
        """What the sketches tell of readers in general."""

    @abstractmethod
    def readers(self, state: State) -> ReaderPrior:
        """What `learn_readers` found, from a run's state."""

    @abstractmethod
    def label_mechanism(self, slate_size: int) -> LabelMechanism:
        """How a label is reported."""

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """Learn from the reports of the train split: topics from public text, then everything else from reports."""
        space = PublicSpace.of(task, self.topic_count)
        public = PublicSide.of(task, space)
        train = task.data.splits["train"]
        sketches = self._sketches(task, public, space, None, seed)
        readers = self.learn_readers(sketches)
        labels = collect_labels(train, self.epsilon_label, self.label_mechanism, seed)
        evidence = Evidence.of([(train, labels)], self.epsilon_label, self.label_mechanism)
        fitted = train_on_reports(
            Reported(
                train,
                labels.inside,
                labels.reported,
                non_personal_terms(task, train, evidence, public, readers.mean),
                public.content,
                public.coordinates,
                _interest(readers, sketches, train),
                self.epsilon_label,
            )
        )
        return {
            **space.to_state(),
            **readers.to_state(),
            "weights": fitted.weights.flat(),
            "heeds_sketches": np.array([fitted.uses_sketches]),
        }

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Score with what was released, or on the device with the exact history; labels count once they were sent."""
        space = PublicSpace.from_state(state)
        public = PublicSide.of(task, space)
        readers = self.readers(state)
        sent = [
            (part, collect_labels(part, self.epsilon_label, self.label_mechanism, seed))
            for part in _known_by(task, impressions)
        ]
        evidence = Evidence.of(sent, self.epsilon_label, self.label_mechanism)
        terms = non_personal_terms(task, impressions, evidence, public, readers.mean)
        shape = Weights.untrained(terms.shape[1], public.coordinates.shape[1], len(space.topics))
        weights = shape.filled(state["weights"])
        if self.ranking == "release" and not state["heeds_sketches"][0]:
            weights = weights.without_readers()
        base = terms @ weights.terms + (public.coordinates @ weights.taste)[impressions.shown]
        row = impressions.impression_of_shown
        if self.ranking == "release":
            interest = _interest(readers, self._sketches(task, public, space, impressions, seed), impressions)
            articles = weights.article_scores(public.content, public.coordinates)
            return base + _products(articles, impressions.shown, interest, row)
        exact = public.exact_interest(impressions, readers.mean)
        tower = public.coordinates @ weights.towers
        away = mean_of_history(public.vectors, impressions) - (readers.mean @ space.topics.profiles).astype(np.float32)
        away[impressions.history_sizes == 0] = 0
        return (
            base
            + _products(tower, impressions.shown, exact, row)
            + weights.content * _products(public.vectors, impressions.shown, away, row)
        )

    def guarantee(self, state: State) -> Guarantee:
        """Each click pays once for a sketch and once for a label, whatever the server does with them."""
        several = "a reader's n clicks together n times as much" if math.isfinite(self.epsilon) else "without noise"
        reports = "one sketch and one label" if self.label_share else "one sketch"
        return self._promise(Unit.CLICK, f"{reports} for each click; {several}")

    def _promise(self, unit: Unit, mechanism: str) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            delta=0.0,
            unit=unit,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.LIFETIME,
            status=Status.PROVED,
            mechanism=mechanism,
        )

    def release_plan(self, task: TrainingTask, later: Impressions | None) -> dict[int, list[NDArray[np.int32]]]:
        """The clicks of each release of each reader."""
        return release_plan(task.data.splits["train"], later, self.epochs)

    def _sketches(
        self, task: TrainingTask, public: PublicSide, space: PublicSpace, later: Impressions | None, seed: int
    ) -> Sketches:
        plan, send = self.release_plan(task, later), self.sender(public, space)
        return collect_sketches(plan, len(task.data.readers), self.topic_count, send, seed)


def split(epsilon: float, label_share: float) -> tuple[float, float]:
    """ε of a label and of a sketch: decimals that add up to `epsilon`, so that what is printed is computed with.

    The nearest floats of two decimals may add up to more. A ledger would refuse the second of them, so the label's
    last digit then goes down until their sum, rounded as ledgers round it, is at most `epsilon`.
    """
    if math.isinf(epsilon) or not label_share:
        return (epsilon if label_share else 0.0), epsilon
    whole, digits = Decimal(repr(float(epsilon))), Context(prec=6, rounding=ROUND_FLOOR)
    label = digits.multiply(whole, Decimal(repr(float(label_share))))
    while math.fsum((float(label), float(whole - label))) > epsilon:
        label = label.next_minus(digits)
    return float(label), float(whole - label)


def _known_by(task: TrainingTask, impressions: Impressions) -> list[Impressions]:
    """The splits that began before `impressions` ended; of each only what is earlier than an impression counts."""
    end = int(impressions.time[-1]) if len(impressions) else 0
    return [part for part in task.data.splits.values() if len(part) and int(part.time[0]) <= end]


def _interest(readers: ReaderPrior, sketches: Sketches, impressions: Impressions) -> NDArray[np.float64]:
    """The interest of each impression's reader; zero, that of the mean reader, where nothing was released."""
    by_reader = readers.interest(sketches.values, sketches.clicks, sketches.releases)
    rows = sketches.rows_of(impressions)
    if not len(by_reader):
        return np.zeros((len(rows), len(readers.mean)))
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
