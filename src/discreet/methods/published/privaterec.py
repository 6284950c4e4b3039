"""PrivateRec: a reader's vector as a noised mixture of a few public basis vectors, in training and in serving.

Liu et al.: PrivateRec: Differentially Private Model Training and Online Serving for Federated News Recommendation.
Algorithms 1 to 3.
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
from discreet.methods.learnt import learnt, score_learnt
from discreet.methods.method import Scores, State, TrainingTask
from discreet.methods.published.open_categories import (
    check_categories,
    named_categories,
    only_clicks,
    open_articles,
    open_share,
)
from discreet.methods.published.serving import (
    NoisedAttention,
    attention,
    attention_noise_scale,
    check_delta,
    checked_calibration,
)
from discreet.methods.round_server import Federation, is_simulated, open_server, sums_over
from discreet.methods.setup import ALL_READERS, Part, Setup, prepare
from discreet.privacy.guarantee import Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.training.draws import gaussian, laplace
from discreet.training.objective import Objective, Parameters
from discreet.training.optimisers import FedAdam, Optimiser
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers, ReadersSum
from discreet.training.rounds import RoundResult, mean_gradient
from discreet.training.samples import Samples
from discreet.training.simulator import summed_gradient


@dataclass(frozen=True, kw_only=True)
class PrivateRec(Federated):
    """Noise on B attention weights instead of on d parameters, permuted labels, FedAdam (Algorithm 3).

    The paper claims ε a round. It does not hold, whatever the noise: back-propagation uses the raw history, so a
    gradient is no post-processing of the noised attention, and the clicked article is always among those whose vectors
    it touches. What a round tells the server of a click is not bounded. Line 20 scores with the raw vector, by a slip;
    this scores with the reconstructed one, as section 3.3 says. Calibration sets the scale of the attention's noise.

    Attributes:
        basis: B, the number of basis vectors.
        delta: Above 0 the attention's noise is Gaussian.
        laplace_scale: λ, the scale of the attention's noise, in place of ε, which is then what the paper claims for it.
        theta: The clip of the attention, for which the paper names no value; 1 never acts, as its line 8.
        padding: p, with which a click is replaced by the anonymous article.
        open_categories: Categories that readers do not keep secret (section 3.1), joined by +; clicks on their articles
            are not masked, their labels not permuted, and in serving they are sent as they are.
    """

    name: ClassVar[str] = "privaterec"

    epsilon: float = 10.0
    delta: float = 0.0
    laplace_scale: float | None = None
    basis: int = 3
    theta: float = 1.0
    padding: float = 0.2
    open_categories: str = ""
    calibration: Calibration = Calibration.PAPER

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calibration", checked_calibration(self.calibration))
        if self.basis < 2 or not 0 <= self.padding < 1 or not 0 < self.theta < math.inf:
            raise DiscreetError(f"{self.name}: basis must be at least 2, padding at least 0 and below 1, theta above 0")

        check_delta(self.name, self.delta)
        if self.laplace_scale is not None:
            object.__setattr__(self, "epsilon", self.claimed_by_scale(self.laplace_scale))
        if self.needs.candidate_aware:
            raise DiscreetError(f"{self.name} noises a reader's vector, and model {self.model} has none to noise")

    def setup(
        self, task: TrainingTask, seed: int, part: Part = ALL_READERS, randomness: Randomness | None = None
    ) -> Setup:
        """Θ at its start: the model, and the basis vectors that are trained with it (Algorithm 3, line 2)."""
        setup = prepare(self, task, seed, part, randomness)
        check_categories(task.data.articles.categories, named_categories(self.open_categories))
        start = {**setup.start, "basis": self.first_basis(setup.network.model.reader_size, seed)}
        return replace(setup, start=start, open_articles=self.open_articles(task))

    def open_articles(self, task: TrainingTask) -> NDArray[np.bool_]:
        """The articles that readers do not mind to be known for."""
        return open_articles(task.data.articles.categories, named_categories(self.open_categories))

    def first_basis(self, size: int, seed: int) -> Tensor:
        """The basis vectors before the first round."""
        return torch.randn(self.basis, size, generator=torch.Generator().manual_seed(seed))

    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """Algorithm 3, run by the server."""
        setup = self.setup(task, seed)  # line 2
        sums = sums_over(self, task, setup, federation)
        with open_server(self, task, setup, self.optimiser(), checkpoint, federation=federation) as server:
            for number in server:  # line 3
                total, nodes = sums(server.parameters, number)  # lines 4 to 8: LocalUpdate of all sampled readers
                server.step(self.result(server.parameters, total, nodes))  # line 9
        return learnt(self, task, setup, server.state, simulated=is_simulated(federation))

    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """Σ ∇Θ_u over the readers of a node who are sampled (lines 4 to 8)."""
        if not len(setup.clients):
            return ReadersSum.nothing(parameters)
        chosen = setup.clients.choose(self.fraction, setup.seed, number, setup.node)  # line 4
        samples = setup.clients.draw(chosen, setup.seed, number, self.negatives)  # line 16
        drawn = self.with_client_noise(samples, setup.open_articles)  # lines 14, 17, 18
        weights = np.ones(len(chosen))
        objective = Objective(self.interest)  # lines 14, 15, 20
        summed = summed_gradient(setup.network, setup.table, parameters, drawn, weights, objective)  # line 21
        return ReadersSum(summed.gradient, weights.sum(), summed.losses.sum(), len(samples)).to_lattice()

    def with_client_noise(self, samples: Samples, known: NDArray[np.bool_] | None = None) -> Samples:
        """All that a client draws: masks (Alg. 2, line 4), noise (line 9), permuted labels (Alg. 3, line 17).

        `known` are the articles of open categories: clicks on these are used as they are.
        """
        samples = samples.with_masked_clicks(self.padding, spared=known)
        if math.isinf(self.epsilon):
            return samples.with_randomness(np.zeros((len(samples.view_client), self.basis)))
        scale = attention_noise_scale(
            self.epsilon, self.basis, self.theta, self.padding, self.calibration, delta=self.delta
        )
        noise = (gaussian if self.delta else laplace)(samples.view_uniforms("attention", self.basis), scale)
        keep = self.keep_probability(samples.slate_size)
        if known is not None:
            keep = np.where(known[samples.candidates[:, 0]], 1.0, keep)
        return samples.with_randomness(noise).with_permuted_labels(keep)

    def claimed_by_scale(self, scale: float) -> float:
        """The ε that Algorithm 2 claims for Laplace noise of a scale λ: ε₀ = θ/λ, and ε = ln(p + (1−p)·e^ε₀)."""
        if not 0 < scale < math.inf or self.delta or self.calibration is not Calibration.PAPER:
            raise DiscreetError(
                f"{self.name}: laplace_scale is the paper's λ: above 0, with calibration=paper and without delta"
            )
        inner = self.theta / scale  # ln(p + (1−p)·e^x) = x + ln(1 − p + p·e^−x), which never overflows
        return inner + math.log1p(self.padding * math.expm1(-inner))

    def keep_probability(self, slate_size: NDArray[np.integer]) -> NDArray[np.float64]:
        """e^β/(k + e^β) with β = max(0, ln(k·e^ε/(C − 1))) (Algorithm 3, line 17)."""
        others = np.maximum(slate_size.astype(np.float64) - 1, 1)
        beta = np.maximum(0.0, np.log(self.negatives / others) + self.epsilon)
        return np.asarray(1 / (1 + self.negatives * np.exp(-beta)))

    def interest(self, parameters: Mapping[str, Tensor], readers: Tensor, noise: Tensor | None) -> Tensor:
        """ũ = Σ α̃ᵢ bᵢ with α̃ = ReLU(clipped attention + noise), normalised (Algorithm 2 in training, section 3.3)."""
        basis = parameters["basis"]
        weights = torch.relu(attention(readers, basis, self.theta) + (0 if noise is None else noise))
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-6) @ basis

    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """A gradient, with weight, loss and samples."""
        return ReadersSum.length(parameters)

    def result(self, parameters: Parameters, total: Integers | None, nodes: tuple[int, ...] = (0,)) -> RoundResult:
        """The mean of the gradients (line 9)."""
        return mean_gradient(parameters, total, nodes)

    def optimiser(self) -> Optimiser:
        """FedAdam (line 9)."""
        return FedAdam(self.rate)

    def guarantee(self, state: State) -> Guarantee:
        """The claim of a round, and what holds: nothing."""
        unprotected = Guarantee.unprotected("gradients through noised attention, permuted labels", Scope.LIFETIME)
        if math.isinf(self.epsilon):
            return unprotected
        claimed = replace(unprotected, status=Status.CLAIMED, claimed_epsilon=self.epsilon)
        return replace(claimed, unit=Unit.SECRET_CLICK) if self.open_categories else claimed

    def serving(self, size: int, seed: int) -> NoisedAttention:
        """The noised attention of Algorithm 1; on the device the same mixture of the basis, without noise."""
        length = self.chosen_model.history_length
        epsilon, padding = (math.inf, 0.0) if self.epsilon_serving is None else (self.epsilon_serving, self.padding)
        return NoisedAttention(
            epsilon,
            self.basis,
            self.theta,
            padding,
            length,
            seed,
            self.calibration,
            self.delta,
            named_categories(self.open_categories),
        )

    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """Rank with the trained model; in serving with the release, and with what open clicks add to it."""
        noised = score_learnt(self, task, state, impressions, seed)
        if self.epsilon_serving is None or not self.open_categories:
            return noised
        told = only_clicks(impressions, self.open_articles(task))
        exact = score_learnt(replace(self, epsilon_serving=None), task, state, told, seed)
        variance = self.serving(self.chosen_model.size, seed).variance
        clicks = np.minimum(told.history_sizes, self.chosen_model.history_length)
        share = open_share(clicks, variance)[impressions.impression_of_shown]
        return np.asarray(noised + share * (exact - noised))
