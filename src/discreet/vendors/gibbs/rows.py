"""One half of a Gibbs iteration: draw all rows of one side, given the other side.

With x_j the other side's row (a one in front, for this side's bias), t_j the rating less the mean and the other side's
bias, α the precision of the row's noise, and a prior N(m, Λ⁻¹), a row is drawn from the normal distribution with

    precision  A = Λ + α Σ_j x_j x_jᵀ + Σ_p a_p a_pᵀ / s_p²,    mean  A⁻¹ (Λ m + α Σ_j t_j x_j + Σ_p a_p y_p / s_p²)

where p runs over the row's pseudo-observations y_p = a_p · row + N(0, s_p²). Sums are in single precision over blocks
of ratings, and in double precision over the blocks and from there on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from discreet.vendors.gibbs.random import fill_normal, row_stream

_TILE = 4
"""Gram matrices are computed in tiles of 4 × 4, whose sums stay in the processor's registers."""
_BLOCK, _STRIDE = 256, 272
_PARTS = 64
"""Among so many parts of the rows threads choose; each part has one room to work in."""
_LANES = 8
"""So many rows are factorised at once, a row to a lane of the processor's vectors."""


class Neighbours(NamedTuple):
    """The ratings of each row of one side: those of `row` are at `start[row]` up to `start[row + 1]`.

    `order` has the rows that are drawn, at random, so that whoever cuts it evenly among threads cuts the work evenly.
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


class PseudoRows(NamedTuple):
    """Pseudo-observations of each row, in the same way: already divided by their standard deviation."""

    start: NDArray[np.int64]
    direction: NDArray[np.float64]
    value: NDArray[np.float64]


def neighbours(
    row: NDArray[np.int32],
    other: NDArray[np.int32],
    value: NDArray[np.float32],
    rows: int,
    seed: int,
    drawn: int | None = None,
) -> Neighbours:
    """Ratings ordered by `row`; the first `drawn` rows are drawn (by default all)."""
    by_row = np.argsort(row, kind="stable")
    start = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=start[1:])
    order = np.random.default_rng(seed).permutation(rows if drawn is None else drawn).astype(np.int32)
    return Neighbours(start, other[by_row], value[by_row], order)


def design(rows: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float32]:
    """What the other side needs of `rows`: a one for its own bias, the factors, and the bias in the last column.

    All times √weight, where the ratings of a row count so many times.
    """
    columns = np.column_stack((np.ones(len(rows)), rows[:, 1:], rows[:, 0]))
    return (np.sqrt(weight)[:, None] * columns).astype(np.float32)


@njit(cache=True, fastmath=True, error_model="numpy")
def _gather(
    other: NDArray[np.int32],
    value: NDArray[np.float32],
    begin: int,
    count: int,
    others: NDArray[np.float32],
    block: NDArray[np.float32],
) -> None:
    """Put (x_j, t_j) of some ratings into the columns of `block`."""
    last = others.shape[1] - 1
    for j in range(count):
        neighbour = other[begin + j]
        for k in range(last):
            block[k, j] = others[neighbour, k]
        block[last, j] = others[neighbour, 0] * value[begin + j] - others[neighbour, last]


@njit(cache=True, fastmath=True, error_model="numpy")
def _add_gram(block: NDArray[np.float32], count: int, gram: NDArray[np.float64], lane: int) -> None:
    """Add block · blockᵀ, at and right of the diagonal, to one lane of `gram`."""
    size = len(block)
    zero = np.float32(0.0)
    for i in range(0, size, 4):
        for k in range(i, size, 4):
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
            for j in range(count):
                a0, a1, a2, a3 = block[i, j], block[i + 1, j], block[i + 2, j], block[i + 3, j]
                b0, b1, b2, b3 = block[k, j], block[k + 1, j], block[k + 2, j], block[k + 3, j]
                s00 += a0 * b0
                s01 += a0 * b1
                s02 += a0 * b2
                s03 += a0 * b3
                s10 += a1 * b0
                s11 += a1 * b1
                s12 += a1 * b2
                s13 += a1 * b3
                s20 += a2 * b0
                s21 += a2 * b1
                s22 += a2 * b2
                s23 += a2 * b3
                s30 += a3 * b0
                s31 += a3 * b1
                s32 += a3 * b2
                s33 += a3 * b3
            gram[i, k, lane] += s00
            gram[i, k + 1, lane] += s01
            gram[i, k + 2, lane] += s02
            gram[i, k + 3, lane] += s03
            gram[i + 1, k, lane] += s10
            gram[i + 1, k + 1, lane] += s11
            gram[i + 1, k + 2, lane] += s12
            gram[i + 1, k + 3, lane] += s13
            gram[i + 2, k, lane] += s20
            gram[i + 2, k + 1, lane] += s21
            gram[i + 2, k + 2, lane] += s22
            gram[i + 2, k + 3, lane] += s23
            gram[i + 3, k, lane] += s30
            gram[i + 3, k + 1, lane] += s31
            gram[i + 3, k + 2, lane] += s32
            gram[i + 3, k + 3, lane] += s33


@njit(cache=True, fastmath=True, error_model="numpy")
def _factorise(upper: NDArray[np.float64]) -> None:
    """A = RᵀR in every lane, in place, R upper triangular; on its diagonal stand the inverses."""
    size = len(upper)
    for i in range(size):
        for lane in range(_LANES):
            upper[i, i, lane] = 1.0 / np.sqrt(upper[i, i, lane])
        for k in range(i + 1, size):
            for lane in range(_LANES):
                upper[i, k, lane] *= upper[i, i, lane]
        for j in range(i + 1, size):
            for k in range(j, size):
                for lane in range(_LANES):
                    upper[j, k, lane] -= upper[i, j, lane] * upper[i, k, lane]


@njit(cache=True, fastmath=True, error_model="numpy")
def _solve_lower(upper: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Solve Rᵀ x' = x in every lane, in place."""
    for i in range(len(x)):
        for lane in range(_LANES):
            x[i, lane] *= upper[i, i, lane]
        for k in range(i + 1, len(x)):
            for lane in range(_LANES):
                x[k, lane] -= upper[i, k, lane] * x[i, lane]


