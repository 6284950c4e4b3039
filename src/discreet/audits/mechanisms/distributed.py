"""Noise that many parties add together, against a reader of the sum and those who tell it their noise.

The reader knows all contributions but one user's, and the noise of the colluders. That user's vector is as long as it
may be, and there or not. As many parties as may do so have dropped out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from discreet.audits.audit_registry import Audit, register
from discreet.audits.black_box import BlackBox
from discreet.audits.hockey_stick import HockeyStick, Pair
from discreet.audits.sampling import AHEAD
from discreet.audits.scores import Nearness, Outputs, Score, Scores
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.noise import SecureNoise
from discreet.privacy.participation_cost import epsilon_hidden, epsilon_seen, joining, multiplier_for

Parties = tuple[DistributedGaussian, ...]

_DEVIATIONS = 8


@dataclass(frozen=True)
class ExactSum:
    """The sum of one value with the noise of `parties`, less that of the first `known` of them.

    With the user its value is that of the longest vector, without it 0. Exact but for float64 and tails of 10⁻¹⁵.
    """

    parties: Parties
    known: int

    def __call__(self) -> Pair:
        """The masses with the user and without."""
        hidden = np.ones(1)
        for party in self.parties[self.known :]:
            sigma = float(party.party_deviation)
            reach = int(_DEVIATIONS * sigma)
            masses = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2)
            hidden = np.maximum(0.0, fftconvolve(hidden, masses / masses.sum()))
        moved = int(self.parties[0].integers([1.1 * self.parties[0].clip])[0])
        nothing = np.zeros(moved)
        return np.concatenate((nothing, hidden)), np.concatenate((hidden, nothing))


@dataclass(frozen=True)
class SumView:
    """What the reader makes of sums of `parties`: their projection on the user's vector, in clips.

    The first `known` parties tell their noise. The user's vector is longer than the clip, in all directions at once.
    """

    parties: Parties
    known: int
    user: bool

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each sum. Secure noise has no seed."""
        terms = self.parties[0]
        vectors = np.random.default_rng(0).normal(size=(3, terms.dimension)) * terms.clip
        target, *others = terms.integers(vectors)
        known = np.sum(others, axis=0)
        total = np.tile(known + (target if self.user else 0), runs)
        known_noise = np.tile(known, runs)
        noise = SecureNoise(AHEAD)
        for number, party in enumerate(self.parties):
            added = _many(party, runs).party_noise(noise)
            total += added
            known_noise += added if number < self.known else 0
        left = (total - known_noise).reshape(runs, -1) / terms.unit
        return np.asarray((left @ (target / terms.unit))[:, None])


