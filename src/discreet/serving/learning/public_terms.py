"""What a run of `front_page` says of how to serve it; without a run, the method's defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from discreet.methods.front_page.front_page import SHORT, FrontPage
from discreet.methods.run import Run


@dataclass(frozen=True)
class PublicTerms:
    """How articles are ranked with public weights, and what popularity costs a reader.

    What a run has learnt of its own articles is about the days of its data, and is not served: serving begins with
    what is known before the first sum.

    Attributes:
        text: Where title vectors come from.
        popularity_weight: How much popularity counts.
        epsilon: ε of a reader's day, all sums together.
        max_clicks: How many clicks of a reader count a day.
        window_seconds: How long a window is.
        quality: The share of the day's ε with which devices measure how good the ranking is; 0 measures nothing.
    """

    text: str = "auto"
    popularity_weight: float = 1.0
    epsilon: float = 1.0
    max_clicks: int = 1
    window_seconds: int = SHORT * 60
    quality: float = 0.1

    @property
    def quality_epsilon(self) -> float:
        """ε of a reader's day for quality."""
        return self.quality * self.epsilon

    @property
    def popularity_epsilon(self) -> float:
        """ε of a reader's day for popularity: the rest, rounded down so that both together are not more."""
        rest = self.epsilon - self.quality_epsilon
        return rest if self.quality == 0 else math.floor(rest * 1e9) / 1e9


def public_terms(folder: Path) -> PublicTerms | None:
    """The terms of a run of `front_page`; None for another method's."""
    run = Run.load(folder)
    method = run.method
    if not isinstance(method, FrontPage):
        return None
    return PublicTerms(
        run.text,
        method.popularity_weight,
        method.daily_epsilon,
        int(run.state["max_clicks"][0]),
        60 * method.window_minutes,
    )
