"""What a run of `front_page` says of how to serve it; without a run, the method's defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.front_page import SHORT, FrontPage
from discreet.methods.run import Run
from discreet.privacy.guarantee import Guarantee
from discreet.serving.front_page_head import FrontPageHead


@dataclass(frozen=True)
class PublicTerms:
    """How articles are ranked before the first sum, and what sums cost a reader.

    What a run has learnt of its own articles is about the days of its data, and is not served: popularity begins with
    what is known before the first sum. Weights and the head that a run has learnt are served.

    Attributes:
        text: Where title vectors come from.
        popularity_weight: How much popularity counts.
        epsilon: ε of a reader's day, all sums together.
        max_clicks: How many clicks of a reader count a day.
        window_seconds: How long a window is.
        quality: The share of the day's ε with which devices measure how good the ranking is; 0 measures nothing.
        weights_share: The share of the day's ε with which the weights are learnt while serving; 0 keeps them.
        head_share: The same for weights and a head together, in one sum; 0 learns no head.
        weights: Of the features, and of popularity, as a run has learnt them; None for the public ones.
        head: The head that a run has learnt.
        unserved: Why the run's head is not served; empty where it is, or where there is none.
        training: What weights and head cost the readers of the run.
        life: The budget that the day's ε is a part of, if the run has one for a reader's life.
    """

    text: str = "auto"
    popularity_weight: float = 1.0
    epsilon: float = 1.0
    max_clicks: int = 1
    window_seconds: int = SHORT * 60
    quality: float = 0.1
    weights_share: float = 0.0
    head_share: float = 0.0
    weights: tuple[float, ...] | None = None
    head: FrontPageHead | None = None
    unserved: str = ""
    training: Guarantee | None = None
    life: DailyBudget | None = None

    def __post_init__(self) -> None:
        if self.weights_share and self.head_share:
            raise DiscreetError("--head-share learns the weights as well, from one sum: leave --weights-share out")
        if self.quality + self.weights_share + self.head_share >= 1:
            shares = "--quality and --head-share" if self.head_share else "--quality and --weights-share"
            raise DiscreetError(f"{shares} together must leave some of the day's ε to popularity")

    @property
    def quality_epsilon(self) -> float:
        """ε of a reader's day for quality."""
        return self.quality * self.epsilon

    @property
    def weights_epsilon(self) -> float:
        """ε of a reader's day for weights, and for a head."""
        return (self.weights_share + self.head_share) * self.epsilon

    @property
    def popularity_epsilon(self) -> float:
        """ε of a reader's day for popularity with Laplace noise: the rest, rounded down so that all are not more."""
        rest = self.epsilon - self.quality_epsilon - self.weights_epsilon
        return rest if rest == self.epsilon else math.floor(rest * 1e9) / 1e9

    @property
    def popularity_price(self) -> DayPrice:
        """What a reader's day costs for popularity; of a budget for life with the noise that the simulator takes.

        The other sums have discrete Laplace noise and cost ρ by the squares of their shares.
        """
        if self.life is not None:
            others = math.hypot(self.quality, self.weights_share + self.head_share)
            price = replace(self.life, weights=others).popularity_price(self.max_clicks)
            if price.delta:
                return price
        return DayPrice(self.popularity_epsilon)


def public_terms(folder: Path) -> PublicTerms | None:
    """The terms of a run of `front_page`; None for another method's."""
    run = Run.load(folder)
    method = run.method
    if not isinstance(method, FrontPage):
        return None
    weights, (head, unserved) = run.state.get("weights"), _head(run)
    return PublicTerms(
        run.text,
        method.popularity_weight,
        method.daily_epsilon,
        int(run.state["max_clicks"][0]),
        60 * method.window_minutes,
        weights=None if weights is None else tuple(weights.tolist()),
        head=head,
        unserved=unserved,
        training=None if weights is None and head is None else run.guarantee,
        life=method.life,
    )


def _head(run: Run) -> tuple[FrontPageHead | None, str]:
    """The head of a run, or why it cannot be served."""
    if "head" not in run.state:
        return None, ""
    try:
        return FrontPageHead.from_state(run.state), ""
    except DiscreetError as error:
        return None, str(error)
