"""Public topics: clusters of title vectors, made from public text alone.

A topic is a direction in the space of title vectors; an article belongs to the one it points to most. A device counts
clicks by topic, a server turns counts back into an interest vector through the topics' mean titles.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.text.word_vectors import unit_rows

_RESTARTS, _STEPS = 8, 15

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class TopicSpace:
    """K topics.

    Attributes:
        centres: A unit vector for each topic; an article belongs to the topic with the largest scalar product.
        profiles: The mean vector of each topic's titles.
    """

    centres: Vectors
    profiles: Vectors

    def __len__(self) -> int:
        return len(self.centres)

    @cached_property
    def version(self) -> str:
        """Names this space: counts in one space mean nothing in another."""
        parts = (self.centres, self.profiles)
        return hashlib.blake2b(b"".join(part.tobytes() for part in parts), digest_size=8).hexdigest()

    def topics_of(self, vectors: Vectors) -> NDArray[np.int64]:
        """The topic of each article (0 for an article without a title: every click must count somewhere)."""
        return np.asarray((vectors @ self.centres.T).argmax(axis=1), dtype=np.int64)


def find_topics(vectors: Vectors, count: int, seed: int = 0) -> TopicSpace:
    """The best of several spherical k-means of the titles' unit vectors (zero rows are no titles).

    Best means: titles are most similar to their centres. Nothing but public text decides, so topics cost no privacy.
    """
    titled = vectors[vectors.any(axis=1)]
    if len(titled) < count:
        raise ValueError(f"{count} topics cannot be found in {len(titled)} titles")
    rng = np.random.default_rng(seed)
    runs = [_spherical_k_means(titled, count, rng) for _ in range(_RESTARTS)]
    centres = max(runs, key=lambda centres: float((titled @ centres.T).max(axis=1).sum()))
    members = _memberships(titled, centres)
    sizes = np.maximum(members.sum(axis=1), 1)[:, None]
    return TopicSpace(centres, np.asarray((members @ titled) / sizes, dtype=np.float32))


def _spherical_k_means(titles: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    centres = titles[rng.choice(len(titles), count, replace=False)]
    for _ in range(_STEPS):
        total = np.asarray(_memberships(titles, centres) @ titles, dtype=np.float32)
        lost = ~total.any(axis=1)
        total[lost] = titles[rng.choice(len(titles), int(lost.sum()), replace=False)]
        centres = unit_rows(total)
    return centres


def _memberships(titles: Vectors, centres: Vectors) -> sparse.csr_array:
    """A row for each topic, with ones at its titles."""
    topic = (titles @ centres.T).argmax(axis=1)
    return sparse.csr_array(
        (np.ones(len(titles), np.float32), (topic, np.arange(len(titles)))), shape=(len(centres), len(titles))
    )
