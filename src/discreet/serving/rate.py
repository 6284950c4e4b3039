"""How often one address may do something: a bucket of tokens for each, forgotten as soon as it is full again."""

from __future__ import annotations

import time
from collections.abc import Callable

_FEW = 10_000


class Buckets:
    """Buckets that hold `burst` tokens and gain `rate` a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, float(burst), clock
        self._buckets: dict[str, tuple[float, float]] = {}
        self._many = _FEW

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str) -> bool:
        """Take a token; False if there was none."""
        now = self._clock()
        tokens = self._tokens(address, now)
        taken = tokens >= 1
        self._buckets[address] = tokens - taken, now
        if len(self._buckets) > self._many:
            self._buckets = {a: (t, m) for a, (t, m) in self._buckets.items() if self._tokens(a, now) < self._burst}
            self._many = max(_FEW, 2 * len(self._buckets))  # so that one in many requests pays for it
        return taken

    def _tokens(self, address: str, now: float) -> float:
        found = self._buckets.get(address)
        return self._burst if found is None else min(self._burst, found[0] + (now - found[1]) * self._rate)
