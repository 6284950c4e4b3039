"""The weights of a ranking, learnt from one more sum a day: how far clicks are from what the weights expected.

At the end of a day each device contributes how its clicks pull the weights, and by how much the candidate would have
ranked its slates better than the weights that it began with (`edge.reader.sums.weight_pull`). The sum over readers has
discrete Laplace noise of each aggregator. `weight_posterior` says what is learnt from it, and when that ranks. The
weights are those of the features, of popularity, and, where one is learnt, of a head's directions. The simulator and a
server call the same functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.aggregator_noise import AGGREGATORS, noise_deviation, share_noise
from discreet.aggregation.task import DAY, OF_EACH_WINDOW, Kind, Per, Task
from discreet.data.news import Impressions
from discreet.edge.reader.sums.weight_pull import reader_pulls
from discreet.methods.front_page.weight_posterior import WeightPosterior, WeightPrior
from discreet.privacy.noise import Noise
from discreet.protocol.weight_cells import LATTICE, LENGTH, MAX_PULL, MEASURE, ToldWeights, max_total

Floats = NDArray[np.float64]

HEAD = "weights and head"
"""How people call a task that learns a head, too."""
_OF_HEAD = " It also learns which of the things that articles are about you like together with what you read before."


def weights_task(
    epsilon: float,
    *,
    directions: int = 0,
    start: int = 0,
    windows: int = 1,
    name: str = "",
    leader: str = "",
    helper: str = "",
) -> Task:
    """The terms of the sums, in which a window is a day.

    Args:
        epsilon: What a reader's day costs.
        directions: Of the head that is learnt, too; 0 learns none.
        start: When the first day begins.
        windows: How many days there are.
        name: How people call it.
        leader: Address of the aggregator that takes reports; empty where aggregators are simulated.
        helper: Address of the other one.
    """
    return Task(
        name=name or (HEAD if directions else MEASURE),
        purpose="Learns how much each thing should count that your device ranks by, such as what you read before and"
        " how new an article is, from how far what you opened stood from what was expected."
        + (_OF_HEAD if directions else ""),
        kind=Kind.SIGNEDVEC,
        length=LENGTH + directions,
        max_value=MAX_PULL * LATTICE,
        max_total=max_total(directions) * LATTICE,
        start=start,
        window_seconds=DAY,
        windows=windows,
        per=Per.DAY,
        epsilon=epsilon,
        measure=MEASURE,
        cells=OF_EACH_WINDOW,
        leader=leader,
        helper=helper,
    )


def learn_weights(
    train: Impressions,
    features: Floats,
    epsilon: float,
    slate_clicks: Callable[[int], float],
    copies: int,
    noise: Noise,
    prior: WeightPrior | None = None,
) -> WeightPosterior:
    """Learn from the days of the train split, one after the other.

    Args:
        train: What was shown and clicked.
        features: A row for each shown article: the features, the log rate that devices knew then, and what each
            direction of a head adds.
        epsilon: What the sum of a day costs a reader; infinity for no noise.
        slate_clicks: How many clicks a slate gives, by what was known when a day had ended.
        copies: How many readers each reader stands for.
        noise: Of both aggregators.
        prior: What is known of the weights before; without it, the public ones of the features.
    """
    known = WeightPosterior(prior or WeightPrior())
    task = None if np.isinf(epsilon) else weights_task(epsilon, directions=known.prior.directions)
    day = train.time // DAY
    for today in np.unique(day).tolist():
        slates = train.select(day == today)
        shown = features[np.repeat(day == today, train.slate_sizes)]
        candidate = known.candidate
        total = copies * weight_contributions(slates, shown, known.prior.told(candidate)).sum(axis=0)
        if task is not None:
            total += sum(share_noise(task, noise) for _ in range(AGGREGATORS))
        clicking = clicking_readers(len(np.unique(slates.reader)), slate_clicks(today), len(slates))
        known.update(total / (LATTICE * copies), pull_variance(task) / copies**2, candidate, clicking)
    return known


def weight_contributions(slates: Impressions, features: Floats, told: ToldWeights) -> NDArray[np.int64]:
    """What each reader who comes contributes for a day, one in a row; each from her own slates alone."""
    row = np.unique(slates.reader, return_inverse=True)[1]
    return reader_pulls(features, slates.clicked, slates.slate, row, told, LATTICE)


def pull_variance(task: Task | None) -> float:
    """Of the noise in each number of a collected sum, in units; without a task there is none."""
    return 0.0 if task is None else (noise_deviation(task) * MAX_PULL / task.max_value) ** 2


def clicking_readers(readers: float, slate_clicks: float, slates: float) -> float:
    """About how many of a day's readers clicked: as many as there were clicks, but not more than there were readers."""
    return min(readers, slate_clicks * slates)
