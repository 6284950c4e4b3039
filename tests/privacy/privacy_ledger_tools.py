"""What the tests of the ledger have in common: a weekly schedule, a clock one can set, guarantees of a given cost."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.ledger import Budget, Ledger, Schedule

WEEKLY = Schedule(datetime(2026, 1, 5, tzinfo=UTC), timedelta(days=7))
WEEK = WEEKLY.length_seconds


class SetClock:
    """A clock that shows what it is set to."""

    def __init__(self, epoch: int = 0) -> None:
        self.seconds = 0.0
        self.set_to_epoch(epoch)

    def __call__(self) -> float:
        return self.seconds

    def set_to_epoch(self, epoch: int) -> None:
        self.seconds = WEEKLY.start_seconds + epoch * WEEK + 3600.0


def guarantee(epsilon: float, delta: float = 0.0, unit: Unit = Unit.CLICK) -> Guarantee:
    terms = (Adjacency.SUBSTITUTE, Adversary.SERVER, Scope.RELEASE, Status.PROVED)
    return Guarantee(epsilon, delta, unit, *terms, mechanism="topic histogram", version=2)


def open_ledger(folder: Path, clock: SetClock, epsilon: float = 2.0, delta: float = 0.0, **more: object) -> Ledger:
    return Ledger(folder / "ledger", Budget(epsilon, delta, **more), WEEKLY, clock=clock)  # type: ignore[arg-type]


class Maker:
    """Makes numbered bytes, so that no two are the same, and counts how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return b"release %d" % self.calls