@dataclass(frozen=True)
class TrainingView:
    """What is left to the reader of all rounds' sums of one value, a row for each life of a user, in clips.

    The user joins by the coins and the cap that nodes use, up to `participations` times. With `seen` the reader also
    knows in which rounds.
    """

    parties: Parties
    rate: float
    rounds: int
    participations: int
    user: bool
    seen: bool = False

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row for each life. Secure noise has no seed."""
        terms, noise = self.parties[0], SecureNoise(AHEAD)
        joined = np.zeros((runs, self.rounds), np.int64)
        for number in range(self.rounds):
            joined[:, number] = joining(noise, self.rate, joined.sum(axis=1), self.participations)
        value = int(terms.integers([2 * terms.clip])[0])
        total = joined.ravel() * (value if self.user else 0)
        for party in self.parties:
            total = total + _many(party, runs * self.rounds).party_noise(noise)
        sums = total.reshape(runs, self.rounds) / terms.unit
        return np.asarray((sums * joined).sum(axis=1, keepdims=True) if self.seen else sums)


@dataclass(frozen=True)
class SampledLikelihood:
    """How much likelier the sums of all rounds are with a user who joins by a coin than without."""

    rate: float
    multiplier: float

    def __call__(self, first: Outputs, second: Outputs) -> Score:
        """Nothing has to be learned."""

        def score(outputs: Outputs) -> Scores:
            ratios: NDArray[np.float64] = np.exp(np.minimum((outputs - 0.5) / self.multiplier**2, 600.0))
            return np.asarray(np.log1p(self.rate * (ratios - 1)).sum(axis=1))

        return score


def _many(party: DistributedGaussian, runs: int) -> DistributedGaussian:
    """The same party in a sum as long as many sums together: the noise of each value is independent."""
    long = replace(party, dimension=party.dimension * runs)
    assert long.unit == party.unit, "the lattice is another for long vectors"
    return long


def exact_audit(parties: Parties, known: int, multiplier: float, delta: float, setting: str) -> Audit:
    """One sum of one value, by enumeration, against the ε that is said of this multiplier."""
    claim = epsilon_seen(multiplier, delta, 1, price=parties[0].price(1))
    return Audit(_NAME, f"{setting}, exact", Status.PROVED, claim, HockeyStick(ExactSum(parties, known), delta))


def worst_client_audit(parties: Parties, known: int, multiplier: float, setting: str, runs: int) -> Audit:
    """One sum of long vectors, from outputs; μ is 1 over the multiplier."""
    views = SumView(parties, known, True), SumView(parties, known, False)
    examination = BlackBox(*views, runs=runs, gaussian=True, scores=(Nearness(2, ([1.0], [0.0])),))
    return Audit(_NAME, setting, Status.PROVED, 1 / multiplier, examination)


def training_audit(
    parties: Parties, multiplier: float, rate: float, rounds: int, participations: int, delta: float, runs: int
) -> Audit:
    """A whole life in hidden rounds, from outputs, against the ε that is said of it."""
    claim = epsilon_hidden(multiplier, delta, rate, rounds, participations, price=parties[0].price(rounds))
    first, second = (TrainingView(parties, rate, rounds, participations, user) for user in (True, False))
    scores = (SampledLikelihood(rate, multiplier),)
    setting = f"hidden, {rounds} rounds, q={rate:g}, at most {participations}, z={multiplier:g} δ={delta:g}"
    examination = BlackBox(first, second, runs=runs, delta=delta, scores=scores)
    return Audit("participation", setting, Status.PROVED, claim, examination)


_NAME = "distributed gaussian"


def four_parties(
    multiplier: float, dimension: int, colluders: int, *, contributions: int = 10_000, bits: int = 64
) -> DistributedGaussian:
    """Four parties of whom three must stay."""
    return DistributedGaussian(
        multiplier=multiplier,
        clip=0.3,
        dimension=dimension,
        contributions=contributions,
        parties=4,
        quorum=3,
        colluders=colluders,
        bits=bits,
    )


for _epsilon, _contributions, _cases in (  # as coarse a lattice as δ allows
    (1.0, 100_000, ((3, 0), (3, 1), (4, 1))),
    (5.0, 10_000, ((3, 2), (4, 2))),
):
    _z = multiplier_for(_epsilon, 1e-5, 1)
    for _present, _colluders in _cases:
        _party = four_parties(_z, 1, _colluders, contributions=_contributions, bits=32)
        _who = f"{_present} of 4 parties, {_colluders} collude, ε={_epsilon:g} δ=1e-5"
        register(exact_audit((_party,) * _present, _colluders, _z, 1e-5, _who))
for _epsilon, _dimension, _runs in ((1.0, 40, 60_000), (5.0, 200, 12_000)):
    _z = analytic_multiplier(_epsilon, 1e-5)
    _party = four_parties(_z, _dimension, 1)
    _who = f"d={_dimension}, 3 of 4 parties, 1 colludes, ε={_epsilon:g} δ=1e-5"
    register(worst_client_audit((_party,) * 3, 1, _z, _who, _runs))
register(training_audit((four_parties(0.8, 1, 0),) * 3, 0.8, 0.1, 30, 8, 1e-2, 60_000))
register(training_audit((four_parties(2.0, 1, 0),) * 3, 2.0, 0.5, 20, 15, 1e-2, 40_000))
