"""What the server needs of a trained model: a function of public text and released reports, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Guarantee

Floats = NDArray[np.float32]


class Space(Protocol):
    """The public space that releases are made in."""

    @property
    def version(self) -> str:
        """Names it; a release made in one space means nothing in another."""
        ...

    def __len__(self) -> int:
        """How many numbers a release has."""
        ...

    def topics_of(self, vectors: Floats) -> NDArray[np.int64]:
        """The topic of each article."""
        ...


class Served(Protocol):
    """A model that can be served."""

    version: str
    epsilon_sketch: float
    epsilon_label: float
    hide_length: bool
    content_weight: float

    @property
    def space(self) -> Space:
        """The space that releases are made in."""
        ...

    @property
    def centre(self) -> Floats:
        """The mean interest of all readers, in device coordinates."""
        ...

    def title_vectors(self, titles: Sequence[str]) -> Floats:
        """A vector for each title."""
        ...

    def article_scores(self, vectors: Floats, categories: Sequence[str]) -> Floats:
        """A row for each article: its score is the product with an interest."""
        ...

    def base_scores(
        self,
        published: NDArray[np.int64],
        first_shown: NDArray[np.int64],
        shows: NDArray[np.int64],
        popularity: NDArray[np.float64],
        now: int,
    ) -> NDArray[np.float64]:
        """The part of the score that is the same for all readers."""
        ...

    def interest(self, counts: NDArray[np.int64], clicks: int | None, releases: int) -> NDArray[np.float64]:
        """What to multiply article scores with, from the sum of the released numbers."""
        ...

    def guarantee(self) -> Guarantee:
        """What a click costs over its life."""
        ...

    def coordinates(self, vectors: Floats) -> Floats:
        """A few numbers for each article, with which devices rank by themselves."""
        ...


def load_served(folder: Path) -> Served:
    """The model of a run, or a DiscreetError if the run cannot be read or served."""
    from discreet.methods.click_reports.served import ServedModel
    from discreet.methods.run import Run
    from discreet.serving.basis import BasisModel

    run = Run.load(folder)
    if run.method.name == "privaterec":
        return BasisModel.from_run(run)
    served: Served = ServedModel.from_run(run)
    return served
