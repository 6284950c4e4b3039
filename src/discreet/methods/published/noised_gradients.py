"""Laplace noise on whole gradients, and what it costs: M(g) = clip(g) + Laplace(λ) on each of the d coordinates.

Laplace noise of scale λ on vectors that lie within an L1 diameter D of each other costs ε = D/λ. FedNewsRec and
DP-FedRec put the diameter of one coordinate, or that of the L2 norm, in the place of D; a `calibration` chooses theirs
or the true one.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.setup import Setup
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.participation_cost import gaussian_epsilon
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


def add_gaussian(gradient: Parameters, scale: float, weights: NDArray[np.float64], setup: Setup, number: int) -> None:
    """Σ w_u·n_u for Gaussian noise of standard deviation σ: Gaussian too, of σ·‖w‖₂; none at scale 0."""
    if scale:
        generator = round_generator(setup.seed, number, "gaussian", setup.node)
        spread = np.float32(scale * math.sqrt(float(np.square(weights).sum())))
        for name in sorted(gradient):
            drawn = generator.standard_normal(gradient[name].shape, dtype=np.float32) * spread
            gradient[name].add_(torch.from_numpy(drawn).to(gradient[name].dtype))


def published_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ = S/ε·√(2 ln(1.25/δ)), as the papers print it; it keeps its promise for ε ≤ 1 only."""
    return sensitivity / epsilon * math.sqrt(2 * math.log(1.25 / delta))


def claimed_by_scale(name: str, scale: float | None, clip: float, epsilon: float, calibration: Calibration) -> float:
    """The claim 2δ/λ where the scale λ of the Laplace noise is given in place of ε; else that ε.

    Only the papers' calibration says ε = 2δ/λ: the truth depends on the length of the gradient, and is printed with it.
    """
    if scale is None:
        return epsilon
    if not 0 < scale < math.inf:
        raise DiscreetError(f"{name}: laplace_scale must be above 0, not {scale}")
    if calibration is not Calibration.PAPER:
        raise DiscreetError(f"{name}: laplace_scale is the paper's λ; it goes with calibration=paper")
    return 2 * clip / scale


def gaussian_guarantee(
    *,
    epsilon: float,
    delta: float,
    diameter: float,
    scale: float,
    rounds: int,
    calibration: Calibration,
    history_clicks: int,
) -> Guarantee:
    """Over all rounds, for gradients within an L2 diameter D of each other.

    T rounds of Gaussian noise σ at distance D are one at distance D√T, so ε is that of the analytic Gaussian with
    multiplier σ/(D√T) (Balle and Wang 2018), which is exact.
    """
    if math.isinf(epsilon):
        return Guarantee.unprotected("clipped gradients without noise", Scope.LIFETIME)
    paper = calibration is Calibration.PAPER
    if history_clicks and not paper:
        return Guarantee.unprotected("noised gradients, negatives from all readers' histories", Scope.LIFETIME)
    true = math.inf if history_clicks else gaussian_epsilon(scale / (diameter * math.sqrt(rounds)), delta)
    return Guarantee(
        epsilon=true,
        delta=0.0 if math.isinf(true) else delta,
        unit=Unit.USER,
        adjacency=Adjacency.SUBSTITUTE,
        adversary=Adversary.SERVER,
        scope=Scope.LIFETIME,
        status=Status.CLAIMED if paper else Status.PROVED,
        claimed_epsilon=epsilon if paper else None,
        mechanism="clipped gradients with Gaussian noise (simulated)",
    )


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
