"""Simple rankings that every private method must beat to be worth its ε.

None of them hides a click: popularity and the combination are what a publisher has who simply collects everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.baselines import event_counts as known
from discreet.methods.baselines.conditional_logit import fit_choice_weights
from discreet.methods.baselines.similarity import history_similarity
from discreet.methods.method import Method, Scores, State, TrainingTask

_MAX_HOURS = 87_660
"""Ten years."""


class Baseline(Method):
    """A ranking that promises no privacy: clicks are simply collected."""


@dataclass(frozen=True)
class Random(Baseline):
    """A random order: AUC 0.5, or the evaluation is wrong."""

    name = "random"

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """A uniform score for each shown article."""
        return np.random.default_rng(seed).random(len(impressions.shown))


@dataclass(frozen=True)
class Popularity(Baseline):
    """The click-through rate that was known at that time, shrunk towards the mean of all articles.

    `prior_shows` is how many shows' worth of the mean rate each article starts with.
    """

    prior_shows: float = 20.0
    name = "popularity"

    def __post_init__(self) -> None:
        if not 0 < self.prior_shows < math.inf:
            raise DiscreetError(f"popularity: prior_shows must be above 0 and finite, not {self.prior_shows}")

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Log of the shrunk rate, from all impressions before each impression's own time."""
        splits = list(task.data.splits.values())
        moment = np.repeat(impressions.time, impressions.slate_sizes)
        shown = known.shows(splits).before(impressions.shown, moment)
        clicked = known.clicks(splits).before(impressions.shown, moment)
        train = task.data.splits["train"]
        mean_rate = max(float(train.clicked.mean()), 1e-6)
        return np.log((clicked + self.prior_shows * mean_rate) / (shown + self.prior_shows))


@dataclass(frozen=True)
class Recency(Baseline):
    """The newest first: by time of publication, or where that is unknown by when the article was first shown."""

    name = "recency"

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Minus the log of the age in hours."""
        moment = np.repeat(impressions.time, impressions.slate_sizes)
        published = task.data.articles.published[impressions.shown]
        first_shown = known.public_shows(task.data.splits.values()).first(impressions.shown, moment)
        since = np.where(published >= 0, np.minimum(published, moment), first_shown)
        return -np.log1p((moment - since) / 3600.0)


@dataclass(frozen=True)
class Exposure(Baseline):
    """What was shown most lately comes first: it ranks as the publisher's own slates do.

    No click has a part in it where a site sent the slates. Where slates were sampled it says what was drawn.
    """

    hours: float = 12.0
    name = "exposure"

    def __post_init__(self) -> None:
        if not 0 < self.hours <= _MAX_HOURS:
            raise DiscreetError(f"exposure: hours must be above 0 and at most {_MAX_HOURS}, not {self.hours}")

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Log of how often each article was shown in the last hours; a show of its own is a prior."""
        shows = known.public_shows(task.data.splits.values())
        moment = np.repeat(impressions.time, impressions.slate_sizes)
        before = shows.before(impressions.shown, moment - round(3600 * self.hours))
        return np.asarray(np.log1p(shows.before(impressions.shown, moment) - before))


@dataclass(frozen=True)
class Content(Baseline):
    """Similarity of the candidate's title with the mean title of the reader's history; no training at all."""

    name = "content"

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Cosine of candidate and mean history; 0 for a reader without history."""
        return history_similarity(task.text_vectors.matrix, impressions)


@dataclass(frozen=True)
class Combined(Baseline):
    """The best linear combination of content, popularity and recency, with weights fitted on train only.

    `exposure` adds how often each article was shown lately, on the time scales that `front_page` has.
    """

    exposure: bool = False
    name = "combined"

    @property
    def parts(self) -> tuple[Baseline, ...]:
        """What is combined."""
        lately = [Exposure(hours) for hours in (0.25, 2.0, 12.0)] if self.exposure else []
        return Content(), Popularity(), Recency(), *lately

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """Fit one weight for each part by the likelihood of the clicks (see `conditional_logit`)."""
        train = task.data.splits["train"]
        features = np.stack([part.score(task, {}, train, seed) for part in self.parts], axis=1)
        return {"weights": fit_choice_weights(features, train)}

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """The weighted sum of the parts' scores."""
        scores = [part.score(task, {}, impressions, seed) for part in self.parts]
        return sum((w * s for w, s in zip(state["weights"], scores, strict=True)), np.zeros(len(impressions.shown)))
