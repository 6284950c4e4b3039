"""What models have in common that only devices rank with: nothing is asked of a device, so nothing is spent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.serving.model import Doubles, Space
from discreet.serving.sketch_terms import SketchTerms


class DeviceOnly:
    """A served model without releases. The server can rank by categories that a reader declared no secret."""

    epsilon_sketch: ClassVar[float] = 0.0
    epsilon_label: ClassVar[float] = 0.0
    uses_labels: ClassVar[bool] = False
    hide_length: ClassVar[bool] = False
    mechanism: ClassVar[str]
    """How ranking works, for the guarantee."""

    @property
    def space(self) -> Space:
        """Topics of articles."""
        raise NotImplementedError

    @property
    def sketch_terms(self) -> SketchTerms:
        """No release is asked for, and none is taken."""
        return SketchTerms(self.guarantee(), len(self.space), 1.0, 0, False, 0)

    def interest(self, counts: NDArray[np.int64], clicks: int | None, releases: int) -> Doubles:
        """The share of each topic in what a reader declared no secret, over an equal share."""
        return np.asarray(counts / max(1, int(counts.sum())) - 1 / len(counts))

    def guarantee(self) -> Guarantee:
        """Of ranking, for which nothing leaves a device. What training or sums cost is stated elsewhere."""
        terms = (Unit.CLICK, Adjacency.SUBSTITUTE, Adversary.SERVER, Scope.LIFETIME, Status.PROVED)
        return Guarantee(0.0, 0.0, *terms, self.mechanism)
