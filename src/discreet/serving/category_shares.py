"""The shares of categories and sections in what readers are shown, from the public catalogue alone.

Devices rank by themselves, so nobody knows what they showed. The estimate is what a reader without a history would see:
article i in proportion to e^base, with its base score of this moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.protocol.check import SCHEMA
from discreet.serving.snapshot import Snapshot

MAX_CATEGORIES: int = SCHEMA["model"]["properties"]["categories"]["maxItems"]
_DIGITS = 9
_MIN_NAMED = 0.5
"""Of what is shown, the share from which on sections count: below it, few clicks of a history would be in one."""


def category_shares(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Name and share of each category that has articles, the largest first; all others share what is left of 1.

    One article's worth is added to each, and to the others, so that no share is 0.
    """
    if not len(snapshot):
        return []
    exposure = _exposure(snapshot)
    shown = np.bincount(snapshot.category, weights=exposure, minlength=len(snapshot.categories))
    listed = np.bincount(snapshot.category, minlength=len(snapshot.categories)) > 0
    shares = (shown + 1.0) / (len(snapshot) + listed.sum() + 1.0)
    names = list(snapshot.categories)
    largest = [row for row in np.argsort(-shares, kind="stable").tolist() if listed[row]][:MAX_CATEGORIES]
    return [{"name": names[row], "share": round(float(shares[row]), _DIGITS)} for row in largest]


def section_shares(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Category, name and share within the category of each section that has articles, the most shown first.

    There are none where less than half of what is shown has a section (`methods.front_page.subcategories`). One
    article's worth is added to each.
    """
    if not len(snapshot):
        return []
    exposure, places = _exposure(snapshot), list(snapshot.sections)
    named = np.array([name != "" for _, name in places])
    if float(exposure[named[snapshot.section]].sum()) < _MIN_NAMED * len(snapshot):
        return []
    shown = np.bincount(snapshot.section, weights=exposure, minlength=len(places)) + 1.0
    listed = named & (np.bincount(snapshot.section, minlength=len(places)) > 0)
    shown = np.where(listed, shown, 0.0)
    category = np.array([snapshot.categories[category] for category, _ in places])
    of_category = np.bincount(category, weights=shown, minlength=len(snapshot.categories))[category]
    most = [row for row in np.argsort(-shown, kind="stable").tolist() if listed[row]][:MAX_CATEGORIES]
    return [
        {
            "category": places[row][0],
            "name": places[row][1],
            "share": round(float(shown[row] / of_category[row]), _DIGITS),
        }
        for row in most
    ]


def _exposure(snapshot: Snapshot) -> NDArray[np.float64]:
    """How often each article is shown, in units of the mean."""
    exposure = np.exp(snapshot.base.astype(np.float64) - float(snapshot.base.max()))
    return np.asarray(exposure * (len(snapshot) / exposure.sum()))
