"""The share of each category in what readers are shown, from the public catalogue alone.

Devices rank by themselves, so nobody knows what they showed. The estimate is what a reader without a history would see:
article i in proportion to e^base, with its base score of this moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.protocol.check import SCHEMA
from discreet.serving.snapshot import Snapshot

MAX_CATEGORIES: int = SCHEMA["model"]["properties"]["categories"]["maxItems"]
_DIGITS = 9


def category_shares(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Name and share of each category that has articles, the largest first; all others share what is left of 1.

    One article's worth is added to each, and to the others, so that no share is 0.
    """
    if not len(snapshot):
        return []
    exposure = np.exp(snapshot.base.astype(np.float64) - float(snapshot.base.max()))
    exposure *= len(snapshot) / exposure.sum()
    shown = np.bincount(snapshot.category, weights=exposure, minlength=len(snapshot.categories))
    listed = np.bincount(snapshot.category, minlength=len(snapshot.categories)) > 0
    shares = (shown + 1.0) / (len(snapshot) + listed.sum() + 1.0)
    names = list(snapshot.categories)
    largest = [row for row in np.argsort(-shares, kind="stable").tolist() if listed[row]][:MAX_CATEGORIES]
    return [{"name": names[row], "share": round(float(shares[row]), _DIGITS)} for row in largest]
