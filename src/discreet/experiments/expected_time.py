"""How long a comparison will take: measured on this machine, in short runs of what will be run at length."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from discreet.data.ratings import Ratings
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.vendor_method import VendorMethod

_FEW, _MORE = 2, 8
"""Iterations of the two runs that are timed. Their difference is the price of an iteration, the rest is fixed."""


class ExpectedSeconds(NamedTuple):
    """What a method takes once for all vendors, and what it takes for each of them."""

    sharing: float
    fitting: float


def expected_seconds(method: VendorMethod, model: GibbsMF, train: Sequence[Ratings], vendor: int) -> ExpectedSeconds:
    """From the time of a few iterations, all else as it will be: priors, noise, and what was shared.

    `full` samples while it shares; all others with this model sample at each vendor.
    """

    def short(iterations: int) -> Any:
        return replace(method, model=replace(model, iterations=iterations, burn_in=0))  # type: ignore[type-var]

    if method.name == "full":
        return ExpectedSeconds(_at_length(lambda count: short(count).share(train, 0), model.iterations), 0.0)
    begin = time.perf_counter()
    shared = method.share(train, 0)
    sharing = time.perf_counter() - begin
    own = train[vendor]
    fitting = _at_length(lambda count: short(count).predictor(shared, vendor, own, 0), model.iterations)
    return ExpectedSeconds(sharing, fitting)


def _at_length(run: Callable[[int], object], iterations: int) -> float:
    """The seconds of so many iterations, from those of a few; a first run loads what is compiled."""
    run(1)
    seconds = []
    for count in (_FEW, _MORE):
        begin = time.perf_counter()
        run(count)
        seconds.append(time.perf_counter() - begin)
    each = max(0.0, seconds[1] - seconds[0]) / (_MORE - _FEW)
    return seconds[0] + each * max(0, iterations - _FEW)
