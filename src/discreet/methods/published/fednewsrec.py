"""FedNewsRec: federated training with local noise on clipped gradients.

Qi, Wu, Wu, Huang, Xie: Privacy-Preserving News Recommendation Model Learning. Findings of EMNLP 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.methods.published.noised_gradients import NoisedGradients
from discreet.privacy.guarantee import Unit
from discreet.training.optimisers import SGD, Optimiser
from discreet.training.reduction import Clip, clip_coordinates
from discreet.training.samples import Samples


@dataclass(frozen=True, kw_only=True)
class FedNewsRec(NoisedGradients):
    """M(g) = clip(g, δ) + Laplace(λ) on each coordinate, weighted by |B_u|, then SGD (Eq. 4 to 7).

    `epsilon` is the paper's 2δ/λ, which holds for one coordinate in one round. A gradient has d coordinates, and all of
    them move when a click changes, so a round costs d times as much: ε = 2δd/λ. Calibration `exact` scales λ to that.
    |B_u| is sent in clear: under substitution it is public; under adding or removing a click nothing bounds the loss.
    """

    name: ClassVar[str] = "fednewsrec"
    unit: ClassVar[Unit] = Unit.CLICK

    epsilon: float = 2 / 3
    rate: float = 0.5

    def optimiser(self) -> Optimiser:
        """Θ ← Θ − η·ḡ (Eq. 7)."""
        return SGD(self.rate)

    def clipping(self) -> Clip:
        """Each coordinate to [−δ, δ] (Eq. 4)."""
        return clip_coordinates(self.clip)

    def weights(self, samples: Samples) -> NDArray[np.float64]:
        """|B_u| (Eq. 6)."""
        return samples.counts.astype(np.float64)

    def diameter(self, coordinates: int) -> float:
        """2δ on each of d coordinates."""
        return 2 * self.clip * coordinates