@njit(cache=True, fastmath=True, error_model="numpy")
def _solve_upper(upper: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """Solve R x' = x in every lane, in place."""
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            for lane in range(_LANES):
                x[i, lane] -= upper[i, k, lane] * x[k, lane]
        for lane in range(_LANES):
            x[i, lane] *= upper[i, i, lane]


@njit(cache=True, parallel=True, fastmath=True, error_model="numpy")
def draw_rows(
    ratings: Neighbours,
    others: NDArray[np.float32],
    noise_precision: NDArray[np.float64],
    prior: RowPrior,
    known: PseudoRows,
    key: np.uint64,
    draws: NDArray[np.float64],
    means: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> None:
    """Draw the rows of `order` into `draws`; `means` gets their means, `errors` the sums of their squared residuals.

    `others` is the other side's `design`; where that has weights, they multiply α rating by rating.
    """
    rows, size = len(ratings.order), draws.shape[1]
    tiled = (size + _TILE) // _TILE * _TILE
    chunks = (rows + _LANES - 1) // _LANES
    parts = min(chunks, _PARTS)
    for part in prange(parts):
        block = np.zeros((tiled, _STRIDE), np.float32)
        gram, factor = np.zeros((tiled, tiled, _LANES)), np.zeros((size, size, _LANES))
        mean, draw, normal = np.zeros((size, _LANES)), np.zeros((size, _LANES)), np.zeros(size)
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts):
            gram[:] = 0.0
            _draw_chunk(
                ratings, others, noise_precision, prior, known, key, draws, means, errors,
                chunk, block, gram, factor, mean, draw, normal,
            )  # fmt: skip


@njit(cache=True, fastmath=True, error_model="numpy")
def _draw_chunk(
    ratings: Neighbours,
    others: NDArray[np.float32],
    noise_precision: NDArray[np.float64],
    prior: RowPrior,
    known: PseudoRows,
    key: np.uint64,
    draws: NDArray[np.float64],
    means: NDArray[np.float64],
    errors: NDArray[np.float64],
    chunk: int,
    block: NDArray[np.float32],
    gram: NDArray[np.float64],
    factor: NDArray[np.float64],
    mean: NDArray[np.float64],
    draw: NDArray[np.float64],
    normal: NDArray[np.float64],
) -> None:
    """Draw the rows of one chunk of `order`, one to a lane; the arrays from `block` on are room to work in."""
    rows, size = len(ratings.order), draws.shape[1]
    for lane in range(_LANES):
        row = ratings.order[min(chunk * _LANES + lane, rows - 1)]
        first, end = ratings.start[row], ratings.start[row + 1]
        for begin in range(first, end, _BLOCK):
            count = min(end - begin, _BLOCK)
            _gather(ratings.other, ratings.value, begin, count, others, block)
            _add_gram(block, count, gram, lane)
        group = prior.group[row]
        for i in range(size):
            mean[i, lane] = noise_precision[row] * gram[i, size, lane]
            for k in range(size):
                mean[i, lane] += prior.precision[group, i, k] * prior.mean[row, k]
            for k in range(i, size):
                factor[i, k, lane] = noise_precision[row] * gram[i, k, lane] + prior.precision[group, i, k]
        for p in range(known.start[row], known.start[row + 1]):
            for i in range(size):
                mean[i, lane] += known.direction[p, i] * known.value[p]
                for k in range(i, size):
                    factor[i, k, lane] += known.direction[p, i] * known.direction[p, k]
        fill_normal(row_stream(key, row), normal)
        draw[:, lane] = normal
    _factorise(factor)
    _solve_lower(factor, mean)
    draw += mean
    _solve_upper(factor, mean)
    _solve_upper(factor, draw)
    for lane in range(min(_LANES, rows - chunk * _LANES)):
        row = ratings.order[chunk * _LANES + lane]
        error = gram[size, size, lane]
        for i in range(size):
            means[row, i], draws[row, i] = mean[i, lane], draw[i, lane]
            error += draw[i, lane] * (gram[i, i, lane] * draw[i, lane] - 2.0 * gram[i, size, lane])
            for k in range(i + 1, size):
                error += 2.0 * gram[i, k, lane] * draw[i, lane] * draw[k, lane]
        errors[row] = max(error, 0.0)
