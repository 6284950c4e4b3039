"""Symmetric matrices as vectors: the entries on and above the diagonal, those above times √2, so that lengths agree."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def vector_length(size: int) -> int:
    """How many numbers stand for a symmetric matrix of this size."""
    return size * (size + 1) // 2


def symmetric_vector(matrix: Floats) -> Floats:
    """The vector that stands for a symmetric matrix."""
    return np.asarray(matrix[_above(len(matrix))] * _factor(len(matrix)))


def symmetric_matrix(vector: Floats) -> Floats:
    """The symmetric matrix that a vector stands for."""
    size = math.isqrt(2 * len(vector))
    matrix = np.zeros((size, size))
    matrix[_above(size)] = vector / _factor(size)
    return np.asarray(matrix + np.triu(matrix, 1).T)


@lru_cache(maxsize=4)
def _above(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(size)


@lru_cache(maxsize=4)
def _factor(size: int) -> Floats:
    return np.where(np.equal(*_above(size)), 1.0, math.sqrt(2))
