"""A symmetric matrix without its noise, as far as its spectrum tells what is noise.

Let Y = S + N, with N of Gaussian noise: deviation s off the diagonal, √2·s on it, so that no direction is better known
than another. Of all estimates of S that keep Y's eigenvectors, the one of least expected squared error has, for a large
matrix of size d, the eigenvalues

    ξ(λ) = λ − 2v·h(λ),   v = d·s²,   h(λ) = mean of 1/(λ − μ) over Y's eigenvalues μ

(Bun, Allez, Bouchaud, Potters 2016, "Rotational invariant estimator for general noisy matrices"). For noise alone the
eigenvalues are a semicircle of radius 2√v, where h(λ) = λ/2v: nothing is left, in 96 directions next to nothing. One
that stands out of it keeps most of its size. The mean is smoothed over a width of 2s, about what eigenvalues are apart,
and no eigenvalue grows or changes its sign. All of it is computed from Y, so nothing more is released.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_WIDTH = 2.0


def denoised(matrix: Floats, deviation: float) -> Floats:
    """The estimate of what a symmetric matrix was before the noise.

    Args:
        matrix: Y.
        deviation: s, of the noise off the diagonal.
    """
    size = len(matrix)
    values, directions = np.linalg.eigh(matrix)
    variance, width = size * deviation**2, _WIDTH * deviation
    apart = values[:, None] - values
    pushed = np.divide(apart, apart**2 + width**2, out=np.zeros_like(apart), where=apart != 0).mean(axis=1)
    kept = values - 2 * variance * pushed
    kept = np.where(kept * values > 0, np.sign(values) * np.minimum(np.abs(kept), np.abs(values)), 0.0)
    return np.asarray((directions * kept) @ directions.T)


def symmetric_deviation(length: float, size: int) -> float:
    """S of noise whose matrix has this expected length: d on the diagonal of 2s², d(d − 1) of s² besides."""
    return length / math.sqrt(size * (size + 1))
