"""One half of a Gibbs iteration: draw all rows of one side, given the other side.

With x_j the other side's row (a one in front, for this side's bias), t_j the rating less the mean and the other side's
bias, α the precision of the noise, and a prior N(m, Λ⁻¹), a row is drawn from the normal distribution with

    precision  A = Λ + α Σ_j x_j x_jᵀ + Σ_p a_p a_pᵀ / s_p²,    mean  A⁻¹ (Λ m + α Σ_j t_j x_j + Σ_p a_p y_p / s_p²)

where p runs over the row's pseudo-observations y_p = a_p · row + N(0, s_p²). Sums are in single precision over blocks of
ratings and in double precision over the blocks and from there on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.vendors.gibbs.random import fill_normal, row_stream

LANES = 16
"""Rows of the other side are padded with zeros to a multiple of this, for the processor's vectors."""
_BLOCK = 512
_CHUNK = 32


class Neighbours(NamedTuple):
    """The ratings of each row of one side: those of `row` are at `start[row]` up to `start[row + 1]`.

    `order` is a random order of the rows, so that whoever cuts it evenly among threads cuts the work evenly.
    """

    start: NDArray[np.int64]
    other: NDArray[np.int32]
    value: NDArray[np.float32]
    order: NDArray[np.int32]


class RowPrior(NamedTuple):
    """Mean of each row, and precision of each row's group, by number of the group."""

    mean: NDArray[np.float64]
    group: NDArray[np.int32]
    precision: NDArray[np.float64]


class Known(NamedTuple):
    """Pseudo-observations of each row, in the same way: already divided by their standard deviation."""

    start: NDArray[np.int64]
    direction: NDArray[np.float64]
    value: NDArray[np.float64]


def neighbours(
    row: NDArray[np.int32], other: NDArray[np.int32], value: NDArray[np.float32], rows: int, seed: int
) -> Neighbours:
    """Ratings ordered by `row`."""
    by_row = np.argsort(row, kind="stable")
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=start[1:])
    order = np.random.default_rng(seed).permutation(rows).astype(np.int32)
    return Neighbours(start, other[by_row], value[by_row], order)


