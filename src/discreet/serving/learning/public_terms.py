"""What a run of `front_page` says of how to serve it; without a run, the method's defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.methods.front_page.front_page import SHORT, FrontPage
from discreet.methods.run import Run
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class PublicTerms:
    """How articles are ranked before the first sum, and what sums cost a reader.

    What a run has learnt of its own articles is about the days of its data, and is not served: popularity begins with
    what is known before the first sum. Weights that a run has learnt are served.

    Attributes:
        text: Where title vectors come from.
        popularity_weight: How much popularity counts.
        epsilon: ε of a reader's day, all sums together.
        max_clicks: How many clicks of a reader count a day.
        window_seconds: How long a window is.
        quality: The share of the day's ε with which devices measure how good the ranking is; 0 measures nothing.
        weights_share: The share of the day's ε with which the weights are learnt while serving; 0 keeps them.
        weights: Of the features, and of popularity, as a run has learnt them; None for the public ones.
        training: What these cost the readers of the run.
        has_head: Whether the run has a head, which is not served.
    """

    text: str = "auto"
    popularity_weight: float = 1.0
    epsilon: float = 1.0
    max_clicks: int = 1
    window_seconds: int = SHORT * 60
    quality: float = 0.1
    weights_share: float = 0.0
    weights: tuple[float, ...] | None = None
    training: Guarantee | None = None
    has_head: bool = False

    def __post_init__(self) -> None:
        if self.quality + self.weights_share >= 1:
            raise DiscreetError("--quality and --weights-share together must leave some of the day's ε to popularity")

    @property
    def quality_epsilon(self) -> float:
        """ε of a reader's day for quality."""
        return self.quality * self.epsilon

    @property
    def weights_epsilon(self) -> float:
        """ε of a reader's day for weights."""
        return self.weights_share * self.epsilon

    @property
    def popularity_epsilon(self) -> float:
        """ε of a reader's day for popularity: the rest, rounded down so that all together are not more."""
        rest = self.epsilon - self.quality_epsilon - self.weights_epsilon
        return rest if rest == self.epsilon else math.floor(rest * 1e9) / 1e9


def public_terms(folder: Path) -> PublicTerms | None:
    """The terms of a run of `front_page`; None for another method's."""
    run = Run.load(folder)
    method = run.method
    if not isinstance(method, FrontPage):
        return None
    weights = run.state.get("weights")
    return PublicTerms(
        run.text,
        method.popularity_weight,
        method.daily_epsilon,
        int(run.state["max_clicks"][0]),
        60 * method.window_minutes,
        weights=None if weights is None else tuple(weights.tolist()),
        training=None if weights is None else run.guarantee,
        has_head="head" in run.state,
    )
