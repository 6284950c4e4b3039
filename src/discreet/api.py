"""What a program asks for in one call: methods compared, vendors compared, audits run.

Methods may be given by name or as objects. Everything here is also a command, with the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast, overload

from discreet.audits.findings import Findings
from discreet.data.news import NewsData
from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.experiments.implicit_results import RankingComparison
from discreet.experiments.ranking_results import Comparison
from discreet.experiments.rating_results import VendorComparison
from discreet.methods.method import Method, TrainingTask
from discreet.plugins import Registry, load_plugins
from discreet.vendors.vendor_method import VendorMethod


def compare(
    data: NewsData,
    methods: Iterable[Method | str],
    *,
    split: str = "dev",
    seeds: int = 1,
    text: str = "auto",
    measurements: Path | str | None = None,
) -> Comparison:
    """Train methods and measure their ranking on the same impressions.

    Args:
        data: The data set.
        methods: Methods, or names of methods with their defaults.
        split: The part to measure on.
        seeds: How many times each method is trained.
        text: The source of title vectors.
        measurements: A folder in which measurements are kept and found again.
    """
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare as run_comparison
    from discreet.methods.method_registry import make_method

    chosen = [make_method(method) if isinstance(method, str) else method for method in methods]
    if not chosen:
        raise DiscreetError("there is no method to compare; name one at least")
    cache = MeasurementCache(None if measurements is None else Path(measurements))
    return run_comparison(TrainingTask(data, text), chosen, split, range(seeds), cache)


@overload
def compare_vendors(ratings: Purchases, **options: Any) -> RankingComparison: ...


@overload
def compare_vendors(ratings: Ratings, **options: Any) -> VendorComparison: ...


def compare_vendors(
    ratings: Ratings,
    *,
    vendors: int = 10,
    methods: Sequence[VendorMethod | str] = ("local", "full"),
    epsilons: Sequence[float] = (),
    partition: str = "random",
    seed: int = 0,
    measurements: Path | str | None = None,
    **design: Any,
) -> VendorComparison | RankingComparison:
    """Deal ratings or purchases out to vendors, and compare ways to predict together with each vendor alone.

    Args:
        ratings: The ratings, or purchases: then methods recommend, and the nDCG takes the place of the RMSE.
        vendors: How many vendors there are.
        methods: Vendor methods, or their names; `local` is always measured, first. The vendors' own model is the same
            for all rows: the one that a method was given, or by size.
        epsilons: Budgets for methods that are given by name.
        partition: How vendors differ: random, genre, taste, size, or overlap=0.3.
        seed: Of the deal, the tested part, the noise and the models.
        measurements: A folder in which measurements are kept and found again.
        **design: Other fields of `experiments.rating_comparison.Design`: partitions, folds, sizes and more.
    """
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.implicit_comparison import compare_rankings
    from discreet.experiments.rating_comparison import Design
    from discreet.experiments.rating_comparison import compare as run_comparison
    from discreet.vendors.dealing import Dealing
    from discreet.vendors.implicit.ranking_registry import METHODS as RANKING_METHODS
    from discreet.vendors.vendor_method import Setting
    from discreet.vendors.vendor_registry import METHODS, make_methods

    plan = Design(vendors, seed=seed, dealing=Dealing.parse(partition), **design)
    registry: Registry[Any] = RANKING_METHODS if isinstance(ratings, Purchases) else METHODS
    chosen, refused = make_methods(methods, epsilons, Setting(plan.distribution, vendors), registry)
    cache = MeasurementCache(None if measurements is None else Path(measurements))
    if isinstance(ratings, Purchases):
        return compare_rankings(ratings, plan, cast(Any, chosen), cache, refused)
    return run_comparison(ratings, plan, chosen, cache, refused)


def audit(*mechanisms: str, seed: int = 0) -> Findings:
    """Run the shipped mechanisms of these names (without, all) and try to refute what is claimed of them."""
    from discreet.audits import run, selected
    from discreet.audits.shipped import load_audits

    load_plugins()
    load_audits()
    return Findings(run(selected(list(mechanisms)), seed=seed))
