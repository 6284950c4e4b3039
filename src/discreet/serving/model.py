"""What the server needs of a trained model: a function of public text and released reports, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


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
    """A model that can be served: a score is base + article scores · interest."""

    @property
    def version(self) -> str:
        """Names the trained model."""
        ...

    @property
    def epsilon_sketch(self) -> float:
        """ε of a sketch."""
        ...

    @property
    def epsilon_label(self) -> float:
        """ε of a label report; 0 if none are wanted."""
        ...

    @property
    def uses_labels(self) -> bool:
        """Whether what labels tell of popularity counts for anything."""
        ...

    @property
    def hide_length(self) -> bool:
        """Whether devices hide how much was read."""
        ...

    @property
    def device_weights(self) -> Mapping[str, float]:
        """What a device makes of its history, by feature (`about.FEATURES`); the others count nothing."""
        ...

    @property
    def space(self) -> Space:
        """The space that releases are made in."""
        ...

    @property
    def centre(self) -> Floats:
        """The interest of the mean reader, in device coordinates."""
        ...

    def title_vectors(self, titles: Sequence[str], topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """A vector for each article, from its title and, where they matter, from its category and section."""
        ...

    def coordinates(self, vectors: Floats, topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """A few numbers for each article, with which devices rank by themselves; topics as for `title_vectors`."""
        ...

    def article_scores(self, vectors: Floats, categories: Sequence[str]) -> Floats:
        """A row for each article: its personal score is the product with an interest."""
        ...

    def fixed_scores(self, vectors: Floats, categories: Sequence[str]) -> Doubles:
        """The non-personal score that does not change with time."""
        ...

    def base_scores(
        self,
        fixed: Doubles,
        published: NDArray[np.int64],
        first_shown: NDArray[np.int64],
        shows: NDArray[np.int64],
        popularity: Doubles,
        now: int,
    ) -> Doubles:
        """The whole non-personal score at a moment."""
        ...

    def interest(self, counts: NDArray[np.int64], clicks: int | None, releases: int) -> Doubles:
        """What to multiply article scores with, from the sum of the released numbers; clicks are None where hidden."""
        ...

    def guarantee(self) -> Guarantee:
        """What a click costs over its life."""
        ...


def load_served(folder: Path) -> Served:
    """The model of a run, or a DiscreetError if the run cannot be read or served."""
    from discreet.methods.click_reports.click_reports import ClickReports
    from discreet.methods.click_reports.served import ServedModel
    from discreet.methods.run import Run
    from discreet.serving.bilinear_head import BilinearHead

    run = Run.load(folder)
    if run.method.name == "privaterec":
        raise DiscreetError(
            "a run of privaterec is not served: no finite ε holds for its training, nor for a release with each"
            " request; 'discreet evaluate RUN DATA --epsilon-serving 1' simulates it"
        )
    return ServedModel.from_run(run) if isinstance(run.method, ClickReports) else BilinearHead.from_run(run)
