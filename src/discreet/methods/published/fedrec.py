"""Federated training without noise: FedNewsRec's framework with FedAdam, the ε = ∞ of PrivateRec's tables.

Qi et al. 2020, section 3.2; Liu et al. 2022, section 4 ("FedRec").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.methods.base import State
from discreet.methods.federated import FederatedMethod
from discreet.methods.published.serving import NoisedVector, checked_calibration
from discreet.methods.ranking import OnDevice, Serving
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.mechanisms.base import Calibration
from discreet.training.optimisers import FedAdam, Optimiser


@dataclass(frozen=True, kw_only=True)
class FedRec(FederatedMethod):
    """Gradients of a share of the readers are averaged in each round; histories stay, but gradients tell of them.

    Training has no noise. `calibration` is that of the noised vector, where one is served.
    """

    name: ClassVar[str] = "fedrec"

    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))

    @property
    def epsilon(self) -> float | None:
        """No noise."""
        return math.inf

    def optimiser(self) -> Optimiser:
        """FedAdam."""
        return FedAdam(self.rate)

    def guarantee(self, state: State) -> Guarantee:
        """None that is finite: a gradient tells its samples."""
        return Guarantee.unprotected("gradients without noise", Scope.LIFETIME)

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector of DP-FedRec (VDP)."""
        if self.epsilon_serving is None:
            return OnDevice()
        return NoisedVector(self.epsilon_serving, size, seed, self.calibration)
