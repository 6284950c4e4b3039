"""What a method is: it trains on a task's train split, and scores impressions with what it has learnt.

What a method learns is a `State`, a plain dictionary of arrays, so that every run is saved and loaded the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions, NewsData
from discreet.privacy.guarantee import Guarantee
from discreet.text.encode import TextVectors, encode_texts

State = dict[str, NDArray[np.generic]]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """What every method is given: the data, public vectors of the articles' titles, and a seed.

    `text` names the source of the vectors, as `encode_texts` takes it. They are made when first asked for.
    """

    data: NewsData
    seed: int = 0
    text: str = "auto"

    @cached_property
    def text_vectors(self) -> TextVectors:
        """A unit vector for each article's title (zero for an article without one), and where it came from."""
        return encode_texts(self.data.articles.titles, self.text)

    def rng(self) -> np.random.Generator:
        """A fresh generator, the same for the same seed. For simulation; releases take their noise elsewhere."""
        return np.random.default_rng(self.seed)


class Method(Protocol):
    """A way to rank. Settings are fields of the class; what is learnt is the state that `train` returns."""

    @property
    def name(self) -> str:
        """The name that the command line uses."""
        ...

    def train(self, task: Task) -> State:
        """Learn from the task's train split, and from nothing later."""
        ...

    def score(self, task: Task, state: State, impressions: Impressions) -> Scores:
        """A score for each shown article of `impressions` (flat, as in `impressions.shown`); higher ranks first.

        Only what was known at an impression's time may count.
        """
        ...

    def guarantee(self) -> Guarantee | None:
        """What ranking readers this way costs them in privacy; None where clicks are simply collected."""
        ...
