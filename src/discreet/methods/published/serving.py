"""Private serving as the papers prescribe it, for evaluation: what the server would rank with.

These run in simulation, with seeded noise; the noise scales and the guarantees are those of the mechanisms in
`discreet.privacy`, which a device would use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.methods.ranking import OnDevice, Serving
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights, private_attention
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.mechanisms.padding import RandomPadding

VDP_CLIP = 0.001
"""The clipping threshold θ of DP-FedRec's user embedding (PrivateRec, section 4); for the attention it names none."""


@dataclass(frozen=True)
class NoisedVector:
    """Vanilla DP user embedding, VDP (PrivateRec, section 3.2.1): clip u to θ in L2, add Laplace noise, send it.

    As published the scale is 2θ/ε. Laplace noise needs the L1 diameter, 2θ√d, so the true ε is √d times the claim;
    `exact` scales to that.
    """

    epsilon: float
    size: int
    seed: int
    calibration: Calibration = Calibration.EXACT
    padding: float = 0.0

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """The clipped vectors with noise; without noise for ε = ∞."""
        clipped = clip_norm(readers, VDP_CLIP)
        if math.isinf(self.epsilon):
            return clipped
        noise = np.random.default_rng([self.seed, 2]).laplace(0.0, self._scale, tuple(clipped.shape))
        return clipped + torch.from_numpy(noise.astype(np.float32))

    @property
    def _scale(self) -> float:
        diameter = 2 * VDP_CLIP * (math.sqrt(self.size) if self.calibration is Calibration.EXACT else 1.0)
        return diameter / self.epsilon

    def guarantee(self) -> Guarantee:
        """Of one release. The bound is a diameter, so it protects the whole history, not only one click."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("reader vector without noise", Scope.RELEASE)
        paper = self.calibration is Calibration.PAPER
        return Guarantee(
            epsilon=self.epsilon * (math.sqrt(self.size) if paper else 1.0),
            delta=0.0,
            unit=Unit.USER,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.RELEASE,
            status=Status.CLAIMED if paper else Status.PROVED,
            mechanism="noised reader vector (VDP, simulated)",
            claimed_epsilon=self.epsilon if paper else None,
        )


@dataclass(frozen=True)
class NoisedAttention:
    """PrivateRec's serving (Algorithms 1 and 2): attention over the basis, clipped, noised, SoftPlus, reconstructed."""

    epsilon: float
    basis: int
    theta: float
    padding: float
    history_length: int
    seed: int
    calibration: Calibration = Calibration.EXACT

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """ũ = Σ α̃ᵢ bᵢ for each reader."""
        weights = attention(readers, parameters["basis"], self.theta)
        if not math.isinf(self.epsilon):
            noise = np.random.default_rng([self.seed, 2]).laplace(0.0, self.scale, tuple(weights.shape))
            weights = torch.from_numpy(positive_weights(weights.double().numpy() + noise)).to(readers.dtype)
        return weights @ parameters["basis"]

    @property
    def scale(self) -> float:
        """The Laplace scale, in units of the attention weights."""
        return attention_noise_scale(self.epsilon, self.basis, self.theta, self.padding, self.calibration)

    def guarantee(self) -> Guarantee:
        """Of one release."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("attention without noise", Scope.RELEASE)
        return private_attention(
            epsilon=self.epsilon,
            dimension=self.basis,
            theta=self.theta,
            padding=self.padding,
            history_length=self.history_length,
            calibration=self.calibration,
        ).guarantee()


def vector_serving(epsilon: float | None, size: int, seed: int, calibration: Calibration) -> Serving:
    """On the device if there is no `epsilon`, or with the noised vector (VDP) of PrivateRec's comparison."""
    return OnDevice() if epsilon is None else NoisedVector(epsilon, size, seed, calibration)


def checked_calibration(calibration: str) -> Calibration:
    """The calibration of that name."""
    try:
        return Calibration(calibration)
    except ValueError:
        raise DiscreetError(f"calibration is exact or paper, not '{calibration}'") from None


def attention(readers: Tensor, basis: Tensor, theta: float) -> Tensor:
    """Softmax(u·b/√d), clipped to L2 norm θ (Algorithm 2, lines 7 and 8, with the θ that line 8 lacks)."""
    return clip_norm(torch.softmax(readers @ basis.T / math.sqrt(basis.shape[1]), dim=-1), theta)


def clip_norm(vectors: Tensor, bound: float) -> Tensor:
    """Vectors scaled down to L2 norm `bound` where they are longer."""
    norms: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / (norms / bound).clamp(min=1.0)


def attention_noise_scale(epsilon: float, basis: int, theta: float, padding: float, calibration: Calibration) -> float:
    """The Laplace scale of Algorithm 2: S/ε₀ with S = θ as published, or with the true Δ₁."""
    mechanism = private_attention(
        epsilon=epsilon, dimension=basis, theta=theta, padding=padding, history_length=1, calibration=calibration
    )
    inner = mechanism.inner if isinstance(mechanism, RandomPadding) else mechanism
    assert isinstance(inner, ClippedAttention)
    return float(inner.scale) * inner.step
