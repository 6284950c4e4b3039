"""The model of `front_page`, with or without a run: public weights over public text, and popularity from noised sums.

The device ranks by the base and by what it makes of its own history (`edge.reader.personal_scores`). The weights are
those of `front_page`, which were fitted to generated worlds: no click has a part in them. A run can bring weights and a
head (`front_page_head`) that it has learnt, and sums can renew both. The base is recency and
popularity, a log rate that sums have taught (`serving.learning`). Before any sum has come it is the same for all.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.front_page.history_features import FEATURES
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY, WeightPrior
from discreet.privacy.guarantee import Guarantee
from discreet.serving.device_only import DeviceOnly
from discreet.serving.front_page_head import MAX_DIMENSION, FrontPageHead
from discreet.serving.model import Doubles, Floats
from discreet.text.encode import encode_texts, identity
from discreet.text.topics import TopicSpace, find_topics
from discreet.text.word_vectors import unit_rows

MAX_REFERENCE = 500
"""Titles that say what titles of this publisher have in common."""
_MAX_TOPICS, _TITLES_A_TOPIC = 32, 8
_MIN_PAIRS, _MIN_UNIT = 100, 0.05


@dataclass(frozen=True, eq=False)
class PublicModel(DeviceOnly):
    """Ranks a publisher's articles with public weights, or with those that sums have taught.

    Attributes:
        reference: Some of the publisher's own titles, the same for the life of a database: titles that come later are
            encoded in their company, so that vectors made at different times can be compared.
        text_source: Where title vectors come from.
        popularity_weight: How much popularity counts, times its weight among the features.
        weights: Of the features (`history_features.FEATURES`), and of popularity, which comes last.
        training: What weights and head cost readers, where a run learnt them.
        head: The head that a run has learnt, or one that begins at zero; title vectors are centred as it says.
    """

    reference: tuple[str, ...]
    text_source: str
    popularity_weight: float = 1.0
    weights: tuple[float, ...] = tuple(WITH_POPULARITY.tolist())
    training: Guarantee | None = None
    head: FrontPageHead | None = None

    kind = "public"
    mechanism = "the device ranks by itself"

    @cached_property
    def version(self) -> str:
        """Names the model: its text source, its reference titles, the weights that it begins with, its head."""
        weights = dict(zip(FEATURES, self.weights[:-1], strict=True))
        parts = [identity(self.text_source), self.reference, weights, self._weight_of_popularity]
        parts += [] if self.head is None else [self.head.version]
        return hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()

    def weight_prior(self, *, with_head: bool) -> WeightPrior:
        """The weights that it ranks with before any sum; with a head, what its directions count as well."""
        first = np.array(self.weights)
        if not with_head or self.head is None:
            return WeightPrior(first)
        units = self.head.variances(self._reference_vectors) / self._head_units**2
        return WeightPrior.with_head(first, self.head_weights, units)

    def ranking_with(self, weights: Doubles) -> PublicModel:
        """The same model, under the same name, with weights that sums have taught; those of a head come last."""
        size = len(self.weights)
        first = np.append(self.weights, self.head_weights)[: len(weights)]
        if np.array_equal(weights, first):
            return self
        found = replace(self, weights=tuple(weights[:size].tolist()))
        if self.head is not None and len(weights) > size:
            found = replace(found, head=replace(self.head, values=weights[size:] / self._head_units**2))
        for name in ("version", "space", "unit", "text_centre", "_head_units"):  # they do not change with the weights
            found.__dict__[name] = getattr(self, name)
        return found

    @property
    def _weight_of_popularity(self) -> float:
        return self.popularity_weight * self.weights[-1]

    @cached_property
    def text_centre(self) -> Floats:
        """What titles have in common, counted as if ten more lay at zero: few titles say little about it."""
        encoded = self._encoded(())
        if self.head is not None:
            return self.head.text_centre
        return np.asarray(encoded.sum(axis=0) / (len(encoded) + 10), dtype=np.float32)

    @cached_property
    def _reference_vectors(self) -> Floats:
        return unit_rows(self._encoded(()) - self.text_centre)

    @cached_property
    def space(self) -> TopicSpace:
        """Public topics of the reference titles: for categories that a reader declares no secret, and nothing else."""
        vectors = self._reference_vectors
        vectors = vectors[vectors.any(axis=1)]
        if len(vectors) < 2:
            vectors = np.vstack((vectors, np.eye(2, vectors.shape[1], dtype=np.float32)))
        return find_topics(vectors, min(_MAX_TOPICS, max(2, len(vectors) // _TITLES_A_TOPIC)))

    @property
    def personal_deviation(self) -> float:
        """The standard deviation of the personal part of a score: its features have about unit variance.

        The two similarities go together, the category hardly with them. Sections are left out: not every site has them.
        """
        mean, nearest, category = (self.weights[FEATURES.index(name)] for name in ("mean", "nearest", "category"))
        return math.hypot(mean + nearest, category)

    @property
    def device_weights(self) -> dict[str, float]:
        """Those of the features that a device makes of its history; recency and popularity are in the base."""
        own = dict(zip(FEATURES, self.weights[:-1], strict=True))
        return {**own, "popularity": self._weight_of_popularity, "head": float(self.head is not None)}

    @property
    def head_weights(self) -> Doubles:
        """What each of the coordinates counts that the head adds to an article's vector."""
        return np.zeros(0) if self.head is None else self.head.values * self._head_units**2

    @cached_property
    def _head_units(self) -> Doubles:
        """The unit of each of these coordinates: in it they get as large as those of titles."""
        if self.head is None:
            return np.zeros(0)
        vectors = self._reference_vectors
        return self.head.largest(vectors) / (float(np.abs(vectors).max(initial=0.0)) or 1.0)

    @cached_property
    def unit(self) -> float:
        """How much the similarity of two titles varies."""
        vectors = self._reference_vectors
        alike = (vectors @ vectors.T)[~np.eye(len(vectors), dtype=np.bool_)]
        return max(float(alike.std()) if len(alike) >= _MIN_PAIRS else 0.0, _MIN_UNIT)

    @property
    def centre(self) -> Floats:
        """Title vectors are centred already."""
        return np.zeros(len(self.text_centre) + len(self.head_weights), np.float32)

    def title_vectors(self, titles: Sequence[str], topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """Unit vectors of titles, from public text; zero for a title without words that are known."""
        encoded = self._encoded(titles)[len(self.reference) :]
        vectors = np.zeros_like(encoded)
        titled = encoded.any(axis=1)
        vectors[titled] = unit_rows(encoded[titled] - self.text_centre)
        return vectors

    def coordinates(self, vectors: Floats, topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """The vectors themselves: too few titles are known to find the axes on which later ones differ.

        Those of the head come after them.
        """
        if self.head is None:
            return vectors
        return np.hstack((vectors, self.head.coordinates(vectors, topics) / self._head_units)).astype(np.float32)

    def article_scores(self, vectors: Floats, categories: Sequence[str]) -> Floats:
        """The similarity with each topic's mean title."""
        weight = float(WITH_POPULARITY[0] + WITH_POPULARITY[1]) / self.unit
        return np.asarray(weight * (vectors @ self.space.profiles.T), dtype=np.float32)

    def fixed_scores(self, vectors: Floats, categories: Sequence[str]) -> Doubles:
        """Nothing: before any sum has come, no text is known to be liked more than another."""
        return np.zeros(len(vectors))

    def base_scores(
        self,
        fixed: Doubles,
        published: NDArray[np.int64],
        first_shown: NDArray[np.int64],
        shows: NDArray[np.int64],
        popularity: Doubles,
        now: int,
    ) -> Doubles:
        """Recency, and popularity as a log rate."""
        return fixed + self.recency(published, first_shown, now) + self._weight_of_popularity * popularity

    def recency(self, published: NDArray[np.int64], first_shown: NDArray[np.int64], now: int) -> Doubles:
        """Minus the log of the age in hours, weighted. Age counts from publication, or else from when it was seen."""
        since = np.minimum(np.where(published >= 0, published, first_shown), now)
        return np.asarray(-self.weights[FEATURES.index("recency")] * np.log1p((now - since) / 3600.0))

    def topic_features(self, scores: Floats) -> Doubles:
        """Similarities with topics (`article_scores`), centred and of mean square length 1 over reference titles."""
        mean, length = self._topic_scale
        return np.asarray((scores.astype(np.float64) - mean) / length)

    @cached_property
    def _topic_scale(self) -> tuple[Doubles, float]:
        scores = self.article_scores(self._reference_vectors, ()).astype(np.float64)
        return scores.mean(axis=0), float(np.sqrt(scores.var(axis=0).sum())) or 1.0

    def _encoded(self, titles: Sequence[str]) -> Floats:
        encoded = encode_texts([*self.reference, *titles], self.text_source).matrix
        if encoded.shape[1] > MAX_DIMENSION:
            raise DiscreetError(
                f"title vectors have {encoded.shape[1]} dimensions; devices take at most {MAX_DIMENSION}"
            )
        if self.head is not None and encoded.shape[1] != len(self.head.text_centre):
            raise DiscreetError(
                f"title vectors from '{self.text_source}' have {encoded.shape[1]} dimensions here and had"
                f" {len(self.head.text_centre)} in training; install what the run was trained with"
            )
        return encoded
