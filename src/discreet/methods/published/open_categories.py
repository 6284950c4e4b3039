"""Privacy by category (PrivateRec, section 3.1): a reader keeps some categories secret and declares others open.

The paper has one sentence on it: the budget is spent for sensitive categories only. This is our reading of it. A click
on an article of an open category is sent as it is. The noised attention of Algorithm 2 is released in addition.

**What holds.** Take two histories that differ in one click, on an article of a secret category in both, or on padding
in one of them. What is sent openly is the same for both, because it is a function of the open clicks alone. So the pair
(open clicks, release) is as private for this click as the release: ε. Clicks on open articles have no protection, and
a reader who has any is not protected as a user: ε = ∞. All secret clicks of a reader together are protected too,
since the attention's sensitivity is a diameter: with the ε₀ of the noise alone, without the padding's amplification.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.errors import DiscreetError

Flags = NDArray[np.bool_]


def named_categories(names: str) -> frozenset[str]:
    """The categories in a setting such as `sports+entertainment`."""
    return frozenset(name.strip() for name in names.split("+") if name.strip())


def open_articles(categories: Sequence[str], names: Collection[str]) -> Flags:
    """Which articles are of an open category."""
    return np.array([category in names for category in categories], np.bool_)


def check_categories(categories: Collection[str], names: Collection[str]) -> None:
    """Refuse an open category that no article has: it would be a slip of the pen."""
    known = set(categories)
    if unknown := sorted(set(names) - known):
        there = ", ".join(sorted(known)) or "none"
        raise DiscreetError(f"open_categories: no article is of category '{unknown[0]}'; there are {there}")


def only_clicks(impressions: Impressions, articles: Flags) -> Impressions:
    """The same impressions, with histories of the clicks on some of the articles alone."""
    kept = articles[impressions.timeline]
    before = np.concatenate(([0], np.cumsum(kept)))
    return replace(
        impressions,
        timeline=impressions.timeline[kept],
        history_start=before[impressions.history_start],
        history_stop=before[impressions.history_stop],
    )


def open_share(clicks: NDArray[np.integer], noise_variance: float) -> NDArray[np.float64]:
    """How much a server relies on a reader's open clicks rather than on the release: by inverse variance.

    An attention weight lies between 0 and 1, so the mean over n clicks has a variance of at most 1/(4n). It is a
    function of what was sent, so it costs nothing.
    """
    worth = 4 * np.asarray(clicks, np.float64) * noise_variance
    return np.asarray(worth / (1 + worth))
