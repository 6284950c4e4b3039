"""DP-FedAvg: training with user-level privacy that holds, by clipped updates and noise that readers add together.

McMahan, Ramage, Talwar, Zhang: Learning differentially private recurrent language models. ICLR 2018; with the noise
inside a secure sum, as in Kairouz, Liu, Steinke: The distributed discrete Gaussian mechanism. ICML 2021.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from discreet.aggregation.secure_sum.sum_plan import DROPPING
from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.learnt import learnt, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.serving import vector_serving
from discreet.methods.ranking import Serving
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.models.news_model import Titles
from discreet.privacy.accounting.lattice_price import LatticePrice
from discreet.privacy.distributed_gaussian import DistributedGaussian
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.participation_cost import epsilon_hidden, epsilon_seen, multiplier_for, user_guarantee
from discreet.training.objective import Parameters
from discreet.training.optimisers import SGD, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness, SamplingPlan, SimulatedRandomness
from discreet.training.readers_sum import Integers, flat_rows, unflat
from discreet.training.rounds import RoundResult
from discreet.training.simulator import client_differences, client_gradients

MAX_READERS = 10**8
"""The lattice has room for the updates of so many readers in one sum."""

UNIT = 2**36
"""The steps of a clip, with room for that many readers in sums of 64 bits."""

_PRICE = LatticePrice(ratio=1e-14, distance=1e-17)
"""What the lattice may cost, over all rounds."""

_MAX_EPSILON = 16.0


class Participation(StrEnum):
    """Whether the server sees who takes part in a round, so that the noise cannot count on its not knowing."""

    SEEN = "seen"
    HIDDEN = "hidden"


@dataclass(frozen=True, kw_only=True)
class DPFedAvg(Federated):
    """Every reader's update is clipped to norm C and counts the same; the parties add Gaussian noise of zC together.

    The budget ε, at δ, is a reader's for life. A reader joins each round by a coin of probability `fraction`, at most
    `participations` times, which her device counts. The noise is for a server that sees who takes part, or for one that
    does not (`participation` hidden: nobody may show it who joined, and only the coins make it cheaper).

    What a party adds is enough even if as many drop out as the secure sum allows, and a tenth of all parties tell the
    server their noise: one at least, for every party knows its own. The parties are the readers in a simulation, and
    the nodes where nodes host readers: then a reader is protected from the server and from the other nodes, not from
    the node that has her history.

    The theorem is that of `privacy.participation_cost`, on the lattice of `privacy.distributed_gaussian`: unit a user,
    neighbours in which all updates of one user are there or count as zero, L2 sensitivity C. How many readers a node
    has, with or without clicks, is public, and so is what they were shown, on whose titles text vectors are centred.

    Attributes:
        delta: δ of the budget.
        clip: C, the largest norm of an update.
        participations: How often a reader takes part at most; 0 stands for a quarter above the expected number.
        participation: Whom the noise is for: `seen` or `hidden`.
        local_steps: Steps of gradient descent on the device; the update is what they change.
        local_rate: The learning rate of these steps.
    """

    name: ClassVar[str] = "dp_fedavg"
    secret_noise: ClassVar[bool] = True

    model: str = "bilinear"
    epsilon: float = 3.0
    delta: float = 1e-6
    rounds: int = 4
    fraction: float = 1.0
    rate: float = 12.0
    clip: float = 1.0
    participations: int = 0
    participation: Participation = Participation.SEEN
    local_steps: int = 1
    local_rate: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            object.__setattr__(self, "participation", Participation(self.participation))
        except ValueError:
            raise DiscreetError(
                f"{self.name}: participation is {' or '.join(Participation)}, not '{self.participation}'"
            ) from None
        if not 0 < self.clip < math.inf or self.participations < 0:
            raise DiscreetError(f"{self.name}: clip must be above 0, participations at least 0")
        if self.fraction == 1 and 0 < self.participations < self.rounds:
            raise DiscreetError(
                f"{self.name}: at fraction 1 all join every round, so after {self.participations} of {self.rounds}"
                " rounds nobody could; set fewer rounds, or a smaller fraction"
            )
        if self.local_steps < 1 or not 0 < self.local_rate < math.inf:
            raise DiscreetError(f"{self.name}: local_steps must be at least 1, local_rate above 0")
        if not 1e-12 <= self.delta < 0.1:
            raise DiscreetError(f"{self.name}: delta must be at least 1e-12 and below 0.1, not {self.delta}")
        if not (self.epsilon <= _MAX_EPSILON or math.isinf(self.epsilon)):
            raise DiscreetError(f"{self.name}: epsilon must be at most {_MAX_EPSILON:g} (or inf)")
        if math.isfinite(self.epsilon) and not _PRICE.affordable(self.epsilon, self.delta):
            raise DiscreetError(
                f"{self.name}: the lattice of the secure sum is too coarse for epsilon = {self.epsilon:g} at delta ="
                f" {self.delta:g}; take a larger delta or a smaller epsilon"
            )

    @property
    def sampling_plan(self) -> SamplingPlan:
        """How readers join."""
        expected = math.ceil(1.25 * self.fraction * self.rounds)
        return SamplingPlan(self.fraction, min(self.rounds, self.participations or expected), self.rounds)

    @property
    def multiplier(self) -> float:
        """z, the noise that stays hidden over the clip; 0 for ε = ∞."""
        if math.isinf(self.epsilon):
            return 0.0
        joins, hidden = self.sampling_plan, self.participation is Participation.HIDDEN
        return multiplier_for(
            self.epsilon, self.delta, joins.max_rounds_joined, hidden=hidden, rate=joins.rate, rounds=joins.rounds
        )

    def setup(
        self, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
    ) -> Setup:
        """The model at its start, and a node's readers."""
        return prepare(self, task, seed, part, randomness)

    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """In each round the sum of clipped updates with the parties' noise, and a step along their mean.

        The noise of each round is made for the number of rounds, which cannot be changed on the way.
        """
        setup = self.setup(task, seed)
        sums = sums_over(self, task, setup, federation)
        agreed = {"rounds": str(self.rounds)}
        with open_server(
            self, task, setup, self.optimiser(), checkpoint, federation=federation, agreed=agreed
        ) as server:
            for number in server:
                total, nodes = sums(server.parameters, number)
                server.step(self.result(server.parameters, total, nodes))
        return learnt(self, task, setup, server.state, simulated=is_simulated(federation))

    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """The sum of the joining readers' clipped updates with the party's noise; then how many readers there are."""
        lattice = self.lattice(parameters, parties or self._readers_as_parties(setup.readers))
        joining = setup.randomness.joining(setup.clients.reader, number, self.sampling_plan)
        total = np.zeros(lattice.dimension, np.int64)
        for updates in self.updates(setup, parameters, number, joining):
            total += lattice.integers(updates).sum(axis=0)
        if self.multiplier:
            noise = setup.randomness.noise(number)
            total += lattice.party_noise(noise) if parties else lattice.summed_noise(noise, lattice.parties)
        return np.append(total, setup.readers)

    def updates(
        self, setup: Setup, parameters: Parameters, number: int, joining: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        """What each joining reader would change, a few readers at a time, one in each row; not clipped yet.

        Where the noise is real, every reader's update is computed from her own data alone, to the last bit. One that is
        not finite counts as 0: to refuse it would tell, without any noise, that there is such a reader.
        """
        for rows in self._computed(setup, parameters, number, joining):
            yield np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)

    def _computed(
        self, setup: Setup, parameters: Parameters, number: int, joining: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float64]]:
        samples = setup.clients.draw(joining, setup.seed, number, self.negatives)
        if self.local_steps == 1:
            alone = not isinstance(setup.randomness, SimulatedRandomness)
            for chunk in client_gradients(setup.network, setup.table, parameters, samples, alone=alone):
                yield flat_rows(chunk.gradients) / samples.counts[chunk.positions, None]
            return
        differences = client_differences(
            setup.network, setup.table, parameters, samples, self.local_steps, self.local_rate
        )
        for chunk in differences:
            yield flat_rows(chunk.gradients) / (self.local_rate * self.local_steps)

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A value for each parameter, and the number of readers."""
        return sum(value.numel() for value in parameters.values()) + 1

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """The mean update: the sum over the expected number of participants, because the true number is secret."""
        if total is None:
            return RoundResult(None, math.nan, nodes)
        expected = self.fraction * int(total[-1])
        if total[-1] > MAX_READERS:
            raise DiscreetError(f"{self.name}: a sum has room for {MAX_READERS:,} readers, not for {total[-1]:,}")
        if not expected > 0:
            return RoundResult(None, math.nan, nodes)
        mean = total[:-1].astype(np.float64) * (self.clip / UNIT / expected)
        direction = {name: value.to(parameters[name].dtype) for name, value in unflat(mean, parameters).items()}
        return RoundResult(direction, math.nan, nodes)

    def optimiser(self) -> Optimiser:
        """Plain steps: FedAdam would divide by the size of the noise, and make the same of every coordinate."""
        return SGD(self.rate)

    def lattice(self, parameters: Mapping[str, Tensor], parties: Parties) -> DistributedGaussian:
        """Whose noise is how large, on which lattice.

        Raises:
            DiscreetError: the lattice would cost more than is kept for it.
        """
        chosen = DistributedGaussian(
            multiplier=self.multiplier or 1.0,
            clip=self.clip,
            dimension=sum(value.numel() for value in parameters.values()),
            contributions=MAX_READERS,
            parties=parties.invited,
            quorum=parties.quorum,
            colluders=parties.colluders,
        )
        price = chosen.price(self.rounds)
        if chosen.unit != UNIT or price.ratio > _PRICE.ratio or price.distance > _PRICE.distance:
            raise DiscreetError(f"{self.name}: no lattice is fine enough for so large a model and so many rounds")
        return chosen

    def guarantee(self, state: State) -> Guarantee:
        """For a reader's life, against the server that the noise is for. Proof: `privacy.participation_cost`."""
        return self._guarantee(state, hidden=self.participation is Participation.HIDDEN)

    def other_guarantee(self, state: State) -> Guarantee:
        """The same against the other kind of server."""
        return self._guarantee(state, hidden=self.participation is Participation.SEEN)

    def _guarantee(self, state: State, hidden: bool) -> Guarantee:
        mechanism = "clipped updates, Gaussian noise in a secure sum"
        if np.asarray(state.get("nodes", np.zeros((0, 1)))).shape[1] > 1:
            mechanism += " over nodes, each trusted with its own readers"
        if "simulated" in state:
            mechanism += " (simulated)"
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("clipped updates without noise", Scope.LIFETIME)
        if self.history_clicks:
            return Guarantee.unprotected(f"{mechanism}, negatives from all readers' histories", Scope.LIFETIME)
        if self.needs.vectors is Titles.OCCURRING:
            return Guarantee.unprotected(f"{mechanism}, titles weighted by all readers' histories", Scope.LIFETIME)
        joins, z = self.sampling_plan, self.multiplier
        if hidden:
            epsilon = epsilon_hidden(z, self.delta, joins.rate, joins.rounds, joins.max_rounds_joined, price=_PRICE)
        else:
            epsilon = epsilon_seen(z, self.delta, joins.max_rounds_joined, price=_PRICE)
        return user_guarantee(epsilon, self.delta, hidden=hidden, mechanism=mechanism)

    def serving(self, size: int, seed: int) -> Serving:
        """On the device, or the noised vector (VDP) of PrivateRec's comparison."""
        return vector_serving(self.epsilon_serving, size, seed, Calibration.EXACT)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model."""
        return score_learnt(self, task, state, impressions, seed)

    def _readers_as_parties(self, readers: int) -> Parties:
        """Where readers add up themselves: as many as are expected in a round."""
        invited = max(2, round(self.fraction * readers))
        return Parties(invited, invited - int(DROPPING * invited))
