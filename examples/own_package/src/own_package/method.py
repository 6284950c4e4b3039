"""A method: it learns from the train split, and scores what is shown."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import discreet as d


@d.register
@dataclass(frozen=True)
class TitleLength(d.Method):
    """Titles that are as long as those that were clicked come first."""

    name: ClassVar[str] = "title_length"
    power: float = 2.0
    """How much a difference in length counts."""

    def train(self, task, seed, checkpoint=None):
        """The mean length of the titles that were clicked."""
        train = task.data.splits["train"]
        return {"length": np.array([_lengths(task)[train.shown[train.clicked]].mean()])}

    def score(self, task, state, impressions, seed):
        """Less for every word more or fewer."""
        return -(np.abs(_lengths(task)[impressions.shown] - state["length"]) ** self.power)


def _lengths(task):
    return np.array([len(title.split()) for title in task.data.articles.titles], np.float64)
