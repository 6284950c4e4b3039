"""Sharing: user-level private statistics of the items, released once, as a prior in each vendor's own model.

the others ──▶ noised sums over users (secure sum) ──▶ minus the own share ──▶ prior ──▶ Gibbs sampler ◀── own ratings
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.noise import SimulatedNoise
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.partition import Distribution, Level
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.plan import converse
from discreet.vendors.sharing.reading import item_prior
from discreet.vendors.sharing.sharing_budget import SharingBudget, usual_colluders
from discreet.vendors.sharing.sharing_rounds import Answered, Course, Round, Vendor
from discreet.vendors.vendor_method import VendorMethod


@dataclass(frozen=True, eq=False)
class Shared:
    """The public answers, and each vendor's own noise, which that vendor alone keeps."""

    answers: tuple[Answered, ...]
    kept: tuple[tuple[Integers, ...], ...]


@dataclass(frozen=True)
class Sharing(VendorMethod):
    """Vendors release item statistics once, with user-level privacy, and each uses them together with its own ratings.

    Attributes:
        epsilon: ε of a user for everything that ever leaves her vendor.
        delta: δ.
        colluders: How many other vendors may tell the reader their noise; more cost more noise. By default one, where
            there are three vendors or more.
        model: Each vendor's own sampler; None is the comparison's, or the usual one for a vendor's ratings.
    """

    name: ClassVar[str] = "sharing"
    summary: ClassVar = "private item statistics, released once, as a prior of each vendor's own model; protects users"

    epsilon: float
    delta: float = 1e-5
    colluders: int | None = None
    model: GibbsMF | None = None

    @classmethod
    def level_for(cls, distribution: Distribution) -> Level:
        """Users."""
        return Level.USER

    def share(self, vendors: Sequence[Ratings], seed: int) -> Shared:
        """All rounds, in simulation."""
        return simulate_rounds(vendors, self.budget(len(vendors)), converse, seed)

    def predictor(self, shared: Shared, recipient: int, own: Ratings, seed: int) -> FittedGibbs:
        """The vendor's own model, with what the others' statistics say as its prior."""
        budget = self.budget(len(shared.kept))
        model = self.model or GibbsMF.for_size(len(own))
        prior = item_prior(shared.answers, own, shared.kept[recipient], budget, model.rank)
        return model.fit(own, prior=prior, seed=seed)

    def guarantee(self, vendors: int) -> Guarantee:
        """(ε, δ) for a user's whole life, against the other vendors, proved in `sharing_budget`."""
        return self.budget(vendors).guarantee()

    def budget(self, vendors: int) -> SharingBudget:
        """What the rounds may cost when so many take part."""
        colluders = usual_colluders(vendors) if self.colluders is None else self.colluders
        return SharingBudget(self.epsilon, self.delta, vendors, colluders)


def simulate_rounds(vendors: Sequence[Ratings], budget: SharingBudget, course: Course, seed: int) -> Shared:
    """A course of rounds in which sums are formed in the open, and noise comes from the seed."""
    check_horizontal(vendors)
    sources = np.random.SeedSequence(seed).spawn(len(vendors))
    parties = [
        Vendor(ratings, budget, SimulatedNoise(source)) for ratings, source in zip(vendors, sources, strict=True)
    ]

    def ask(asked: Round) -> Integers:
        return np.asarray(sum(party.answer(asked).values for party in parties), dtype=np.int64)

    answers = course(ask, budget, len(vendors[0].items))
    return Shared(tuple(answers), tuple(tuple(party.added) for party in parties))


def check_horizontal(vendors: Sequence[Ratings]) -> None:
    """Refuse vendors without a common catalogue, or who share users: such users cannot be protected."""
    if len(vendors) < 2:
        raise DiscreetError(f"sharing needs at least 2 vendors, not {len(vendors)}")
    first = vendors[0]
    for other in vendors[1:]:
        if list(other.items.ids) != list(first.items.ids):
            raise DiscreetError(f"{other.name}: its items are not those of {first.name}; vendors share one catalogue")
        if other.scale != first.scale:
            raise DiscreetError(f"{other.name}: its scale {other.scale} is not {first.scale}, that of {first.name}")
    seen: set[str] = set()
    for vendor in vendors:
        both = seen.intersection(vendor.users)
        if both:
            raise DiscreetError(
                f"{vendor.name}: user {min(both)} is another vendor's, too; users who are shared (a vertical split)"
                " cannot have user-level privacy"
            )
        seen.update(vendor.users)
