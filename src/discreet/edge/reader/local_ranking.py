"""The ranking that a device does by itself.

The score of an article for a reader is its score for everybody, the base, and what the reader's own history adds
(`personal_scores`). Without clicks the score is the base.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.first_page import FIRST_PAGE, FirstPage
from discreet.edge.reader.personal_scores import ReadArticle, head_features, history_features, matrix, personal_scores
from discreet.edge.reader.publisher_terms import PublisherTerms

BEST, CHOSEN = 500, 100
MAX_FEATURE = 1e6


@dataclass(frozen=True)
class Ranked:
    """An article with its score, and how much of it the reader's own clicks made."""

    article: Article
    score: float
    personal: float


def rank(
    candidates: Sequence[Article],
    bases: Sequence[float],
    history: Sequence[ReadArticle],
    read: Collection[str],
    terms: PublisherTerms,
    first_page: FirstPage = FIRST_PAGE,
) -> list[Ranked]:
    """The candidates that were not read, the best first; equals in the order in which they came.

    The first places are those that `first_page` allows.

    Args:
        candidates: The articles.
        bases: The score of each for everybody.
        history: The kept clicks, the oldest first.
        read: Ids and addresses to leave out.
        terms: Weights, what they need, and diversity.
        first_page: The limits of the first places.
    """
    vectors = matrix([article.vector for article in candidates], terms.dimension)
    own = personal_scores(vectors, [(article.category, article.section) for article in candidates], history, terms)
    scores = np.asarray(bases, np.float64) + own
    order = np.argsort(-scores, kind="stable")
    if not read and terms.diversity > 0:
        order = in_turns(order, scores, [article.category for article in candidates], terms.diversity)
    unread = [i for i in order.tolist() if not candidates[i].is_any_of(read)]
    sections, published = [one.category for one in candidates], [one.published for one in candidates]
    shown = first_page.arranged(unread, sections, published)
    return [Ranked(candidates[i], float(scores[i]), float(own[i])) for i in shown]


def shown_features(
    articles: Sequence[Article], history: Sequence[ReadArticle], terms: PublisherTerms
) -> NDArray[np.float64]:
    """What the scores of some articles are made of: a row for each, as `protocol.weight_cells.FEATURES` names them.

    What each direction of the head adds comes after them. Recency and popularity come from the base score, whose
    weights the terms tell; without a weight a feature is 0.
    """
    vectors = matrix([article.vector for article in articles], terms.dimension)
    own = history_features(vectors, [(article.category, article.section) for article in articles], history, terms)
    recency, popularity = terms.weights.recency, terms.weights.popularity
    known = np.array([article.popularity for article in articles], np.float64)
    rest = np.array([article.base for article in articles], np.float64) - known
    with np.errstate(over="ignore"):
        age = rest / recency if recency else 0 * rest
        rate = known / popularity if popularity else 0 * known
    found = np.column_stack((own[:, :3], age, own[:, 3], rate, head_features(vectors, history, terms)))
    return np.clip(np.nan_to_num(found), -MAX_FEATURE, MAX_FEATURE)


def in_turns(
    order: NDArray[np.intp], scores: NDArray[np.float64], categories: Sequence[str], diversity: float
) -> NDArray[np.intp]:
    """The order for a reader of whom nothing is known yet: the first hundred with categories in turns.

    They are chosen one after the other from the 500 best: the largest score − d · s · n, with s the standard deviation
    of the 500 scores and n how many of the article's category were chosen before.
    """
    best = order[:BEST]
    if not len(best):
        return order
    named = np.unique([categories[i] for i in best.tolist()], return_inverse=True)[1]
    weight = diversity * float(np.std(scores[best]))
    chosen_before = np.zeros(len(best))
    free, chosen = np.ones(len(best), bool), []
    for _ in range(min(CHOSEN, len(best))):
        value = np.where(free, scores[best] - weight * chosen_before, -np.inf)
        place = int(np.argmax(value))
        chosen.append(place)
        free[place] = False
        chosen_before[named == named[place]] += 1
    return np.concatenate((best[chosen], best[free], order[BEST:]))
