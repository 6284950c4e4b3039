"""A trained run as a server needs it: articles to scores, releases to interest. All of it is public or released."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.click_reports.click_reports import ClickReports
from discreet.methods.click_reports.fit import Weights
from discreet.methods.click_reports.interest import TopicPrior
from discreet.methods.click_reports.public import PublicSpace
from discreet.methods.click_reports.public_side import TERMS
from discreet.methods.run import Run
from discreet.privacy.guarantee import Guarantee
from discreet.text.topics import TopicSpace

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ServedModel:
    """The score of an article for a reader is `base_scores` + `article_scores` @ `interest`."""

    method: ClickReports
    public: PublicSpace
    prior: TopicPrior
    weights: Weights
    uses_sketches: bool
    text_source: str

    @classmethod
    def from_run(cls, run: Run) -> ServedModel:
        """The model of a run of click reports; other methods are refused."""
        if not isinstance(run.method, ClickReports):
            raise DiscreetError(f"a run of {run.method.name} cannot be served; train one with --method click_reports")
        public = PublicSpace.from_state(run.state)
        prior = run.method.readers(run.state)
        shape = Weights.untrained(len(TERMS), len(public.mean), len(public.topics))
        weights = shape.filled(run.state["weights"])
        return cls(run.method, public, prior, weights, bool(run.state["heeds_sketches"][0]), run.text)

    @cached_property
    def version(self) -> str:
        """Names the trained model."""
        learnt = (self.weights.flat(), self.prior.mean, np.array([self.prior.concentration]))
        content = self.space.version.encode() + b"".join(part.tobytes() for part in learnt)
        return hashlib.blake2b(content, digest_size=8).hexdigest()

    @property
    def space(self) -> TopicSpace:
        """The topics that devices count by."""
        return self.public.topics

    @property
    def epsilon_sketch(self) -> float:
        """ε of a sketch."""
        return self.method.epsilon_sketch

    @property
    def epsilon_label(self) -> float:
        """ε of a label report; 0 if none are wanted."""
        return self.method.epsilon_label

    @property
    def uses_labels(self) -> bool:
        """Whether popularity counts for anything in this model."""
        return bool(self.weights.terms[TERMS.index("popularity")])

    @property
    def hide_length(self) -> bool:
        """Whether devices hide how much was read; runs are trained on sketches whose length is public."""
        return False

    @property
    def device_weights(self) -> dict[str, float]:
        """What the similarity of titles counts for, where a device ranks."""
        return {"interest": self.weights.content}

    @property
    def centre(self) -> Vectors:
        """The interest of the mean reader, in the coordinates that devices are given."""
        return np.asarray((self.prior.mean @ self.space.profiles) @ self.public.axes.T, dtype=np.float32)

    def title_vectors(self, titles: Sequence[str], topics: Sequence[tuple[str, str]] = ()) -> Vectors:
        """Unit vectors of titles, from public text."""
        return self.public.title_vectors(titles, self.text_source)

    def coordinates(self, vectors: Vectors, topics: Sequence[tuple[str, str]] = ()) -> Vectors:
        """What devices are given of each article: its place on the principal axes."""
        return np.asarray(vectors @ self.public.axes.T, dtype=np.float32)

    def article_scores(self, vectors: Vectors, categories: Sequence[str]) -> Vectors:
        """The score of each article for one unit of interest in each topic."""
        weights = self.weights if self.uses_sketches else self.weights.without_readers()
        scores = weights.article_scores(self.public.content(vectors), self.public.coordinates(vectors, categories))
        return scores.astype(np.float32)

    def fixed_scores(self, vectors: Vectors, categories: Sequence[str]) -> Floats:
        """The part of the non-personal score that does not change with time: what all readers like."""
        common = self.public.content(vectors) @ self.prior.mean
        liked = self.public.coordinates(vectors, categories) @ self.weights.taste
        return np.asarray(liked + self.weights.terms[TERMS.index("common taste")] * common)

    def base_scores(
        self,
        fixed: Floats,
        published: NDArray[np.int64],
        first_shown: NDArray[np.int64],
        shows: NDArray[np.int64],
        popularity: Floats,
        now: int,
    ) -> Floats:
        """The non-personal score at this moment: the fixed part, recency, shows, and the click rate over the mean."""
        since = np.where(published >= 0, np.minimum(published, now), np.where(first_shown >= 0, first_shown, now))
        recency = -np.log1p(np.maximum(now - since, 0) / 3600.0)
        terms = np.stack((recency, np.log1p(shows), popularity), axis=-1)
        return np.asarray(fixed + terms @ self.weights.terms[:3], dtype=np.float64)

    def interest(self, counts: NDArray[np.int64], clicks: int | None, releases: int) -> Floats:
        """What the sum of a reader's released counts says of the reader, beyond what is true of all.

        Where the number of clicks is secret, the sum of the counts stands for it.
        """
        length = max(1, int(counts.sum())) if clicks is None else clicks
        one = np.array([length], np.int64), np.array([releases], np.int64)
        return np.asarray(self.prior.interest(counts[None].astype(np.float64), *one)[0], dtype=np.float64)

    def guarantee(self) -> Guarantee:
        """What a reader is promised."""
        return self.method.guarantee({})
