"""Whether articles that are shown more are also clicked more, each time they are shown.

Editors put on top what they expect to be read. On some sites this predicts how often an article is clicked where it is
shown (EB-NeRD), on others it does not (MIND). Exposure is public, so it costs nothing; how much it says is learnt from
released sums. What an article was shown is remembered on three time scales: what was put on top hours ago and is still
there is clicked more, what is just now shown to everybody is clicked less each time. On each scale the prominence of
an article with recent exposure E is

    x = ln(E/Ē + 1/10) − m,   Ē: the mean of E over the exposure of this scale; m: that of the logarithm over the
                              exposure of the longest scale,

and the logarithm of its age, in hours and 1, less its mean, is a fourth number. Of the clicks y where e were expected,
with the variance v of noise and chance, the model is y − e = e·βᵀx. So each window gives A = Σ e²xxᵀ/v, and each
article B = Σ e·x·(y − e)/v over its windows. An article's windows are not independent, since its own appeal is in all
of them; articles are. So the covariance of ΣB is V = ΣBBᵀ over articles, and that has the noise in it, too. With a
normal prior of variance p of each slope, β = p·A(p·AA + V)⁻¹ΣB.

β counts if what is shown more on the longest scale is clicked more, by itself, three standard deviations beyond chance;
else exposure says nothing. A slope below 0 there would be the age of what was shown for long, which recency has.
Whether it counts is decided once a day, when the day's last window closes, or with the next sum if that one had none:
with every window there would be a hundred chances a day to be wrong. All of it is computed from released sums and
public exposure.

An article that no sum has had is as prominent as the mean of those that had one. By its exposure it would be among the
least prominent; where slates follow the scores, many a good new article would then hardly be shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HALF_LIVES = np.array([0.25, 2.0, 12.0])
"""Of exposure on each scale, in hours."""
FORGET_HOURLY = 0.002
"""What A and B lose: the slope is that of a site, not of a day's news."""

_LONGEST = len(HALF_LIVES) - 1
_SIZE = len(HALF_LIVES) + 1
_EXPOSURE, _AGE, _RECENT = slice(0, _SIZE - 1), _SIZE - 1, slice(0, _SIZE)
_PULL = slice(_SIZE, 2 * _SIZE)
_WAITING = slice(2 * _SIZE, 3 * _SIZE + 2)
_HAD_SUM = 3 * _SIZE + 2
_COLUMNS = 3 * _SIZE + 3
"""Of each article: exposure on each scale and age; B; of what was shown since its last sum the exposure, the exposure
as prominence lifts it, and the exposure times x; and whether a sum has had it."""

_LEAST = 0.1
_DEVIATIONS = 3.0
_PRIOR_VARIANCE = 0.25
_MAX_EFFECT = 2.0


