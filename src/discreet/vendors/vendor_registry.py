"""The ways to predict ratings by name, made for a budget, a model and a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import DiscreetError
from discreet.plugins import Registry, check_frozen
from discreet.vendors.partition import check_level
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
    names: Sequence[str],
    epsilons: Sequence[float],
    setting: Setting,
    registry: Registry[Any] = METHODS,
) -> tuple[list[VendorMethod], list[MethodRefusal]]:
    """Each named method once, or once for each ε where it has one; those that are refused stand apart with the reason.

    `registry` has the methods for a kind of data. `local` comes first, asked for or not: gains are gains over it.
    """
    chosen = {name: registry[name] for name in ["local", *names]}
    made: list[VendorMethod] = []
    refused: list[MethodRefusal] = []
    for name, method in chosen.items():
        level = method.level_for(setting.distribution)
        for epsilon in dict.fromkeys(epsilons) if level is not None else [0.0]:
            try:
                if level is not None:
                    check_level(setting.distribution, level)
                ready = method.for_setting(epsilon, setting)
                ready.guarantee(setting.vendors)
                made.append(ready)
            except (DiscreetError, ValueError) as problem:
                refused.append(MethodRefusal(name, epsilon, str(problem)))
    return made, refused
