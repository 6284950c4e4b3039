"""What every mechanism answers: its theorem, its sensitivity, its accounting event, its guarantee, and a release."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, overload

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.release import Payload, Release, SimulatedRelease, seal

if TYPE_CHECKING:
    from dp_accounting import DpEvent


class Calibration(StrEnum):
    """Whether noise is scaled to what is proved here, or as a paper printed it (and then the true ε is stated)."""

    EXACT = "exact"
    PAPER = "paper"


@dataclass(frozen=True)
class Sensitivity:
    """How far the value can move between neighbouring inputs; a norm that plays no part is infinite.

    `diameter` says that the bound holds between any two inputs whatever, not only between neighbours.
    """

    l1: float = math.inf
    l2: float = math.inf
    linf: float = math.inf
    diameter: bool = False


@dataclass(frozen=True)
class Theorem:
    """What is proved, of which change in the input, and from which sensitivity."""

    unit: Unit
    adjacency: Adjacency
    sensitivity: Sensitivity
    statement: str


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A randomised function of private data with a theorem.

    Bad parameters are refused when a mechanism is made, bad values before anything is sampled. The noise that is
    passed to `release` decides what comes back: secure noise a `Release`, simulated noise a `SimulatedRelease`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    version: ClassVar[int] = 1

    unit: Unit = Unit.CLICK
    adjacency: Adjacency = Adjacency.SUBSTITUTE
    adversary: Adversary = Adversary.SERVER

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """How far the noiseless value moves between neighbouring inputs."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The theorem in one sentence, with its figures."""

    @property
    def theorem(self) -> Theorem:
        """The statement with the unit, adjacency and sensitivity that it is about."""
        return Theorem(self.unit, self.adjacency, self.sensitivity, self.statement)

    @abstractmethod
    def event(self) -> DpEvent:
        """What an accountant composes. Neighbours are one sensitivity apart under this mechanism's own adjacency."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The guarantee of one release."""

    @overload
    def release(self, value: Any, noise: SecureNoise) -> Release: ...
    @overload
    def release(self, value: Any, noise: SimulatedNoise) -> SimulatedRelease: ...
    def release(self, value: Any, noise: Noise) -> Release | SimulatedRelease:
        """Apply the mechanism to `value`, once."""
        return seal(self.sample(self.checked(value), noise), self.guarantee(), noise)

    @abstractmethod
    def checked(self, value: Any) -> Any:
        """`value` in the form that `sample` wants, or a ValueError that says what is wrong with it."""

    @abstractmethod
    def sample(self, value: Any, noise: Noise) -> Payload:
        """The random part, for a value that has been checked."""

    def proved(self, epsilon: float, delta: float = 0.0) -> Guarantee:
        """A guarantee of one release that the theorem proves."""
        return self._guarantee(epsilon, delta, None)

    def claimed(self, claim: float, true_epsilon: float, delta: float = 0.0) -> Guarantee:
        """A guarantee of one release in which a paper's claim is printed with what is true."""
        return self._guarantee(true_epsilon, delta, claim)

    def _guarantee(self, epsilon: float, delta: float, claim: float | None) -> Guarantee:
        return Guarantee(
            epsilon=epsilon,
            delta=delta,
            unit=self.unit,
            adjacency=self.adjacency,
            adversary=self.adversary,
            scope=Scope.RELEASE,
            status=Status.PROVED if claim is None else Status.CLAIMED,
            mechanism=self.name,
            version=self.version,
            claimed_epsilon=claim,
        )
