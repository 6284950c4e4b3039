"""What the people whose data a node hosts have been charged: a file for each job, written before anything leaves.

Budgets of different jobs add up, also if different servers ask for them. A node refuses a job that would bring the sum
above what it allows for life, and a job without a guarantee, unless it allows any.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DiscreetError, InputError
from discreet.files import durable_file
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.protocol.infinity import to_plain

MAX_DELTA = 1e-4
"""δ of all jobs together, where ε has a limit at all."""

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Spending:
    """The costs of all jobs that a node has opened.

    Attributes:
        folder: Where they are kept. Who removes it forgets what was spent.
        max_epsilon: The node's limit of ε in all; infinite if it takes part in what protects nobody.
    """

    folder: Path
    max_epsilon: float

    def charge(self, job: str, cost: Guarantee) -> None:
        """Enter a job, named by a digest, with what it costs; the same job is charged once.

        Raises:
            DiscreetError: it would cost more than the node allows. Nothing is entered then.
        """
        self.check(job, cost)
        record = {"epsilon": to_plain(cost.epsilon), "delta": cost.delta}
        with durable_file(self._path(job)) as draft:
            draft.write_text(json.dumps(record) + "\n", encoding="utf-8")

    def check(self, job: str, cost: Guarantee) -> None:
        """Refuse what `charge` would refuse, and enter nothing: for a job that may never begin."""
        path = self._path(job)
        others = [_cost(other) for other in sorted(self.folder.glob("*.json")) if other != path]
        whom = f"per {cost.unit} ({cost.adjacency})"
        total = math.fsum([cost.epsilon, *(epsilon for epsilon, _ in others)])
        if total > self.max_epsilon * _ROUNDING:
            endless = math.isinf(cost.epsilon)
            asked = "a method that guarantees nothing" if endless else f"ε = {shown_epsilon(cost.epsilon)}"
            delta = "" if endless else f", δ = {cost.delta:.3g} {whom}"
            before = f" after {total - cost.epsilon:.4g} for other jobs" if others and not endless else ""
            raise DiscreetError(
                f"{asked}{delta}{before} is more than the ε = {self.max_epsilon:g} that this node allows in all"
            )
        deltas = math.fsum([cost.delta, *(delta for _, delta in others)])
        if math.isfinite(self.max_epsilon) and deltas > MAX_DELTA * _ROUNDING:
            raise DiscreetError(
                f"δ = {cost.delta:.3g} {whom} with other jobs is more than the {MAX_DELTA:g} that nodes allow in all"
            )

    def spent(self) -> float:
        """ε of all jobs so far."""
        return math.fsum(_cost(path)[0] for path in sorted(self.folder.glob("*.json")))

    def charged(self, job: str) -> bool:
        """Whether the job has been entered before."""
        return self._path(job).exists()

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"


def _cost(path: Path) -> tuple[float, float]:
    try:
        record = json.loads(path.read_text("utf-8"))
        epsilon, delta = float(record["epsilon"]), float(record["delta"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"does not say what a job has cost ({error}); nothing may be spent without it") from None
    if not (epsilon >= 0 and delta >= 0):
        raise InputError(path, "does not say what a job has cost; nothing may be spent without it")
    return epsilon, delta
