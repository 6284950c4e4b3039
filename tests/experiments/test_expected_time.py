"""The estimate before a comparison: a short run tells what is fixed, and what an iteration costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from small_ratings import random_ratings

from discreet.data.ratings import Ratings
from discreet.experiments import expected_time
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.vendor_method import VendorMethod

now = 0.0


@dataclass(frozen=True)
class Clockwork(VendorMethod):
    """Takes 5 s to share, and 3 s and 2 s an iteration for each vendor."""

    name: ClassVar[str] = "clockwork"
    model: GibbsMF = field(default_factory=GibbsMF)

    def share(self, vendors: Sequence[Ratings], seed: int) -> int:
        _wait(5.0)
        return len(vendors)

    def predictor(self, shared: int, recipient: int, own: Ratings, seed: int) -> Any:
        assert shared == 2
        _wait(3.0 + 2.0 * self.model.iterations)


@dataclass(frozen=True)
class Pooled(Clockwork):
    """Samples while it shares."""

    name: ClassVar[str] = "full"

    def share(self, vendors: Sequence[Ratings], seed: int) -> int:
        _wait(1.0 + 4.0 * self.model.iterations)
        return len(vendors)


def _wait(seconds: float) -> None:
    global now
    now += seconds


def test_iterations_are_extrapolated_and_the_rest_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_time, "time", SimpleNamespace(perf_counter=lambda: now))
    train, model = [random_ratings(0), random_ratings(1)], GibbsMF(4, 100, 20)
    assert expected_time.expected_seconds(Clockwork(model), model, train, 1) == pytest.approx((5.0, 203.0))
    assert expected_time.expected_seconds(Pooled(model), model, train, 1) == pytest.approx((401.0, 0.0))
