"""Laplace noise on whole gradients, and what it costs: M(g) = clip(g) + Laplace(λ) on each of the d coordinates.

Laplace noise of scale λ on vectors that lie within an L1 diameter D of each other costs ε = D/λ. FedNewsRec and
DP-FedRec put the diameter of one coordinate, or that of the L2 norm, in the place of D; a `calibration` chooses theirs
or the true one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.setup import Setup
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.draws import round_generator
from discreet.training.gradient_noise import summed_laplace_like
from discreet.training.objective import Parameters


def check_clip(name: str, clip: float) -> None:
    """Refuse a bound that bounds nothing."""
    if not 0 < clip < math.inf:
        raise DiscreetError(f"{name}: clip must be above 0, not {clip}")


def coordinates(parameters: Parameters) -> int:
    """d, the length of a gradient."""
    return sum(value.numel() for value in parameters.values())


def add_laplace(gradient: Parameters, scale: float, weights: NDArray[np.float64], setup: Setup, number: int) -> None:
    """Σ w_u·n_u, the noise of all readers of a round at once; none at scale 0."""
    if scale:
        generator = round_generator(setup.seed, number, "laplace", setup.node)
        for name, noise in summed_laplace_like(gradient, scale, weights, generator).items():
            gradient[name].add_(noise)


def laplace_guarantee(
    *,
    epsilon: float,
    diameter: float,
    scale: float,
    rounds: int,
    unit: Unit,
    calibration: Calibration,
    history_clicks: int,
) -> Guarantee:
    """Over all rounds, in each of which a reader may be chosen.

    Samples from histories (`history_clicks`) take their negatives from all readers' clicks, which somebody must have
    collected in clear: then nothing holds.
    """
    if math.isinf(epsilon):
        return Guarantee.unprotected("clipped gradients without noise", Scope.LIFETIME)
    paper = calibration is Calibration.PAPER
    if history_clicks and not paper:
        return Guarantee.unprotected("noised gradients, negatives from all readers' histories", Scope.LIFETIME)
    return Guarantee(
        epsilon=math.inf if history_clicks else diameter / scale * rounds,
        delta=0.0,
        unit=unit,
        adjacency=Adjacency.SUBSTITUTE,
        adversary=Adversary.SERVER,
        scope=Scope.LIFETIME,
        status=Status.CLAIMED if paper else Status.PROVED,
        claimed_epsilon=epsilon if paper else None,
        mechanism="clipped gradients with Laplace noise (simulated)",
    )
