"""What contributing every day costs a reader: by the device's filter and by PLD, and for how long the cap allows it.

python benchmarks/lifetime_cost.py
"""

from __future__ import annotations

from bisect import bisect_right

from dp_accounting.dp_event import DiscreteLaplaceDpEvent

from discreet.privacy.accounting import compose
from discreet.privacy.filter import Spent
from discreet.protocol.check import limits

DAYS, MOST, STEPS = 365, 100_000, 60


def main() -> None:
    """Print a row for each daily ε."""
    delta, cap = limits.max_task_delta, limits.max_life_epsilon
    print(f"ε a day   a year, filter   a year, PLD   days until ε = {cap:g}   (δ = {delta:g}, per reader, zero out)")
    for epsilon in (1.0, 0.1, 0.05, 0.02):
        year = Spent.of([(epsilon, 0.0)] * DAYS).at(delta)
        exact = compose([DiscreteLaplaceDpEvent(epsilon / STEPS, STEPS)] * DAYS).epsilon(delta)
        days = bisect_right(range(1, MOST), cap, key=lambda count: Spent.of([(epsilon, 0.0)] * count).at(delta))
        print(f"{epsilon:7g}   {year:14.3g}   {exact:11.3g}   {days:6}")


if __name__ == "__main__":
    main()
