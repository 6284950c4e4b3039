"""What is known of the articles of a data set, and the terms of a score that concern no reader."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.methods.baselines import Recency
from discreet.methods.baselines import event_counts as known
from discreet.methods.click_reports.click_evidence import Evidence
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.method import TrainingTask

Floats = NDArray[np.float64]

TERMS = ("recency", "shows", "popularity", "common taste")


@dataclass(frozen=True, eq=False)
class PublicSide:
    """Every article of a data set, as the public space sees it.

    Attributes:
        vectors: The titles' unit vectors.
        topic: The topic of each article.
        content: Similarity with each topic's mean title.
        coordinates: Title and category in few numbers of unit variance.
    """

    vectors: NDArray[np.float32]
    topic: NDArray[np.int64]
    content: Floats
    coordinates: Floats

    @classmethod
    def of(cls, task: TrainingTask, space: PublicSpace) -> PublicSide:
        """See all articles of the task."""
        vectors = task.public_vectors.matrix
        topic = space.topics.topics_of(vectors)
        return cls(vectors, topic, space.content(vectors), space.coordinates(vectors, task.data.articles.categories))

    def exact_interest(self, impressions: Impressions, mean: Floats) -> Floats:
        """The share of each topic in each history, minus that in the mean reader's; only a device can compute it."""
        interest = np.zeros((len(impressions), len(mean)))
        for i in np.flatnonzero(impressions.history_sizes).tolist():
            topics = self.topic[impressions.history(i)]
            interest[i] = np.bincount(topics, minlength=len(mean)) / len(topics) - mean
        return interest


def non_personal_terms(
    task: TrainingTask, impressions: Impressions, evidence: Evidence, public: PublicSide, mean: Floats
) -> Floats:
    """For each shown article: recency, how often it was shown, popularity, and what the mean reader reads (`TERMS`)."""
    moment = np.repeat(impressions.time, impressions.slate_sizes)
    shows = known.shows(task.data.splits.values()).before(impressions.shown, moment)
    return np.stack(
        (
            Recency().score(task, {}, impressions, 0),
            np.log1p(shows),
            evidence.before(impressions.shown, moment),
            (public.content @ mean)[impressions.shown],
        ),
        axis=1,
    )
