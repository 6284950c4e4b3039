"""Whether articles that are shown more are also clicked more, each time they are shown.

Editors put on top what they expect to be read. On some sites this predicts how often an article is clicked where it is
shown (EB-NeRD), on others it does not (MIND). Exposure is public, so it costs nothing; how much it says is learnt from
released sums. The prominence of an article with recent exposure E (half of it is forgotten in eight hours) is

    x = ln(E/Ē + 1/10) − m,   Ē and m: the means of E and of the logarithm over all exposure,

and of the clicks y where e were expected, with the variance v of noise and chance, the model is y − e = β·e·x. So each
article gives A = Σ e²x²/v and B = Σ e·x·(y − e)/v over its windows, and β = ΣB/ΣA. An article's windows are not
independent, since its own appeal is in all of them; articles are. So the variance of ΣB is ΣB² over articles, and that
has the noise in it, too. β counts if it is three standard deviations above 0, shrunk by a normal prior; else exposure
says nothing. A slope below 0 would be the age of what was shown for long, which recency has. Whether it counts is
decided once a day, when the day's last window closes: with every window there would be a hundred chances a day to be
wrong. All of it is computed from released sums and public exposure.

An article of which no exposure is known is as prominent as the mean of those that are followed. With E = 0 it would be
the least prominent of all; where slates follow the scores, many a good new article would then hardly be shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HALF_LIFE_HOURS = 8.0
"""Of exposure."""
FORGET_HOURLY = 0.002
"""What A and B lose: the slope is that of a site, not of a day's news."""

_LEAST = 0.1
_DEVIATIONS = 3.0
_PRIOR_VARIANCE = 0.25
_MAX_EFFECT = 2.0


class ExposureSlope:
    """What is known of β, and the recent exposure of each article that is followed.

    Args:
        by_article: A row for each article: recent exposure, A and B.
        dropped: ΣA, ΣB and ΣB² of articles that are followed no more.
        beta: The slope that counts today.
    """

    def __init__(self, by_article: Floats, dropped: Floats, beta: float = 0.0) -> None:
        self.by_article, self.dropped, self.beta = by_article, dropped, beta

    @classmethod
    def of_nothing(cls, articles: int = 0) -> ExposureSlope:
        """Before the first sum; so many articles are followed."""
        return cls(np.zeros((articles, 3)), np.zeros(3))

    def forget(self, hours: float, alive: NDArray[np.bool_]) -> None:
        """Let the past lose weight, and follow only the articles that are `alive`."""
        kept = (1 - FORGET_HOURLY) ** hours
        self.dropped = (self.dropped + summed_up(self.by_article[~alive])) * (kept, kept, kept**2)
        self.by_article = self.by_article[alive] * (0.5 ** (hours / HALF_LIFE_HOURS), kept, kept)

    def follow(self, more: int) -> None:
        """Follow so many articles more."""
        self.by_article = np.concatenate((self.by_article, np.zeros((more, 3))))

    def learn(self, row: NDArray[np.int64], exposure: Floats, expected: Floats, clicks: Floats, noise: Floats) -> None:
        """Learn from a released window: of some articles the exposure, what was expected, what came, and its noise."""
        self.by_article[row, 0] += exposure
        x, variance = _prominence(self.by_article[:, 0])[row], expected + noise
        self.by_article[row, 1] += expected**2 * x**2 / variance
        self.by_article[row, 2] += expected * x * (clicks - expected) / variance

    def settle(self) -> None:
        """Decide on β: 0 where the slope could be chance, or what is shown more is clicked less."""
        a, b, variance = (self.dropped + summed_up(self.by_article)).tolist()
        counts = b > _DEVIATIONS * variance**0.5
        self.beta = a * b * _PRIOR_VARIANCE / (a * a * _PRIOR_VARIANCE + variance) if counts else 0.0

    def effect(self) -> Floats:
        """What prominence adds to the log rate: of each article that is followed, and last of one that is not."""
        beta, exposure = self.beta, np.append(self.by_article[:, 0], 0.0)
        known = exposure > 0
        if not beta or not known.any():
            return np.zeros(len(exposure))
        x = _prominence(exposure)
        return np.clip(beta * np.where(known, x, x[known].mean()), -_MAX_EFFECT, _MAX_EFFECT)


def summed_up(by_article: Floats) -> Floats:
    """ΣA, ΣB and ΣB² over some articles."""
    a, b = by_article[:, 1], by_article[:, 2]
    return np.array([a.sum(), b.sum(), b @ b])


def _prominence(exposure: Floats) -> Floats:
    """Of each article x; `exposure` is that of all."""
    total = float(exposure.sum())
    if not total:
        return np.zeros(len(exposure))
    share = exposure / total
    x = np.log(share / float(share @ share) + _LEAST)
    return np.asarray(x - float(share @ x))
