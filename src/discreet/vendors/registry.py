"""The ways to predict ratings by name, made for a budget, a model and a distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.vendors.features import local_prior
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.method import VendorMethod
from discreet.vendors.methods.baselines import DPAverages, Full, GlobalMean, ItemMeans, Local
from discreet.vendors.methods.cmf import CMF
from discreet.vendors.methods.dpals import DPALS
from discreet.vendors.methods.fmf import FMF
from discreet.vendors.methods.hua import Hua
from discreet.vendors.methods.liu import Liu
from discreet.vendors.methods.vertical import transposed
from discreet.vendors.partition import Distribution, Level, check_level
from discreet.vendors.sharing import Sharing


@dataclass(frozen=True)
class Setting:
    """What a comparison gives to every method."""

    model: GibbsMF
    distribution: Distribution
    vendors: int


@dataclass(frozen=True)
class Known:
    """A method of the comparison: what it is, what it protects where (None: it has no ε), and how it is made."""

    about: str
    level: Callable[[Distribution], Level | None]
    make: Callable[[float, Setting], VendorMethod]


@dataclass(frozen=True)
class Refusal:
    """A method that cannot take part, and why."""

    method: str
    epsilon: float
    reason: str


def make_methods(
    names: Sequence[str], epsilons: Sequence[float], setting: Setting
) -> tuple[list[VendorMethod], list[Refusal]]:
    """Each named method once, or once for each ε where it has one; those that are refused stand apart with the reason.

    `local` comes first, asked for or not, since gains are gains over it.
    """
    if unknown := [name for name in names if name not in METHODS]:
        raise DiscreetError(f"there is no method '{unknown[0]}'; known are {', '.join(METHODS)}")
    made: list[VendorMethod] = []
    refused: list[Refusal] = []
    for name in dict.fromkeys(["local", *names]):
        known = METHODS[name]
        level = known.level(setting.distribution)
        for epsilon in dict.fromkeys(epsilons) if level is not None else [0.0]:
            try:
                if level is not None:
                    check_level(setting.distribution, level)
                method = known.make(epsilon, setting)
                method.guarantee(setting.vendors)
                made.append(method)
            except (DiscreetError, ValueError) as problem:
                refused.append(Refusal(name, epsilon, str(problem)))
    return made, refused


@dataclass(frozen=True, eq=False)
class MatchedUsers:
    """A model of all users, asked for those of one vendor, who are known by name."""

    model: FittedGibbs
    numbers: NDArray[np.int32]

    def predict(self, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """The expected rating of each pair of one of the vendor's users and an item."""
        return self.model.predict(self.numbers[user], item)


@dataclass(frozen=True)
class MatchedFull:
    """`full` where vendors share users: all ratings in one place, a user the same person at every vendor."""

    name: ClassVar[str] = "full"
    epsilon: ClassVar[float | None] = None
    model: GibbsMF

    def share(self, vendors: Sequence[Ratings], seed: int) -> list[MatchedUsers]:
        """One model, as seen by each vendor."""
        turned = transposed(vendors)
        names = turned.items.ids
        everything = replace(turned, user=turned.item, item=turned.user, users=names, items=vendors[0].items)
        fitted = self.model.fit(everything, prior=local_prior(everything), seed=seed)
        place = {name: number for number, name in enumerate(names)}
        return [MatchedUsers(fitted, np.array([place[name] for name in own.users], np.int32)) for own in vendors]

    def predictor(self, shared: list[MatchedUsers], recipient: int, own: Ratings, seed: int) -> MatchedUsers:
        """The model, asked for the recipient's users."""
        return shared[recipient]

    def guarantee(self, vendors: int) -> Guarantee | None:
        """None: ratings are pooled."""
        return None


def _full(_: float, setting: Setting) -> VendorMethod:
    return Full(setting.model) if setting.distribution is Distribution.HORIZONTAL else MatchedFull(setting.model)


def _fmf(epsilon: float, setting: Setting) -> VendorMethod:
    level = _fmf_level(setting.distribution)
    return FMF(epsilon=epsilon, level=level, distribution=setting.distribution)


def _fmf_level(distribution: Distribution) -> Level:
    return Level.USER if distribution is Distribution.HORIZONTAL else Level.RATING


def _always(level: Level | None) -> Callable[[Distribution], Level | None]:
    return lambda _: level


METHODS: dict[str, Known] = {
    "local": Known(
        "each vendor alone, with the best model: Bayesian factorization with public features",
        _always(None),
        lambda _, setting: Local(setting.model),
    ),
    "full": Known("all ratings in one place, the same model: what sharing can reach at best", _always(None), _full),
    "global_mean": Known("the mean of all vendors' ratings, without noise", _always(None), lambda _, __: GlobalMean()),
    "item_means": Known("the item's mean over all vendors, without noise", _always(None), lambda _, __: ItemMeans()),
    "dp_averages": Known(
        "private item averages (thesis, Algorithm 2); protects ratings",
        _always(Level.RATING),
        lambda epsilon, _: DPAverages(epsilon),
    ),
    "dpals": Known(
        "private alternating least squares (Chien et al. 2021); protects users",
        _always(Level.USER),
        lambda epsilon, _: DPALS(epsilon=epsilon),
    ),
    "fmf": Known(
        "federated matrix factorization (Li et al. 2021); protects users, in a vertical distribution ratings",
        _fmf_level,
        _fmf,
    ),
    "cmf": Known(
        "coupled matrix factorization (Ermiş and Cemgil 2020); protects ratings",
        _always(Level.RATING),
        lambda epsilon, _: CMF(epsilon=epsilon),
    ),
    "hua": Known(
        "objective perturbation (Hua et al. 2015); protects rating values",
        _always(Level.RATING_VALUE),
        lambda epsilon, _: Hua(epsilon=epsilon),
    ),
    "liu": Known(
        "posterior sampling (Liu et al. 2015); protects users",
        _always(Level.USER),
        lambda epsilon, _: Liu(epsilon=epsilon),
    ),
    "sharing": Known(
        "private item statistics, released once, as a prior of each vendor's own model; protects users",
        _always(Level.USER),
        lambda epsilon, setting: Sharing(epsilon, model=setting.model),
    ),
}