class ExposureSlope:
    """What is known of β, and the recent exposure of each article that is followed.

    Args:
        by_article: A row for each article, with `_COLUMNS`.
        moments: A, of all articles.
        dropped: ΣB and ΣBBᵀ of articles that are followed no more.
        beta: The slopes that count today.
    """

    def __init__(self, by_article: Floats, moments: Floats, dropped: Floats, beta: Floats) -> None:
        self.by_article, self.moments, self.dropped, self.beta = by_article, moments, dropped, beta

    @classmethod
    def of_nothing(cls, articles: int = 0) -> ExposureSlope:
        """Before the first sum; so many articles are followed."""
        moments, dropped = np.zeros((_SIZE, _SIZE)), np.zeros((_SIZE + 1, _SIZE))
        return cls(np.zeros((articles, _COLUMNS)), moments, dropped, np.zeros(_SIZE))

    @property
    def counts(self) -> bool:
        """Whether prominence is in the ranking today."""
        return bool(self.beta.any())

    def forget(self, hours: float, alive: NDArray[np.bool_]) -> None:
        """Let the past lose weight, and follow only the articles that are `alive`."""
        kept = (1 - FORGET_HOURLY) ** hours
        self.dropped = self.dropped + summed_up(self.by_article[~alive])
        self.dropped *= np.array([kept] + [kept**2] * _SIZE)[:, None]
        self.moments = self.moments * kept
        self.by_article = self.by_article[alive]
        self.by_article[:, _EXPOSURE] *= 0.5 ** (hours / HALF_LIVES)
        self.by_article[:, _AGE] += hours
        self.by_article[:, _PULL] *= kept

    def follow(self, more: int) -> None:
        """Follow so many articles more."""
        self.by_article = np.concatenate((self.by_article, np.zeros((more, _COLUMNS))))

    def show(self, row: NDArray[np.int64], exposure: Floats) -> None:
        """Add what some articles were shown since the window before, whether they have a sum now or wait for one."""
        self.by_article[row, _EXPOSURE] += exposure[:, None]
        x, lifted = _prominence(self.by_article[:, _RECENT])[row], exposure * np.exp(self.effect()[row])
        self.by_article[row, _WAITING] += np.column_stack((exposure, lifted, exposure[:, None] * x))

    def lift(self, row: NDArray[np.int64]) -> Floats:
        """How many times the clicks of the mean article prominence lets one expect, in all that waited for a sum."""
        exposure, lifted = self.by_article[row, _WAITING].T[:2]
        return np.where(exposure > 0, lifted / np.where(exposure > 0, exposure, 1.0), 1.0)

    def learn(self, row: NDArray[np.int64], expected: Floats, clicks: Floats, noise: Floats) -> None:
        """Learn from a released sum: of some articles what was expected of the mean one, what came, and its noise."""
        waiting, variance = self.by_article[row, _WAITING], expected + noise
        x = waiting[:, 2:] / np.where(waiting[:, :1] > 0, waiting[:, :1], 1.0)
        self.moments = self.moments + x.T @ (x * (expected**2 / variance)[:, None])
        self.by_article[row, _PULL] += x * (expected * (clicks - expected) / variance)[:, None]
        self.by_article[row, _WAITING], self.by_article[row, _HAD_SUM] = 0.0, 1.0

    def settle(self) -> None:
        """Decide on β: 0 where the slope could be chance, or what is shown more is clicked less."""
        pull, *squares = self.dropped + summed_up(self.by_article)
        a, variance = self.moments, np.array(squares)
        self.rest()
        if pull[_LONGEST] > _DEVIATIONS * variance[_LONGEST, _LONGEST] ** 0.5:
            spread = np.linalg.pinv(_PRIOR_VARIANCE * a @ a + variance, hermitian=True)
            self.beta = _PRIOR_VARIANCE * a @ spread @ pull

    def rest(self) -> None:
        """Let exposure say nothing until β is decided on again."""
        self.beta = np.zeros(_SIZE)

    def effect(self) -> Floats:
        """What prominence adds to the log rate: of each article that is followed, and last of one that is not."""
        had_sum = np.append(self.by_article[:, _HAD_SUM] > 0, False)
        if not self.counts or not had_sum.any():
            return np.zeros(len(had_sum))
        effect = np.append(_prominence(self.by_article[:, _RECENT]) @ self.beta, 0.0)
        return np.clip(np.where(had_sum, effect, effect[had_sum].mean()), -_MAX_EFFECT, _MAX_EFFECT)


def summed_up(by_article: Floats) -> Floats:
    """ΣB, and below it ΣBBᵀ, over some articles."""
    pull = by_article[:, _PULL]
    return np.concatenate((pull.sum(axis=0, keepdims=True), pull.T @ pull))


def _prominence(recent: Floats) -> Floats:
    """Of each article x; `recent` is the exposure of all, on each scale, and their age."""
    total = recent[:, _EXPOSURE].sum(axis=0)
    if not total.all():
        return np.zeros((len(recent), _SIZE))
    share = recent[:, _EXPOSURE] / total
    x = np.column_stack((np.log(share / (share**2).sum(axis=0) + _LEAST), np.log(recent[:, _AGE] + 1)))
    return np.asarray(x - share[:, _LONGEST] @ x)
