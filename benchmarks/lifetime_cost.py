"""What contributing every day costs a reader, and how much noise a budget for so many days of her life needs.

The first table has the cost by the device's filter and by PLD, and for how long the cap allows it. The second has the
standard deviation of one aggregator's noise in a cell, if the promised ε is for life.

python benchmarks/lifetime_cost.py
"""

from __future__ import annotations

import math
from bisect import bisect_right

from dp_accounting.dp_event import DiscreteLaplaceDpEvent

from discreet.aggregation.aggregator_noise import AGGREGATORS
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import min_exposure
from discreet.privacy.accounting import compose
from discreet.privacy.filter import Spent
from discreet.protocol.check import limits

DAYS, MOST, STEPS = 365, 100_000, 60


def main() -> None:
    """Print a row for each daily ε, and one for each length of a life."""
    delta, cap = limits.max_task_delta, limits.max_life_epsilon
    print(f"ε a day   a year, filter   a year, PLD   days until ε = {cap:g}   (δ = {delta:g}, per reader, zero out)")
    for epsilon in (1.0, 0.1, 0.05, 0.02):
        year = Spent.of([(epsilon, 0.0)] * DAYS).at(delta)
        exact = compose([DiscreteLaplaceDpEvent(epsilon / STEPS, STEPS)] * DAYS).epsilon(delta)
        days = bisect_right(range(1, MOST), cap, key=lambda count: Spent.of([(epsilon, 0.0)] * count).at(delta))
        print(f"{epsilon:7g}   {year:14.3g}   {exact:11.3g}   {days:6}")
    print(f"\nε = 1 for so many days (δ = {delta:g}): each aggregator's standard deviation in a cell")
    print("days   clicks a day   Laplace   Gaussian   chosen")
    for days in (6, 30, DAYS):
        budget = DailyBudget(1.0, delta, days, head=0.0, weights=0.0)
        for clicks in (1, 4):
            laplace, gaussian = (deviation(price, clicks) for price in budget.popularity_prices())
            chosen = budget.popularity_price(clicks).noise
            print(f"{days:4}   {clicks:12}   {laplace:7.1f}   {gaussian:8.1f}   {chosen.replace('_', ' ')}")


def deviation(price: DayPrice, clicks: int) -> float:
    """The standard deviation of one aggregator's noise."""
    return min_exposure(price, clicks) / math.sqrt(AGGREGATORS)


if __name__ == "__main__":
    main()
