"""What one user adds to the sums that vendors share of purchases: whole numbers, of bounded norm whatever was bought.

A user who bought n different items is the vector x with 1/√n at each of them, of norm 1: users weigh the same, and no
purchase is thrown away. How often or when something was bought does not count. Every function takes one vendor's
purchases and gives the sum of its users' contributions. A user's contribution depends on that user's own purchases and
on what is public already, on nothing else. Values are cut towards zero to the lattice, which makes no norm longer, so
adding or removing a user moves each sum by at most

* `sales`, Σ x: `UNIT`, since ‖x‖ ≤ 1;
* `pairs`, the strict upper triangle of Σ v·vᵀ with v = x of popular items: `UNIT`/√2, since Σ_{i<j} (v_i·v_j)² =
  (‖v‖⁴ − Σ v_i⁴)/2 ≤ 1/2;
* `projections`, Σ x·qᵀ with q = Vᵀx shortened to norm 1 where it is longer: `UNIT`, since ‖x·qᵀ‖ = ‖x‖·‖q‖ ≤ 1. That
  holds for any V, so a coordinator that sends a wrong basis learns no more.

in L2. `SharingBudget` then gives the theorem: (ε, δ) for a user added or removed, against the other vendors.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from discreet.data.ratings import Ratings
from discreet.evaluation.recommendation import bought
from discreet.vendors.sharing.contributions import UNIT, Floats, Integers, cut

_ROOT_UNIT = 2**20


def unit_rows(purchases: Ratings) -> csr_array:
    """A row x for each user."""
    rows = bought(purchases).astype(np.float64)
    count = np.diff(rows.indptr)
    rows.data = np.repeat(1 / np.sqrt(np.maximum(count, 1)), count)
    return rows


def sales(purchases: Ratings) -> Integers:
    """Σ x of each item."""
    rows = unit_rows(purchases)
    whole = csr_array((cut(rows.data, UNIT, rows.shape[1]), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(whole.sum(axis=0), np.int64).ravel()


def pairs(purchases: Ratings, popular: Integers) -> Integers:
    """Strict upper triangle of Σ v·vᵀ, row by row."""
    rows = unit_rows(purchases)[:, popular].tocsr()
    whole = csr_array((cut(rows.data, _ROOT_UNIT, len(popular)), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray((whole.T @ whole).toarray()[np.triu_indices(len(popular), 1)], np.int64)


def projections(purchases: Ratings, popular: Integers, basis: Floats, kept: Integers) -> Integers:
    """Σ x·qᵀ of each kept item, row by row; `basis` has a row for each popular item."""
    rows = unit_rows(purchases)
    leaning = np.asarray(rows[:, popular] @ basis)
    leaning /= np.maximum(1.0, np.linalg.norm(leaning, axis=1, keepdims=True))
    part = rows[:, kept].tocoo()
    total = np.zeros((len(kept), basis.shape[1]), np.int64)
    for direction in range(basis.shape[1]):
        whole = cut(part.data * leaning[part.row, direction], UNIT, len(kept) * basis.shape[1])
        np.add.at(total[:, direction], part.col, whole)
    return total.ravel()
