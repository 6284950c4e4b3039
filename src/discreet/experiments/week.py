"""A week of a front page: how good the ranking is each day, with public weights alone and with what sums teach.

It is a simulation by `methods.front_page`: every device's features from its exact history, every window's sum with the
bounds and the noise of two aggregators, and each impression ranked with what had been learnt before its window began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.evaluation.metrics import ranking_metrics
from discreet.evaluation.uncertainty import Difference, Estimate, estimate, paired_difference
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.windows import DAY
from discreet.methods.method import TrainingTask
from discreet.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class WeekDay:
    """One day: AUC of public weights alone, of the whole ranking, and of the second over the first."""

    number: int
    impressions: int
    public: Estimate
    learnt: Estimate
    gain: Difference


@dataclass(frozen=True)
class Week:
    """All days, what sums add to public weights over all of them, and what a reader's day of these sums costs."""

    days: list[WeekDay]
    gain: Difference
    guarantee: Guarantee


def week_of(task: TrainingTask, method: FrontPage, seed: int, done: Callable[[WeekDay], None]) -> Week:
    """Every day of a data set, each shown as it is known."""
    state, days = method.train(task, seed), []
    own_auc, whole_auc, seen_by = [], [], []
    first = int(min(int(part.time.min()) for part in task.data.splits.values())) // DAY
    for part in task.data.splits.values():
        own = method.device_scores(task, part)
        whole = own + method.popularity_weight * method.log_rates(task, state, part, seed)
        public, learnt = ranking_metrics(own, part), ranking_metrics(whole, part)
        own_auc.append(public["auc"])
        whole_auc.append(learnt["auc"])
        seen_by.append(public.reader)
        day = part.time[public.impression] // DAY - first
        for number in np.unique(day).tolist():
            here = day == number
            readers = public.reader[here]
            both = public["auc"][here], learnt["auc"][here]
            found = WeekDay(
                number + 1,
                int(here.sum()),
                estimate(both[0], readers),
                estimate(both[1], readers),
                paired_difference(both[1], both[0], readers),
            )
            days.append(found)
            done(found)
    gain = paired_difference(np.concatenate(whole_auc), np.concatenate(own_auc), np.concatenate(seen_by))
    return Week(days, gain, method.guarantee(state))
