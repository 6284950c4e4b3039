"""What the reader's own history adds to an article's score. Nothing of it leaves the device.

    w_interest · v·(h̄ − centre) + w_mean · (cos(v, h̄)/unit) + w_nearest · (max v·h/unit)
      + w_category · ln taste + w_subcategory · ln taste within the category + w_head · Σ λₖ z̄ₖ zₖ

with v the article's vector and h those of the kept clicks, h̄ their mean. In the first product the last `negative`
coordinates count negatively. The four in the middle are the features of `methods.front_page`; the first is the ranking
of other methods. Where the terms have a head λ, the last coordinates of a vector are z, and v is what comes before
them. Taste is the share of the article's category in the
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
    own, weights = _interests(vectors, history, terms) + _head(vectors, history, terms), terms.weights
    features = history_features(vectors, places, history, terms)
    for column, weight in enumerate((weights.mean, weights.nearest, weights.category, weights.subcategory)):
        own += weight * features[:, column]
    return own


def history_features(
    vectors: NDArray[np.int8],
    places: Sequence[tuple[str, str]],
    history: Sequence[ReadArticle],
    terms: PublisherTerms,
) -> Doubles:
    """Of each candidate the four features of `front_page`; a feature that has no weight is 0."""
    found, weights = np.zeros((len(vectors), 4)), terms.weights
    if not history or not len(vectors):
        return found
    text = terms.text_dimension
    known, vectors = _known(history, terms)[:, :text], vectors[:, :text]
    if len(known):
        scale, total = terms.vector_scale, known.sum(axis=0, dtype=np.int64).astype(np.float64)
        length = math.sqrt(float(total @ total))
        if weights.mean and length > 0:
            found[:, 0] = (scale * (vectors @ total) / length) / terms.vector_unit
        if weights.nearest:
            latest = known[-MAX_NEAREST:].astype(np.float32)
            near = vectors.astype(np.float32) @ latest.T  # exact: below 127² · 1024 < 2²⁴
            found[:, 1] = (scale * scale * near.max(axis=1).astype(np.float64)) / terms.vector_unit
    if weights.category:
        taste = _tastes([read.category for read in history], terms)
        found[:, 2] = [taste.get(name, taste[None]) for name, _ in places]
    if weights.subcategory and terms.sections:
        within = _section_tastes([(read.category, read.section) for read in history], terms)
        found[:, 3] = [within.get(place, 0.0) for place in places]
    return found


def head_features(vectors: NDArray[np.int8], history: Sequence[ReadArticle], terms: PublisherTerms) -> Doubles:
    """Of each candidate what each direction of the head adds, z̄ₖzₖ, before its weight; 0 where the head has none."""
    known, scale, text = _known(history, terms), terms.vector_scale, terms.text_dimension
    if not terms.weights.head or not len(known):
        return np.zeros((len(vectors), len(terms.head)))
    total = known[:, text:].sum(axis=0, dtype=np.int64).astype(np.float64)
    return np.asarray((scale * total / len(known)) * (scale * vectors[:, text:].astype(np.float64)))


def matrix(vectors: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
    """One row each; a vector of another length counts as zeros."""
    rows = [vector if len(vector) == dimension else bytes(dimension) for vector in vectors]
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), dimension)


def _known(history: Sequence[ReadArticle], terms: PublisherTerms) -> NDArray[np.int8]:
    return matrix([read.vector for read in history if len(read.vector) == terms.dimension], terms.dimension)


def _interests(vectors: NDArray[np.int8], history: Sequence[ReadArticle], terms: PublisherTerms) -> Doubles:
    known, weight, scale = _known(history, terms), terms.weights.interest, terms.vector_scale
    if not weight or not len(known) or not len(vectors):
        return np.zeros(len(vectors))
    text = terms.text_dimension
    total = known[:, :text].sum(axis=0, dtype=np.int64).astype(np.float64)
    interest = scale * total / len(known) - np.asarray(terms.centre[:text])
    interest[len(interest) - min(terms.negative, len(interest)) :] *= -1
    return np.asarray(weight * scale * (vectors[:, :text] @ interest))


def _head(vectors: NDArray[np.int8], history: Sequence[ReadArticle], terms: PublisherTerms) -> Doubles:
    known, weight, scale, text = _known(history, terms), terms.weights.head, terms.vector_scale, terms.text_dimension
    if not weight or not terms.head or not len(known):
        return np.zeros(len(vectors))
    total = known[:, text:].sum(axis=0, dtype=np.int64).astype(np.float64)
    wanted = np.asarray(terms.head) * (scale * total / len(known))
    return np.asarray(weight * scale * (vectors[:, text:] @ wanted))


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
