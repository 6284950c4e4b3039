"""Uni-FedRec: one federated training for recall and ranking; the server recalls by a few noised interests.

Qi, Wu, Wu, Huang, Xie: Uni-FedRec: A unified privacy-preserving news recommendation framework for model training and
online serving. Findings of EMNLP 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.learnt import learnt, parameter_count, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.noised_gradients import add_laplace, check_clip, coordinates, laplace_guarantee
from discreet.methods.published.serving import checked_calibration
from discreet.methods.ranking import OnDevice, Serving
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.models.multi_interest import MultiInterest
from discreet.models.news_model import NewsModel
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.draws import laplace
from discreet.training.network import Network
from discreet.training.objective import Objective, Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers, ReadersSum
from discreet.training.reduction import clip_coordinates, sum_clients
from discreet.training.rounds import RoundResult, mean_gradient
from discreet.training.simulator import client_gradients


@dataclass(frozen=True, kw_only=True)
class UniFedRec(Federated):
    """K interests, each a noised mixture of B public basis vectors, recall; the reader's own vector ranks.

    Training sends clipped gradients with Laplace noise, M(g) = clip(g, δ) + Laplace(λ), as FedNewsRec does, and claims
    2δ/λ; a gradient has d coordinates, so a round costs d times as much. Serving sends K noised mixtures. The claim
    covers one of them; a click moves all K, so a release costs K times as much. Calibration `exact` scales to that.

    The paper finds a reader's interests by clustering the clicks; here attention to K codes, which are learnt, does it.

    Attributes:
        interests: K, how many interests a reader has.
        basis: B, the number of basis vectors.
        recall_noise: The scale of the noise on mixtures in training.
    """

    name: ClassVar[str] = "uni_fedrec"

    epsilon: float = 10.0
    clip: float = 0.005
    interests: int = 3
    basis: int = 20
    recall_noise: float = 0.01
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        check_clip(self.name, self.clip)
        if self.interests < 1 or self.basis < 2 or not 0 <= self.recall_noise < math.inf:
            raise DiscreetError(f"{self.name}: interests must be at least 1, basis at least 2, recall_noise at least 0")
        if self.needs.candidate_aware or self.needs.reader_id:
            raise DiscreetError(
                f"{self.name} recalls by readers' vectors, and model {self.model} has none of their own"
            )

    def network(self, model: NewsModel) -> Network:
        """The model with interests in addition to the reader's vector; a server that ranks has the interests alone."""
        tasks = ("ranking", "recall") if self.epsilon_serving is None else ("recall",)
        return Network(MultiInterest(model, self.interests, tasks))

    def setup(
        self, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
    ) -> Setup:
        """The model and the basis vectors at their start, and a node's readers."""
        setup = prepare(replace(self, epsilon_serving=None), task, seed, part, randomness)
        drawn = torch.randn(self.basis, setup.network.model.size, generator=torch.Generator().manual_seed(seed))
        return replace(setup, start={**setup.start, "basis": drawn})

    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """In each round the mean of the readers' noised gradients of both losses, and a step of the server."""
        setup = self.setup(task, seed)
        sums = sums_over(self, task, setup, federation)
        with open_server(self, task, setup, self.optimiser(), checkpoint, federation=federation) as server:
            for number in server:
                total, nodes = sums(server.parameters, number)
                server.step(self.result(server.parameters, total, nodes))
        return learnt(self, task, setup, server.state, simulated=is_simulated(federation))

    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """Σ (clip(g_u) + n_u) over the readers of a node who are chosen, all with the same weight."""
        if not len(setup.clients):
            return ReadersSum.nothing(parameters)
        chosen = setup.clients.choose(self.fraction, setup.seed, number, setup.node)
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)
        noise = laplace(samples.view_uniforms("mixture", self.interests * self.basis), self.recall_noise)
        weights = np.ones(len(chosen))
        objective = Objective(lambda values, readers, drawn: self.recall(setup.network, values, readers, drawn))
        gradients = client_gradients(setup.network, setup.table, parameters, samples.with_randomness(noise), objective)
        summed = sum_clients(gradients, weights, clip_coordinates(self.clip))
        add_laplace(summed.gradient, self.noise_scale(coordinates(parameters)), weights, setup, number)
        loss, count = (summed.losses.sum(), len(samples)) if parties is None else (0.0, 0)
        return ReadersSum(summed.gradient, weights.sum(), loss, count).to_lattice()

    def recall(
        self, network: Network, parameters: Mapping[str, Tensor], readers: Tensor, noise: Tensor | None
    ) -> Tensor:
        """Each interest as r̂ = Σ α̂ᵢ bᵢ, with α̂ = ReLU(softmax(⟨r, b⟩/√d) + noise) normalised; u stays as it is."""
        model, basis = network.model, parameters["basis"]
        assert isinstance(model, MultiInterest)
        own, interests = model.split(readers)
        mixtures = torch.softmax(interests @ basis.T / math.sqrt(basis.shape[1]), dim=-1)
        if noise is not None:
            mixtures = torch.relu(mixtures + noise.reshape(mixtures.shape))
        mixtures = mixtures / mixtures.sum(-1, keepdim=True).clamp(min=1e-6)
        return torch.cat((own, (mixtures @ basis).flatten(-2)), dim=-1)

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A gradient, with weight, loss and samples."""
        return ReadersSum.length(parameters)

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """The mean of the noised gradients."""
        return mean_gradient(parameters, total, nodes)

    def optimiser(self) -> Optimiser:
        """FedAdam; τ far below a clipped gradient's size."""
        return FedAdam(self.rate, tau=1e-6)

    def noise_scale(self, coordinates: int) -> float:
        """λ, the diameter over ε, as published or the true one; 0 for ε = ∞."""
        paper = self.calibration is Calibration.PAPER
        return 2 * self.clip * (1 if paper else coordinates) / self.epsilon

    def guarantee(self, state: State) -> Guarantee:
        """For a click, over all rounds: d times what is claimed for each."""
        d = parameter_count(state)
        return laplace_guarantee(
            epsilon=self.epsilon,
            diameter=2 * self.clip * d,
            scale=self.noise_scale(d),
            rounds=self.rounds,
            unit=Unit.CLICK,
            calibration=self.calibration,
            history_clicks=self.history_clicks,
        )

    def serving(self, size: int, seed: int) -> Serving:
        """The device ranks with the exact vector; or the server, with what it recalls by: K noised mixtures."""
        if self.epsilon_serving is None:
            return OnDevice()
        return NoisedInterests(self, self.epsilon_serving, seed)

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model: on the device, or by recall at the server."""
        return score_learnt(self, task, state, impressions, seed)

    def recall_at(
        self, task: TrainingTask, state: State, impressions: Impressions, count: int, seed: int = 0
    ) -> NDArray[np.float64]:
        """For each impression the share of its clicks among the `count` best of all articles that these show.

        This is what recall is for: the server narrows the catalogue by noised interests, and the device ranks the rest.
        """
        catalogue = np.unique(impressions.shown)
        every = replace(
            impressions,
            slate=np.arange(len(impressions) + 1, dtype=np.int64) * len(catalogue),
            shown=np.tile(catalogue, len(impressions)),
            clicked=np.zeros(len(impressions) * len(catalogue), np.bool_),
        )
        served = replace(self, epsilon_serving=self.epsilon_serving or math.inf)
        scores = served.score(task, state, every, seed).reshape(len(impressions), len(catalogue))
        best = np.argpartition(-scores, min(count, len(catalogue)) - 1, axis=1)[:, :count]
        found = np.zeros(len(impressions))
        for i in range(len(impressions)):
            slate = slice(impressions.slate[i], impressions.slate[i + 1])
            clicks = impressions.shown[slate][impressions.clicked[slate]]
            found[i] = np.isin(clicks, catalogue[best[i]]).mean() if len(clicks) else np.nan
        return found


@dataclass(frozen=True)
class NoisedInterests:
    """What a device sends for recall: K mixtures of the basis, each with Laplace noise on its B weights.

    Theorem. A history that changes moves each mixture, a point of the simplex, by at most 2 in L1, and all K by at most
    2K. Laplace noise of scale λ on each weight is therefore 2K/λ-DP. Proof: the Laplace mechanism with Δ₁ = 2K. ∎
    """

    method: UniFedRec
    epsilon: float
    seed: int
    padding: float = 0.0

    @property
    def scale(self) -> float:
        """λ = 2/ε as published, 2K/ε in truth."""
        paper = self.method.calibration is Calibration.PAPER
        return 2.0 * (1 if paper else self.method.interests) / self.epsilon

    def __call__(self, parameters: Mapping[str, Tensor], readers: Tensor) -> Tensor:
        """The interests that the server makes of the mixtures; nothing else of the reader reaches it."""
        size = parameters["basis"].shape[1]
        own = readers.shape[1] - self.method.interests * size
        interests = readers[:, own:].reshape(len(readers), self.method.interests, size)
        mixtures = torch.softmax(interests @ parameters["basis"].T / math.sqrt(size), dim=-1)
        if not math.isinf(self.epsilon):
            drawn = np.random.default_rng([self.seed, 2]).laplace(0.0, self.scale, tuple(mixtures.shape))
            mixtures = torch.relu(mixtures + torch.from_numpy(drawn.astype(np.float32)))
        mixtures = mixtures / mixtures.sum(-1, keepdim=True).clamp(min=1e-6)
        return torch.cat((torch.zeros_like(readers[:, :own]), (mixtures @ parameters["basis"]).flatten(1)), dim=1)

    def guarantee(self) -> Guarantee:
        """Of one release. The bound is a diameter, so it protects the whole history, not only one click."""
        if math.isinf(self.epsilon):
            return Guarantee.unprotected("interests without noise", Scope.RELEASE)
        paper = self.method.calibration is Calibration.PAPER
        return Guarantee(
            epsilon=self.epsilon * (self.method.interests if paper else 1),
            delta=0.0,
            unit=Unit.USER,
            adjacency=Adjacency.SUBSTITUTE,
            adversary=Adversary.SERVER,
            scope=Scope.RELEASE,
            status=Status.CLAIMED if paper else Status.PROVED,
            mechanism="noised interests (Uni-FedRec, simulated)",
            claimed_epsilon=self.epsilon if paper else None,
        )
