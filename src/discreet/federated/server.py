"""What the server makes of the updates that arrive, some of them late, broken or hostile.

An update is added to a running sum as it arrives and then forgotten. One that cannot be right is refused and counted;
whatever it holds, the model is not touched by it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from discreet.federated.objective import Parameters


class Refusal(StrEnum):
    """Why an update does not count."""

    STALE = "of another round"
    UNINVITED = "from a client that was not chosen"
    REPLAYED = "from a client that has already answered"
    MISSHAPEN = "with wrong names, shapes or types"
    NOT_FINITE = "with numbers that are not finite"
    BAD_WEIGHT = "with a weight that is not positive or above the limit"


@dataclass(frozen=True)
class Update:
    """What a client sends: its gradient (or difference) for one round, and its weight in the average."""

    client: int
    round: int
    values: Mapping[str, Tensor]
    weight: float = 1.0


class Inbox:
    """Collects the updates of one round into their weighted mean.

    Attributes:
        refused: how many updates were refused, by reason.
        bounded: how many updates were scaled down to the norm bound.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        round_: int,
        invited: set[int],
        *,
        norm_bound: float = math.inf,
        weight_limit: float = 1e6,
    ) -> None:
        """Open the round.

        Args:
            parameters: names, shapes and types that an update must have.
            round_: the round's number.
            invited: the clients that were chosen.
            norm_bound: updates with a larger Euclidean norm are scaled down to it.
            weight_limit: updates with a larger weight are refused.
        """
        self.refused: Counter[Refusal] = Counter()
        self.bounded = 0
        self._like = parameters
        self._round = round_
        self._waiting = set(invited)
        self._answered: set[int] = set()
        self._norm_bound = norm_bound
        self._weight_limit = weight_limit
        self._weight = 0.0
        self._sum = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in parameters.items()}

    def receive(self, update: Update) -> Refusal | None:
        """Add an update, or refuse it and say why. A refused client may send a good one in its place."""
        refusal = self._judge(update)
        if refusal is not None:
            self.refused[refusal] += 1
            return refusal
        norm = math.sqrt(sum(float(value.double().square().sum()) for value in update.values.values()))
        scale = 1.0
        if norm > self._norm_bound:
            self.bounded += 1
            scale = self._norm_bound / norm
        for name, value in update.values.items():
            self._sum[name].add_(value.double(), alpha=scale * update.weight)
        self._weight += update.weight
        self._waiting.discard(update.client)
        self._answered.add(update.client)
        return None

    def _judge(self, update: Update) -> Refusal | None:
        if update.round != self._round:
            return Refusal.STALE
        if update.client in self._answered:
            return Refusal.REPLAYED
        if update.client not in self._waiting:
            return Refusal.UNINVITED
        if not (0 < update.weight <= self._weight_limit):
            return Refusal.BAD_WEIGHT
        if update.values.keys() != self._like.keys() or not all(
            isinstance(value, Tensor) and value.shape == like.shape and value.dtype == like.dtype
            for value, like in ((update.values[name], like) for name, like in self._like.items())
        ):
            return Refusal.MISSHAPEN
        if not all(torch.isfinite(value).all() for value in update.values.values()):
            return Refusal.NOT_FINITE
        return None

    @property
    def answered(self) -> frozenset[int]:
        """The clients whose updates count."""
        return frozenset(self._answered)

    def mean(self) -> Parameters | None:
        """ḡ = Σ w_u g_u / Σ w_u (FedNewsRec, Eq. 6), or None if no update counts; the round then changes nothing."""
        if not self._answered:
            return None
        return {name: (total / self._weight).to(self._like[name].dtype) for name, total in self._sum.items()}
