"""What the reader's own history adds to an article's score. Nothing of it leaves the device.

    w_interest · v·(h̄ − centre) + w_mean · cos(v, h̄)/unit + w_nearest · max v·h/unit
      + w_category · ln taste + w_subcategory · ln taste within the category

with v the article's vector and h those of the kept clicks, h̄ their mean. In the first product the last `negative`
coordinates count negatively. The last four are the features of
`methods.front_page`; the first is the ranking of other methods. Taste is the share of the article's category in the
history over its public share, with five clicks' worth of the latter as a prior. Taste within the category is the same
of the article's section (its subcategory), in the history's clicks on sections of its category, with one click's worth
as a prior; it is 1, and its log 0, for a section that has no public share.

Vectors are whole numbers times a public scale, and products of whole numbers are exact: the browser's device
(`serving/web/device/personal.js`) computes the same numbers in the same order, and ranks the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.edge.reader.publisher_terms import PublisherTerms

Doubles = NDArray[np.float64]

PRIOR_CLICKS, SECTION_PRIOR = 5.0, 1.0
MAX_NEAREST = 32
"""Of how many of the latest clicks the nearest is looked for: more would make a phone wait."""
LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class ReadArticle:
    """A kept click as ranking sees it; a vector of another length than the terms' is not known."""

    vector: bytes
    category: str
    section: str = ""


def personal_scores(
    vectors: NDArray[np.int8],
    places: Sequence[tuple[str, str]],
    history: Sequence[ReadArticle],
    terms: PublisherTerms,
) -> Doubles:
    """The part of each candidate's score that the history makes; 0 without one.

    Args:
        vectors: A row for each candidate, in steps of the terms' scale.
        places: The category and the section of each candidate.
        history: The kept clicks, the oldest first.
        terms: Weights, scale, unit, centre, and the public shares of categories and sections.
    """
    own = np.zeros(len(vectors))
    if not history or not len(vectors):
        return own
    known = matrix([read.vector for read in history if len(read.vector) == terms.dimension], terms.dimension)
    if len(known):
        own += _similarities(vectors, known, terms)
    if terms.weights.category:
        taste = _tastes([read.category for read in history], terms)
        own += terms.weights.category * np.array([taste.get(name, taste[None]) for name, _ in places])
    if terms.weights.subcategory and terms.sections:
        within = _section_tastes([(read.category, read.section) for read in history], terms)
        own += terms.weights.subcategory * np.array([within.get(place, 0.0) for place in places])
    return own


def matrix(vectors: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
    """One row each; a vector of another length counts as zeros."""
    rows = [vector if len(vector) == dimension else bytes(dimension) for vector in vectors]
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), dimension)


def _similarities(vectors: NDArray[np.int8], known: NDArray[np.int8], terms: PublisherTerms) -> Doubles:
    weights, scale = terms.weights, terms.vector_scale
    total = known.sum(axis=0, dtype=np.int64).astype(np.float64)
    found = np.zeros(len(vectors))
    if weights.interest:
        interest = scale * total / len(known) - np.asarray(terms.centre)
        interest[len(interest) - min(terms.negative, len(interest)) :] *= -1
        found += weights.interest * scale * (vectors @ interest)
    length = math.sqrt(float(total @ total))
    if weights.mean and length > 0:
        found += weights.mean * (scale * (vectors @ total) / length) / terms.vector_unit
    if weights.nearest:
        near = vectors.astype(np.float32) @ known[-MAX_NEAREST:].astype(np.float32).T  # exact: below 127² · 1024 < 2²⁴
        found += weights.nearest * (scale * scale * near.max(axis=1).astype(np.float64)) / terms.vector_unit
    return found


def _tastes(read: Sequence[str], terms: PublisherTerms) -> dict[str | None, float]:
    """Ln taste of each public category; those that are not public count as one, under None."""
    rest = max(LEAST_SHARE, 1.0 - sum(terms.categories.values()))
    shares: dict[str | None, float] = {None: rest}
    shares.update(terms.categories.items())
    clicks = dict.fromkeys(shares, 0)
    for name in read:
        clicks[name if name in terms.categories else None] += 1
    prior = PRIOR_CLICKS
    return {
        name: math.log((clicks[name] + prior * share) / (len(read) + prior) / share) for name, share in shares.items()
    }


def _section_tastes(read: Sequence[tuple[str, str]], terms: PublisherTerms) -> dict[tuple[str, str], float]:
    """Ln taste of each public section, among what was read of the public sections of its category."""
    clicks = Counter(place for place in read if place in terms.sections)
    of_category = Counter(category for category, _ in clicks.elements())
    prior = SECTION_PRIOR
    return {
        place: math.log((clicks[place] + prior * share) / (of_category[place[0]] + prior) / share)
        for place, share in terms.sections.items()
    }
