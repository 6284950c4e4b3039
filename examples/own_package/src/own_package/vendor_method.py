"""A vendors' method: what vendors share, what each makes of it, and what it costs in privacy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import discreet as d
from discreet.privacy.guarantee import Adjacency, Adversary, Unit
from discreet.privacy.mechanisms import DPAverage
from discreet.privacy.noise import SimulatedNoise
from discreet.vendors.partition import Level

DAMPING = 5.0
"""How many ratings of the shared mean each item gets."""


@d.register
@dataclass(frozen=True)
class SharedMean(d.VendorMethod):
    """Each vendor releases its mean rating with privacy; items with few ratings are drawn towards the mean of all."""

    name: ClassVar[str] = "shared_mean"
    epsilon: float = 1.0

    @classmethod
    def level_for(cls, distribution):
        """Ratings, however they are dealt out."""
        return Level.RATING

    def mechanism(self, scale):
        """What each vendor applies to its ratings."""
        return DPAverage(
            epsilon=self.epsilon,
            lowest=scale[0],
            highest=scale[1],
            unit=Unit.RATING,
            adjacency=Adjacency.ADD_REMOVE,
            adversary=Adversary.OTHER_VENDORS,
        )

    def share(self, vendors, seed):
        """The noised mean of each vendor. A comparison must be repeatable, so noise comes from the seed."""
        noises = map(SimulatedNoise, np.random.SeedSequence(seed).spawn(len(vendors)))
        mechanism = self.mechanism(vendors[0].scale)
        return [
            mechanism.average(mechanism.release(own.value, noise)) for own, noise in zip(vendors, noises, strict=True)
        ]

    def predictor(self, shared, recipient, own, seed):
        """Own item means, damped towards the mean of all vendors."""
        mean = float(np.clip(np.mean(shared), *own.scale))
        counts = np.bincount(own.item, minlength=len(own.items))
        sums = np.bincount(own.item, own.value, len(own.items))
        return ItemMeans((sums + DAMPING * mean) / (counts + DAMPING))

    def guarantee(self, vendors):
        """That of one release: a rating is at one vendor."""
        return self.mechanism((0.0, 1.0)).guarantee()


@dataclass(frozen=True, eq=False)
class ItemMeans:
    """Predicts the item's mean for everybody."""

    means: np.ndarray

    def predict(self, user, item):
        """The expected rating of each pair of a user and an item."""
        return self.means[item]
