"""Affinity to a subcategory: how often a reader takes it among what she reads of its category.

It comes on top of the affinity to the category. An article without a subcategory has none to speak of: its affinity is
0, and it is ranked by its category alone. Where less than half of what is shown has one, subcategories do not count at
all: a history would tell of a few clicks only, and articles with and without one could not be compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.method import TrainingTask

Floats = NDArray[np.float64]

_PRIOR_CLICKS = 1.0
_MIN_NAMED = 0.5


@dataclass(frozen=True, eq=False)
class Subcategories:
    """The subcategories of a catalogue, all public. Two of one name in different categories are two.

    Attributes:
        number: Of each article; -1 where it has none, or where too few have one.
        category: The category of each subcategory.
        share: Of each subcategory the share in what was shown of its category.
    """

    number: NDArray[np.int64]
    category: NDArray[np.int64]
    share: Floats

    @classmethod
    def of(cls, task: TrainingTask) -> Subcategories:
        """Those of a task, found once."""
        return task.once(cls, lambda: cls._make(task))

    @classmethod
    def _make(cls, task: TrainingTask) -> Subcategories:
        category = PublicArticles.of(task).category
        names = np.array(task.data.articles.subcategories, dtype=np.str_)
        shown = task.data.splits["train"].public_shown
        enough = len(shown) > 0 and float((names[shown] != "").mean()) >= _MIN_NAMED
        named = np.flatnonzero((names != "") & enough)
        number = np.full(len(names), -1, np.int64)
        name = np.unique(names[named], return_inverse=True)[1]
        pairs, number[named] = np.unique(category[named] * (int(name.max(initial=0)) + 1) + name, return_inverse=True)
        of_category = np.zeros(len(pairs), np.int64)
        of_category[number[named]] = category[named]
        numbers = number[shown]
        shows = np.bincount(numbers[numbers >= 0], minlength=len(pairs)) + 1.0
        in_category = np.bincount(of_category, shows, minlength=int(category.max(initial=0)) + 1)
        return cls(number, of_category, shows / in_category[of_category])

    def affinity(self, history: NDArray[np.int32], candidates: NDArray[np.int32]) -> Floats:
        """The log of the subcategory's share in the history's clicks on its category, over its public share there.

        One click's worth of the latter is a prior.
        """
        found = np.zeros(len(candidates))
        read, asked = self.number[history], self.number[candidates]
        named = asked >= 0
        if not named.any() or not (read >= 0).any():
            return found
        clicks = np.bincount(read[read >= 0], minlength=len(self.share))
        of_category = np.bincount(self.category, clicks)[self.category]
        taste = (clicks + _PRIOR_CLICKS * self.share) / (of_category + _PRIOR_CLICKS) / self.share
        found[named] = np.log(taste)[asked[named]]
        return found
