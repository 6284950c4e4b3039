"""DP-FedRec, the baseline of PrivateRec: noise on whole gradients in training, on the reader's vector in serving.

Liu et al.: PrivateRec: Differentially Private Model Training and Online Serving for Federated News Recommendation,
section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.methods.published.noised_gradients import NoisedGradients
from discreet.privacy.guarantee import Unit
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.reduction import Clip, clip_norms


@dataclass(frozen=True, kw_only=True)
class DPFedRec(NoisedGradients):
    """Each reader's gradient is clipped to L2 norm θ and gets Laplace noise on each of its d coordinates; then FedAdam.

    As published the scale is S/ε with S = 2θ, the L2 diameter. Laplace noise needs the L1 diameter, 2θ√d: a claimed ε
    is √d times as large in truth, in every round. Calibration `exact` scales to that. The clip bounds all that a reader
    sends, so the guarantee is the user's, not only a click's.
    """

    name: ClassVar[str] = "dp_fedrec"
    unit: ClassVar[Unit] = Unit.USER

    epsilon: float = 10.0

    def optimiser(self) -> Optimiser:
        """FedAdam; τ far below a clipped gradient's size, so that small gradients still move the model."""
        return FedAdam(self.rate, tau=1e-6)

    def clipping(self) -> Clip:
        """The whole gradient to norm θ."""
        return clip_norms(self.clip)

    def diameter(self, coordinates: int) -> float:
        """2θ in L2, so 2θ√d in L1."""
        return 2 * self.clip * math.sqrt(coordinates)
