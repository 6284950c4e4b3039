"""The ways to predict ratings by name, made for a budget, a model and a distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.errors import DiscreetError
from discreet.plugins import Registry, check_frozen
from discreet.privacy.guarantee import Unit
from discreet.vendors.partition import Level, check_level
from discreet.vendors.vendor_method import Setting, VendorMethod

METHODS: Registry[type[VendorMethod]] = Registry(
    "vendors' method",
    {
        "local": "discreet.vendors.methods.baselines:Local",
        "full": "discreet.vendors.methods.baselines:Full",
        "global_mean": "discreet.vendors.methods.baselines:GlobalMean",
        "item_means": "discreet.vendors.methods.baselines:ItemMeans",
        "dp_averages": "discreet.vendors.methods.baselines:DPAverages",
        "dpals": "discreet.vendors.methods.dpals:DPALS",
        "ada_dpals": "discreet.vendors.methods.ada_dpals:AdaDPALS",
        "feature_dpals": "discreet.vendors.methods.feature_dpals:FeatureDPALS",
        "fmf": "discreet.vendors.methods.fmf:FMF",
        "cmf": "discreet.vendors.methods.cmf:CMF",
        "hua": "discreet.vendors.methods.hua:Hua",
        "liu": "discreet.vendors.methods.liu:Liu",
        "sharing": "discreet.vendors.sharing:Sharing",
    },
    check_frozen,
)


@dataclass(frozen=True)
class MethodRefusal:
    """A method that cannot take part, and why."""

    method: str
    epsilon: float
    reason: str


def make_methods(
    methods: Sequence[str | VendorMethod],
    epsilons: Sequence[float],
    setting: Setting,
    registry: Registry[Any] = METHODS,
) -> tuple[list[VendorMethod], list[MethodRefusal]]:
    """Each named method once, or once for each ε where it has one; each method that is given ready, as it is.

    Those that cannot take part stand apart with the reason. `registry` has the methods for a kind of data. `local`
    comes first, asked for or not: gains are gains over it.

    Raises:
        DiscreetError: no method has such a name, or there is no ε for one that needs it.
    """
    if not any(method == "local" or getattr(method, "name", "") == "local" for method in methods):
        methods = ["local", *methods]
    made: list[VendorMethod] = []
    refused: list[MethodRefusal] = []

    def add(name: str, epsilon: float, make: Callable[[], VendorMethod]) -> None:
        try:
            method = make()
            guarantee = method.guarantee(setting.vendors)
            if guarantee is not None and guarantee.unit is Unit.USER:
                check_level(setting.distribution, Level.USER)
            made.append(method)
        except (DiscreetError, ValueError) as problem:
            refused.append(MethodRefusal(name, epsilon, str(problem)))

    for given in dict.fromkeys(methods):
        if isinstance(given, VendorMethod):
            add(given.name, given.epsilon or 0.0, partial(_itself, given))
            continue
        method = registry[given]
        private = method.level_for(setting.distribution) is not None
        if private and not epsilons:
            raise DiscreetError(f"{given} needs a privacy budget; give at least one ε")
        for epsilon in dict.fromkeys(epsilons) if private else [0.0]:
            add(given, epsilon, partial(method.for_setting, epsilon, setting))
    return sorted(made, key=lambda method: method.name != "local"), refused


def _itself(method: VendorMethod) -> VendorMethod:
    return method
