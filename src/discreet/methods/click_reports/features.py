"""The public side of a score: topics and coordinates of articles, and terms that concern no reader."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods import known
from discreet.methods.base import Task
from discreet.methods.baselines import Recency
from discreet.methods.click_reports.popularity import Evidence
from discreet.text.topics import TopicSpace, find_topics

Floats = NDArray[np.float64]

_TITLES = 8000

AXES = 32
"""Principal axes of title vectors that make up an article's coordinates, beside its category."""

TERMS = ("recency", "shows", "popularity", "common taste")


@dataclass(frozen=True, eq=False)
class PublicSide:
    """What is known of each article without any reader.

    Attributes:
        vectors: The titles' unit vectors.
        topic: The topic of each article.
        content: Similarity with each topic's mean title.
        axes: The principal axes of the titles.
        coordinates: Title and category in few numbers of unit variance.
    """

    vectors: NDArray[np.float32]
    topic: NDArray[np.int64]
    content: Floats
    axes: NDArray[np.float32]
    coordinates: Floats

    @classmethod
    def of(cls, task: Task, space: TopicSpace, axes: NDArray[np.float32] | None = None) -> PublicSide:
        """Everything that follows from public text; the axes are found anew unless given."""
        vectors = task.public_vectors.matrix
        axes = principal_axes(vectors) if axes is None else axes
        coordinates = np.hstack(
            (standardised(vectors @ axes.T), standardised(_categories(task.data.articles.categories)))
        )
        content = (vectors @ space.profiles.T).astype(np.float64)
        return cls(vectors, space.topics_of(vectors), content, axes, np.ascontiguousarray(coordinates))

    def exact_interest(self, impressions: Impressions, mean: Floats) -> Floats:
        """The share of each topic in each history, minus that in the mean reader's; only a device can compute it."""
        interest = np.zeros((len(impressions), len(mean)))
        for i in np.flatnonzero(impressions.history_sizes).tolist():
            topics = self.topic[impressions.history(i)]
            interest[i] = np.bincount(topics, minlength=len(mean)) / len(topics) - mean
        return interest


def topics_for(task: Task, count: int) -> TopicSpace:
    """Topics of the titles that readers meet: half of them drawn from the catalogue, half from what was shown.

    Old articles are in the histories, new ones in the slates; and what is shown often matters more. All of it is public.
    """
    vectors = task.public_vectors.matrix
    rng = np.random.default_rng(0)
    titled = np.flatnonzero(vectors.any(axis=1))
    if len(titled) < count:
        raise DiscreetError(f"{task.data.name}: {count} topics cannot be found in {len(titled)} titles; set topics")
    shown = task.data.splits["train"].shown
    drawn = [rng.choice(some, _TITLES) for some in (titled, shown) if len(some)]
    return find_topics(vectors[np.concatenate(drawn)], count)


def principal_axes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The directions in which titles differ most."""
    second_moment = vectors.T.astype(np.float64) @ vectors
    return np.asarray(np.linalg.eigh(second_moment)[1][:, ::-1][:, :AXES].T, dtype=np.float32)


def standardised(columns: NDArray[np.floating]) -> Floats:
    """Columns of mean 0 and variance 1; a column that does not vary is 0."""
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 1e-9, spread, np.inf), dtype=np.float64)


def _categories(categories: object) -> Floats:
    names, number = np.unique(np.asarray(categories, dtype=np.str_), return_inverse=True)
    return np.eye(len(names))[number]


def non_personal_terms(
    task: Task, impressions: Impressions, evidence: Evidence, public: PublicSide, mean: Floats
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
