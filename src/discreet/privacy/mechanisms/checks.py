"""Refusals: every parameter and every value is checked before anything is sampled or spent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.guarantee import Adjacency, Unit


def check_substitution(adjacency: Adjacency) -> None:
    """Neighbours differ in which choice was made; whether one was made at all is not hidden."""
    if adjacency is not Adjacency.SUBSTITUTE:
        raise ValueError(f"a report of one choice hides which it was, not that it was made: no {adjacency} guarantee")


def check_presence(unit: Unit, adjacency: Adjacency) -> None:
    """A user who is not there sends nothing; a user who is, sends a vector, whatever it holds."""
    if unit is Unit.USER and adjacency is Adjacency.ADD_REMOVE:
        raise ValueError(
            "a report hides what a user did, not that there is one: substitute or zero out, not add/remove"
        )


def check_epsilon(epsilon: float) -> None:
    """ε is finite and above 0."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a number above 0, not {epsilon}")


def check_delta(delta: float, *, zero: bool = False) -> None:
    """δ is above 0 (or 0 where `zero` allows it) and below 1."""
    if not (0 <= delta < 1 and (zero or delta > 0)):
        raise ValueError(f"delta must be {'at least' if zero else 'above'} 0 and below 1, not {delta}")


def check_positive(name: str, value: float) -> None:
    """A bound, norm or scale is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a number above 0, not {value}")


def check_one_of_many(unit: Unit, adjacency: Adjacency) -> None:
    """A proof about one click of several speaks of replacing that one, not of a whole user or of an absence."""
    if unit in (Unit.USER, Unit.CLICKS):
        raise ValueError("this is proved for one click of a history, not for all; see accounting.all_clicks")
    if adjacency is not Adjacency.SUBSTITUTE:
        raise ValueError("this is proved for substitution: the length of the history is public")


def check_count(name: str, value: int, minimum: int = 1) -> None:
    """A number of things is an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}, not {value}")


def checked_index(name: str, value: Any, choices: int) -> int:
    """One of `choices` things by its position, counted from 0."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < choices:
        raise ValueError(f"{name} must be a whole number from 0 to {choices - 1}, not {value}")
    return int(value)


def checked_vector(value: Any, dimension: int) -> NDArray[np.float64]:
    """A vector of `dimension` finite numbers."""
    return checked_matrix(np.asarray(value, dtype=np.float64)[None], 1, dimension).reshape(dimension)


def checked_matrix(value: Any, rows: int | None, dimension: int) -> NDArray[np.float64]:
    """Finite numbers, one row per click (any number of rows if `rows` is None)."""
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != dimension or rows not in (None, matrix.shape[0]):
        wanted = f"({'any' if rows is None else rows}, {dimension})"
        raise ValueError(f"values must have shape {wanted}, not {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("values must be finite: there is a NaN or an infinity among them")
    return matrix


def check_simplex(matrix: NDArray[np.float64]) -> None:
    """Each row is non-negative and sums to 1, to within rounding."""
    if (matrix < 0).any() or (np.abs(matrix.sum(axis=1) - 1) > 1e-6).any():
        raise ValueError("each row must be a point of the simplex: no entry below 0, and a sum of 1")
