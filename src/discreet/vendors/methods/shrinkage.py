"""Solving noised normal equations with what is known of the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.vendors.methods.private_start import RATING_SPREAD


def shrunk_solutions(
    matrices: NDArray[np.float64],
    targets: NDArray[np.float64],
    noise: float,
    prior: NDArray[np.float64],
    weight: float,
) -> NDArray[np.float64]:
    """For each row the best linear estimate of s in A·s + noise = target, A made positive semidefinite.

    In A's eigenbasis it is a/(a² + ν/τ²) times the target, with the prior variance τ² of s and the noise variance
    ν = `noise` + spread²·`weight`·a: privacy's, and that of ratings of about this weight. It is post-processing.
    """
    values, vectors = np.linalg.eigh(matrices)
    values = np.maximum(values, 0.0)
    priors = np.einsum("nij,i->nj", vectors**2, prior)
    variance = noise + RATING_SPREAD**2 * weight * values
    gain = values / np.maximum(values**2 + variance / priors, 1e-12)
    return np.asarray(np.einsum("nij,nj->ni", vectors, gain * np.einsum("nij,ni->nj", vectors, targets)))
