"""The inner loops of iALS: for each row, solve (G + Σ h·hᵀ + λ)·w = Σ h over the vectors h of what it bought."""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import numba
import numpy as np

_ENOUGH = 1e-10
"""A squared residual below which a row is solved."""


@numba.njit(cache=True, fastmath=True)
def cg_rows(bounds, columns, mine, others, gram, ridge, steps):  # pragma: no cover
    """A few steps of conjugate gradients from where each row stands; `gram` has α₀ in it already."""
    rank = mine.shape[1]
    residual, direction, image = np.empty(rank, np.float32), np.empty(rank, np.float32), np.empty(rank, np.float32)
    for row in range(len(mine)):
        start, stop = bounds[row], bounds[row + 1]
        if start == stop:
            mine[row] = 0
            continue
        w = mine[row]
        _times(gram, ridge[row], w, image)
        for k in range(rank):
            residual[k] = -image[k]
        for place in range(start, stop):
            h = others[columns[place]]
            score = np.float32(1)
            for k in range(rank):
                score -= h[k] * w[k]
            for k in range(rank):
                residual[k] += score * h[k]
        squared = np.float32(0)
        for k in range(rank):
            direction[k] = residual[k]
            squared += residual[k] * residual[k]
        for _ in range(steps):
            if squared < _ENOUGH:
                break
            _times(gram, ridge[row], direction, image)
            for place in range(start, stop):
                h = others[columns[place]]
                score = np.float32(0)
                for k in range(rank):
                    score += h[k] * direction[k]
                for k in range(rank):
                    image[k] += score * h[k]
            curvature = np.float32(0)
            for k in range(rank):
                curvature += direction[k] * image[k]
            length = squared / curvature
            after = np.float32(0)
            for k in range(rank):
                w[k] += length * direction[k]
                residual[k] -= length * image[k]
                after += residual[k] * residual[k]
            share = after / squared
            squared = after
            for k in range(rank):
                direction[k] = residual[k] + share * direction[k]


@numba.njit(cache=True, fastmath=True)
def cholesky_rows(bounds, columns, mine, others, gram, ridge):  # pragma: no cover
    """Each row exactly."""
    rank = mine.shape[1]
    for row in range(len(mine)):
        start, stop = bounds[row], bounds[row + 1]
        matrix, right = gram.astype(np.float64), np.zeros(rank)
        for place in range(start, stop):
            h = others[columns[place]]
            for a in range(rank):
                right[a] += h[a]
                for b in range(rank):
                    matrix[a, b] += h[a] * h[b]
        for k in range(rank):
            matrix[k, k] += ridge[row]
        mine[row] = np.linalg.solve(matrix, right).astype(np.float32)


@numba.njit(cache=True, fastmath=True, inline="always")
def _times(gram, ridge, vector, image):  # pragma: no cover
    """The image is (gram + ridge)·vector."""
    rank = len(vector)
    for a in range(rank):
        image[a] = ridge * vector[a]
    for a in range(rank):
        weight = vector[a]
        for b in range(rank):
            image[b] += gram[a, b] * weight
