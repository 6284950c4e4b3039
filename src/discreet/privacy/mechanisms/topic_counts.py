"""Topic counts: how many clicks of a history fall on each of K public topics, with noise that does not grow with K."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Adjacency, Unit
from discreet.privacy.mechanisms.checks import check_count
from discreet.privacy.mechanisms.lattice import LatticeMechanism
from discreet.privacy.mechanisms.mechanism import Sensitivity


@dataclass(frozen=True, kw_only=True)
class TopicCounts(LatticeMechanism):
    """How many clicks lie on each of K topics, plus noise. Each click lies on exactly one.

    **Sensitivity.** Replacing a click takes one from a topic and gives one to another: Δ₁ = 2, Δ₂ = √2, whatever K and
    the number of clicks H are. H does not change, so under substitution it is public. Adding or removing a click moves
    one count by one: Δ₁ = Δ₂ = 1; under that adjacency H must stay secret, and a substitution costs 2ε.

    **Lattice.** Counts are integers: nothing is rounded. The mean over the history, which serves ranking, moves by 2/H;
    so for the same ε the noise on the shares shrinks as 1/H. (PrivateRec's bound, the diameter, wastes this factor.)
    """

    name: ClassVar[str] = "topic counts"
    summary: ClassVar[str] = "clicks on each of K public topics; one click moves two counts by one"

    topics: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("topics", self.topics, 2)
        if self.unit in (Unit.USER, Unit.CLICKS):
            raise ValueError("this is proved for one click of a history, not for all; see accounting.all_clicks")
        self.scale  # noqa: B018 - refuses a calibration that does not exist

    @property
    def sensitivity(self) -> Sensitivity:
        """2 in L1 and √2 in L2 for a replaced click, 1 and 1 for one more or less."""
        return Sensitivity(l1=self.lattice_l1, l2=math.sqrt(self.lattice_l1))

    @property
    def step(self) -> float:
        """One click."""
        return 1.0

    @property
    def lattice_l1(self) -> int:
        """How many counts change by one."""
        return 2 if self.adjacency is Adjacency.SUBSTITUTE else 1

    @property
    def lattice_l2(self) -> float:
        """The same in L2, rounded up."""
        return math.sqrt(self.lattice_l1) * (1 + 1e-12)

    def checked(self, value: Any) -> NDArray[np.int64]:
        """The topics of the clicks, one integer each (none is allowed), as counts."""
        clicks = np.asarray(value)
        if clicks.ndim != 1 or (clicks.size and clicks.dtype.kind not in "iu"):
            raise ValueError("clicks must be given as one topic number each")
        if clicks.size and not (clicks.min() >= 0 and clicks.max() < self.topics):
            raise ValueError(f"topics must be whole numbers from 0 to {self.topics - 1}")
        return np.bincount(clicks.astype(np.int64), minlength=self.topics).astype(np.int64)