def padded(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """What the other side needs of `rows`: a one for its own bias, the factors, zeros; in the last column the bias."""
    width = rows.shape[1]
    lanes = -(-(width + 1) // LANES) * LANES
    design = np.zeros((len(rows), lanes), np.float32)
    design[:, 1:width] = rows[:, 1:]
    design[:, 0] = 1.0
    design[:, -1] = rows[:, 0]
    return design


@njit(cache=True, fastmath=True, error_model="numpy")
def _accumulate(
    other: NDArray[np.int32],
    value: NDArray[np.float32],
    design: NDArray[np.float32],
    gram: NDArray[np.float32],
    moment: NDArray[np.float32],
) -> float:
    """Add Σ x xᵀ (at and right of the diagonal) to `gram` and Σ t x to `moment`; the sum of t² is returned."""
    lanes = design.shape[1]
    last = lanes - 1
    squares = 0.0
    whole = len(other) // 4 * 4
    for j in range(0, whole, 4):
        a, b, c, d = design[other[j]], design[other[j + 1]], design[other[j + 2]], design[other[j + 3]]
        ta, tb, tc, td = value[j] - a[last], value[j + 1] - b[last], value[j + 2] - c[last], value[j + 3] - d[last]
        squares += ta * ta + tb * tb + tc * tc + td * td
        for k in range(lanes):
            moment[k] += ta * a[k] + tb * b[k] + tc * c[k] + td * d[k]
        for i in range(last):
            ai, bi, ci, di = a[i], b[i], c[i], d[i]
            for k in range(i // LANES * LANES, lanes):
                gram[i, k] += ai * a[k] + bi * b[k] + ci * c[k] + di * d[k]
    for j in range(whole, len(other)):
        a = design[other[j]]
        ta = value[j] - a[last]
        squares += ta * ta
        for k in range(lanes):
            moment[k] += ta * a[k]
        for i in range(last):
            ai = a[i]
            for k in range(i // LANES * LANES, lanes):
                gram[i, k] += ai * a[k]
    return squares


@njit(cache=True, fastmath=True, error_model="numpy")
def _factorise(upper: NDArray[np.float64]) -> None:
    """A = RᵀR in place, R upper triangular (what is below the diagonal is not looked at)."""
    size = len(upper)
    for i in range(size):
        pivot = 1.0 / np.sqrt(upper[i, i])
        for k in range(i, size):
            upper[i, k] *= pivot
        for j in range(i + 1, size):
            factor = upper[i, j]
            for k in range(j, size):
                upper[j, k] -= factor * upper[i, k]


@njit(cache=True, fastmath=True, error_model="numpy")
def _solve_lower(upper: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Solve Rᵀ x' = x in place."""
    for i in range(len(x)):
        x[i] /= upper[i, i]
        for k in range(i + 1, len(x)):
            x[k] -= upper[i, k] * x[i]


@njit(cache=True, fastmath=True, error_model="numpy")
def _solve_upper(upper: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Solve R x' = x in place."""
    for i in range(len(x) - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, len(x)):
            total -= upper[i, k] * x[k]
        x[i] = total / upper[i, i]


@njit(cache=True, parallel=True, fastmath=True, error_model="numpy")
def draw_rows(
    ratings: Neighbours,
    design: NDArray[np.float32],
    noise_precision: float,
    prior: RowPrior,
    known: Known,
    key: np.uint64,
    draws: NDArray[np.float64],
    means: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> None:
    """Draw every row into `draws`; `means` gets the mean it was drawn around, `errors` its squared residuals' sum."""
    rows, size = draws.shape
    lanes = design.shape[1]
    for chunk in prange((rows + _CHUNK - 1) // _CHUNK):
        block_gram, block_moment = np.empty((lanes, lanes), np.float32), np.empty(lanes, np.float32)
        gram, moment = np.empty((size, size)), np.empty(size)
        factor, mean, deviation = np.empty((size, size)), np.empty(size), np.empty(size)
        for position in range(chunk * _CHUNK, min(rows, (chunk + 1) * _CHUNK)):
            row = ratings.order[position]
            first, end = ratings.start[row], ratings.start[row + 1]
            gram[:] = 0.0
            moment[:] = 0.0
            squares = 0.0
            for begin in range(first, end, _BLOCK):
                part = slice(begin, min(end, begin + _BLOCK))
                block_gram[:] = 0.0
                block_moment[:] = 0.0
                squares += _accumulate(ratings.other[part], ratings.value[part], design, block_gram, block_moment)
                for i in range(size):
                    moment[i] += block_moment[i]
                    for k in range(i, size):
                        gram[i, k] += block_gram[i, k]
            precision = prior.precision[prior.group[row]]
            for i in range(size):
                mean[i] = noise_precision * moment[i]
                for k in range(size):
                    mean[i] += precision[i, k] * prior.mean[row, k]
                for k in range(i, size):
                    factor[i, k] = noise_precision * gram[i, k] + precision[i, k]
            for observation in range(known.start[row], known.start[row + 1]):
                along, value = known.direction[observation], known.value[observation]
                for i in range(size):
                    mean[i] += along[i] * value
                    for k in range(i, size):
                        factor[i, k] += along[i] * along[k]
            _factorise(factor)
            _solve_lower(factor, mean)
            _solve_upper(factor, mean)
            fill_normal(row_stream(key, row), deviation)
            _solve_upper(factor, deviation)
            error = squares
            for i in range(size):
                means[row, i] = mean[i]
                deviation[i] += mean[i]
                draws[row, i] = deviation[i]
            for i in range(size):
                error += deviation[i] * (gram[i, i] * deviation[i] - 2.0 * moment[i])
                for k in range(i + 1, size):
                    error += 2.0 * gram[i, k] * deviation[i] * deviation[k]
            errors[row] = max(error, 0.0)
