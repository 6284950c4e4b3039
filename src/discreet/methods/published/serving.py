"""Private serving as the papers prescribe it, for evaluation: what the server would rank with.

These run in simulation, with seeded noise; the noise scales and the guarantees are those of the mechanisms in
`discreet.privacy`, which a device would use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.methods.published.noised_gradients import published_sigma
from discreet.methods.ranking import OnDevice, Serving
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights, private_attention
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.mechanisms.padding import RandomPadding
from discreet.privacy.participation_cost import gaussian_epsilon

VDP_CLIP = 0.001
"""The clipping threshold θ of DP-FedRec's user embedding (PrivateRec, section 4); for the attention it names none."""


@dataclass(frozen=True)
class NoisedVector:
    """Vanilla DP user embedding, VDP (PrivateRec, section 3.2.1): clip u to θ in L2, add noise, send it.

    As published the scale of Laplace noise is 2θ/ε. It needs the L1 diameter, 2θ√d, so the true ε is √d times the
    claim; `exact` scales to that. With δ > 0 the noise is Gaussian, for which the L2 diameter 2θ is the right one;
    σ = 2θ/ε·√(2 ln(1.25/δ)) keeps its promise for ε ≤ 1 only, and `exact` is the analytic Gaussian.
    """

    epsilon: float
    size: int
    seed: int
    calibration: Calibration = Calibration.EXACT
    padding: float = 0.0
    delta: float = 0.0

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """The clipped vectors with noise; without noise for ε = ∞."""
        clipped = clip_norm(readers, VDP_CLIP)
        if math.isinf(self.epsilon):
            return clipped
        generator = np.random.default_rng([self.seed, 2])
        draw = generator.normal if self.delta else generator.laplace
        noise = draw(0.0, self._scale, tuple(clipped.shape))
        return clipped + torch.from_numpy(noise.astype(np.float32))

    @property
    def _scale(self) -> float:
        exact = self.calibration is Calibration.EXACT
        if self.delta:
            multiplier = analytic_multiplier(self.epsilon, self.delta)
            return 2 * VDP_CLIP * (multiplier if exact else published_sigma(1.0, self.epsilon, self.delta))
        return 2 * VDP_CLIP * (math.sqrt(self.size) if exact else 1.0) / self.epsilon

    @property
    def _true_epsilon(self) -> float:
        if self.calibration is Calibration.EXACT:
            return self.epsilon
        if self.delta:
            return gaussian_epsilon(self._scale / (2 * VDP_CLIP), self.delta)
        return self.epsilon * math.sqrt(self.size)

    def guarantee(self) -> Guarantee:
        """Of one release. The bound is a diameter, so it protects the whole history, not only one click."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("reader vector without noise", Scope.RELEASE)
        paper = self.calibration is Calibration.PAPER
        return Guarantee(
            epsilon=self._true_epsilon,
            delta=self.delta,
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
    """PrivateRec's serving (Algorithms 1 and 2): attention over the basis, clipped, noised, SoftPlus, reconstructed.

    With `open_categories` it protects clicks on other articles alone (see `open_categories.py`).
    """

    epsilon: float
    basis: int
    theta: float
    padding: float
    history_length: int
    seed: int
    calibration: Calibration = Calibration.EXACT
    delta: float = 0.0
    open_categories: frozenset[str] = frozenset()

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """ũ = Σ α̃ᵢ bᵢ for each reader."""
        weights = attention(readers, parameters["basis"], self.theta)
        if not math.isinf(self.epsilon):
            generator = np.random.default_rng([self.seed, 2])
            noise = (generator.normal if self.delta else generator.laplace)(0.0, self.scale, tuple(weights.shape))
            weights = torch.from_numpy(positive_weights(weights.double().numpy() + noise)).to(readers.dtype)
        return weights @ parameters["basis"]

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, or the Gaussian's σ, in units of the attention weights."""
        return attention_noise_scale(
            self.epsilon, self.basis, self.theta, self.padding, self.calibration, delta=self.delta
        )

    @property
    def variance(self) -> float:
        """Of the noise of one weight; 0 without noise."""
        if math.isinf(self.epsilon):
            return 0.0
        return self.scale**2 * (1 if self.delta else 2)

    def guarantee(self) -> Guarantee:
        """Of one release, for one click; for one on a secret category where others are open."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("attention without noise", Scope.RELEASE)
        return self._as_sent(self._mechanism.guarantee())

    def guarantees(self) -> list[Guarantee]:
        """Of one release, for each unit there is: one click, all clicks that are kept secret, the whole user."""
        if math.isinf(self.epsilon):
            return [self.guarantee()]
        inner = self._mechanism.inner if isinstance(self._mechanism, RandomPadding) else self._mechanism
        # proved here, not claimed by the paper: the sensitivity is a diameter, and padding amplifies nothing
        whole = replace(inner.guarantee(), status=Status.PROVED, claimed_epsilon=None)
        if not self.open_categories:
            return [self.guarantee(), replace(whole, unit=Unit.CLICKS), replace(whole, unit=Unit.USER)]
        whole = self._as_sent(whole)
        every = replace(whole, unit=Unit.SECRET_CLICKS)
        return [self.guarantee(), every, replace(whole, unit=Unit.USER, epsilon=math.inf, delta=0.0)]

    @property
    def _mechanism(self) -> ClippedAttention | RandomPadding:
        return private_attention(
            epsilon=self.epsilon,
            dimension=self.basis,
            theta=self.theta,
            padding=self.padding,
            history_length=self.history_length,
            delta=self.delta,
            calibration=self.calibration,
        )

    def _as_sent(self, found: Guarantee) -> Guarantee:
        if not self.open_categories:
            return found
        sent = f"{found.mechanism}; clicks on {', '.join(sorted(self.open_categories))} are sent as they are"
        return replace(found, unit=Unit.SECRET_CLICK, mechanism=sent)


def vector_serving(
    epsilon: float | None, size: int, seed: int, calibration: Calibration, delta: float = 0.0
) -> Serving:
    """On the device if there is no `epsilon`, or with the noised vector (VDP) of PrivateRec's comparison."""
    return OnDevice() if epsilon is None else NoisedVector(epsilon, size, seed, calibration, delta=delta)


def check_delta(name: str, delta: float) -> None:
    """Refuse a δ that is no small probability; 0 means Laplace noise."""
    if not 0 <= delta < 0.1:
        raise DiscreetError(f"{name}: delta must be at least 0 (Laplace noise) and below 0.1 (Gaussian), not {delta}")


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


def attention_noise_scale(
    epsilon: float, basis: int, theta: float, padding: float, calibration: Calibration, *, delta: float = 0.0
) -> float:
    """The scale of Algorithm 2's noise: Laplace's S/ε₀ with S = θ as published, or with the true Δ₁; σ for δ > 0."""
    mechanism = private_attention(
        epsilon=epsilon,
        dimension=basis,
        theta=theta,
        padding=padding,
        history_length=1,
        delta=delta,
        calibration=calibration,
    )
    inner = mechanism.inner if isinstance(mechanism, RandomPadding) else mechanism
    assert isinstance(inner, ClippedAttention)
    return float(inner.scale) * inner.step
