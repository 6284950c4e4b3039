"""Who takes part in a round."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.training.draws import round_generator

Positions = NDArray[np.int64]


def round_size(clients: int, fraction: float) -> int:
    """How many clients a round has: ⌊r·|U|⌋ (PrivateRec, Alg. 3, line 4), but at least one."""
    if not 0 < fraction <= 1:
        raise ValueError(f"the fraction of clients in a round must be in (0, 1], not {fraction}")
    return max(1, math.floor(fraction * clients))


def choose_clients(clients: int, count: int, seed: int, round_: int, node: int = 0) -> Positions:
    """`count` different clients out of a node's `clients`, each set of them equally likely, ascending."""
    generator = round_generator(seed, round_, "clients", node)
    return np.sort(generator.choice(clients, min(count, clients), replace=False, shuffle=False)).astype(np.int64)
