"""What a program asks for in one call: methods compared, vendors compared, audits run.

Methods may be given by name or as objects. Everything here is also a command, with the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

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
from discreet.setting_values import one_of, shown
from discreet.vendors.vendor_method import VendorMethod

_VendorMethods: TypeAlias = Sequence[VendorMethod | str] | VendorMethod | str


def compare(
    data: NewsData,
    methods: Iterable[Method | str] | Method | str,
    *,
    split: str = "dev",
    seeds: int = 1,
    text: str = "auto",
    measurements: Path | str | None = None,
) -> Comparison:
    """Train methods and measure their ranking on the same impressions.

    Args:
        data: The data set.
        methods: Methods, or names of methods with their defaults; one, or several.
        split: The part to measure on.
        seeds: How many times each method is trained.
        text: The source of title vectors.
        measurements: A folder in which measurements are kept and found again.
    """
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare as run_comparison
    from discreet.methods.method_registry import make_method

    chosen = [make_method(one) if isinstance(one, str) else one for one in _several(methods, Method)]
    if not chosen:
        raise DiscreetError("there is no method to compare; name one at least")
    cache = MeasurementCache(None if measurements is None else Path(measurements))
    return run_comparison(TrainingTask(data, text), chosen, split, range(seeds), cache)


@overload  # Purchases are Ratings, too; what is written first counts
def compare_vendors(  # type: ignore[overload-overlap]
    ratings: Purchases,
    *,
    vendors: int = ...,
    methods: _VendorMethods = ...,
    epsilons: Sequence[float] = ...,
    partition: str = ...,
    partitions: int = ...,
    sizes: str = ...,
    reported: int | None = ...,
    seed: int = ...,
    measurements: Path | str | None = ...,
) -> RankingComparison: ...


@overload
def compare_vendors(
    ratings: Ratings,
    *,
    vendors: int = ...,
    methods: _VendorMethods = ...,
    epsilons: Sequence[float] = ...,
    partition: str = ...,
    partitions: int = ...,
    folds: int = ...,
    sizes: str = ...,
    distribution: str = ...,
    reported: int | None = ...,
    seed: int = ...,
    measurements: Path | str | None = ...,
) -> VendorComparison: ...


def compare_vendors(
    ratings: Ratings,
    *,
    vendors: int = 10,
    methods: _VendorMethods = ("local", "full"),
    epsilons: Sequence[float] = (),
    partition: str = "random",
    partitions: int = 1,
    folds: int = 1,
    sizes: str = "equal",
    distribution: str = "horizontal",
    reported: int | None = None,
    seed: int = 0,
    measurements: Path | str | None = None,
) -> VendorComparison | RankingComparison:
    """Deal ratings or purchases out to vendors, and compare ways to predict together with each vendor alone.

    Args:
        ratings: The ratings, or purchases: then methods recommend, and the nDCG takes the place of the RMSE.
        vendors: How many vendors there are.
        methods: Vendor methods, or their names; `local` is always measured, first. The vendors' own model is the same
            for all rows: the one that a method was given, or by size.
        epsilons: Budgets for methods that are given by name.
        partition: How vendors differ: random, genre, taste, size, or overlap=0.3.
        partitions: How many times users are dealt out.
        folds: 1 tests a random tenth of each vendor's ratings, more test each of so many parts in turn.
        sizes: Vendors' sizes: equal, geometric or zipf.
        distribution: Whether users (horizontal), items (vertical) or ratings (arbitrary) are dealt out.
        reported: How many vendors are measured, the first ones; None for all.
        seed: Of the deal, the tested part, the noise and the models.
        measurements: A folder in which measurements are kept and found again.
    """
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.implicit_comparison import compare_rankings
    from discreet.experiments.rating_comparison import Design
    from discreet.experiments.rating_comparison import compare as run_comparison
    from discreet.vendors.dealing import Dealing
    from discreet.vendors.implicit.ranking_registry import METHODS as RANKING_METHODS
    from discreet.vendors.partition import Distribution, Sizes
    from discreet.vendors.vendor_method import Setting
    from discreet.vendors.vendor_registry import METHODS, make_methods

    plan = Design(
        vendors,
        partitions,
        folds,
        one_of(Sizes, "sizes", sizes),
        one_of(Distribution, "distribution", distribution),
        Dealing.parse(partition),
        reported,
        seed,
    )
    methods = _several(methods, VendorMethod)
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


def _several(given: Any, kind: type) -> list[Any]:
    """Return methods of a kind, and names, as a list; one may stand alone.

    Raises:
        DiscreetError: Something among them is neither.
    """
    methods = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for method in methods:
        if not isinstance(method, str | kind):
            raise DiscreetError(f"{shown(method)} is no {kind.__name__} and no name of one")
    return methods
