"""Methods that train a model in rounds: the settings they share, and what nodes ask of those that train over readers.

There is no behaviour to inherit. A method's page has its own loop, client update, server step and guarantee; it calls
`setup`, `server`, `learnt` and what stands in `discreet.training`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.methods.method import Method, State, TrainingTask
from discreet.methods.ranking import Serving
from discreet.models.model_registry import changed_settings, model_needs, model_settings
from discreet.models.news_model import ModelSettings, Needs, NewsModel
from discreet.privacy.guarantee import Guarantee
from discreet.training.network import Network
from discreet.training.objective import Parameters
from discreet.training.parties import Parties
from discreet.training.randomness import Randomness
from discreet.training.readers_sum import Integers

if TYPE_CHECKING:
    from discreet.methods.round_server import Federation
    from discreet.methods.setup import Part, Setup

_MAX_RATE = torch.finfo(torch.float32).max
"""Weights are of this type; a larger step has no number."""


@dataclass(frozen=True, kw_only=True)
class InRounds(Method):
    """Settings of a method that trains one of the models in rounds.

    Attributes:
        model: The model's name.
        preset: Its sizes: `small`, or as `published`; `plm_nr` has `frozen` too, published sizes over fixed vectors.
        model_settings: All settings of the model, in place of the preset's.
        rounds: How many rounds are trained.
        fraction: The share r of the readers that take part in a round.
        rate: The server's learning rate η.
        negatives: Unclicked articles that stand against each click (H in FedNewsRec, k in PrivateRec).
        history_clicks: How many of each reader's latest history clicks train too, each as the click that follows the
            history before it; for data with few impressions. Their negatives are clicks of other readers' histories,
            so that no guarantee of privacy remains.
        epsilon_serving: The budget of one serving release; None ranks on the device, with the exact history.
    """

    name: ClassVar[str]

    model: str = "plm_nr"
    preset: str = "small"
    model_settings: ModelSettings | None = None
    rounds: int = 300
    fraction: float = 0.02
    rate: float = 1e-3
    negatives: int = 4
    history_clicks: int = 0
    epsilon_serving: float | None = None

    def __post_init__(self) -> None:
        changed_settings(self.model, self.preset, self.chosen_model)  # refuses what no such model has
        if self.epsilon_serving is not None and (self.needs.candidate_aware or self.needs.reader_id):
            raise DiscreetError(
                f"{self.name}: no server can rank with model {self.model}, whose vectors depend on reader and article "
                "together; leave out epsilon_serving"
            )
        if self.rounds < 1 or self.negatives < 1 or self.history_clicks < 0:
            raise DiscreetError(f"{self.name}: rounds and negatives must be at least 1, history_clicks at least 0")
        if not 0 < self.fraction <= 1 or not 0 < self.rate <= _MAX_RATE:
            raise DiscreetError(
                f"{self.name}: fraction must be above 0 and at most 1, rate above 0 and at most {_MAX_RATE:g}"
            )
        for budget in (self.epsilon, self.epsilon_serving):
            if budget is not None and not budget > 0:
                raise DiscreetError(f"{self.name}: a budget ε must be above 0 (or inf), not {budget}")

    @property
    def chosen_model(self) -> ModelSettings:
        """The settings of the model: those given, or the preset's."""
        return self.model_settings or model_settings(self.model, self.preset)

    @property
    def needs(self) -> Needs:
        """What the model reads."""
        return model_needs(self.model, self.chosen_model)

    def network(self, model: NewsModel) -> Network:
        """What is trained and ranked with, from the model as it is made."""
        return Network(model)

    @abstractmethod
    def serving(self, size: int, seed: int) -> Serving:
        """What of a reader's vector is ranked with; `size` is its length."""


class Federated(InRounds):
    """A method whose server needs no more than a sum over readers, wherever these are.

    A node hosts some of the readers: all of them in a simulation, a shard of them on a machine of its own, one on a
    device. What it gives to a round is a vector of whole numbers, its `contribution`, and the server sees the sum over
    nodes alone. Nothing else is different between one machine and many.

    `secret_noise` says that the noise comes from `Setup.randomness`, and so is secret at a real node. The noise of
    other methods comes from the seed, which the server knows: such a guarantee is that of a simulated protocol, and
    nodes take the method for one that guarantees nothing.
    """

    secret_noise: ClassVar[bool] = False

    @abstractmethod
    def setup(self, task: TrainingTask, seed: int, part: Part, randomness: Randomness | None = None) -> Setup:
        """The model at its start, and a node's readers; without a `randomness`, it is by the seed."""

    @abstractmethod
    def contribution(
        self, setup: Setup, parameters: Parameters, number: int, parties: Parties | None = None
    ) -> Integers:
        """What a node gives to round `number`; `parties` are the nodes that add up, None if it is the only one."""

    @abstractmethod
    def length(self, parameters: Mapping[str, Tensor]) -> int:
        """How many numbers a contribution has."""

    @abstractmethod
    def train(
        self, task: TrainingTask, seed: int, checkpoint: Path | None = None, federation: Federation | None = None
    ) -> State:
        """Train for all rounds, from the last checkpoint if there is one, here or where `federation` says."""

    def other_guarantee(self, state: State) -> Guarantee | None:
        """What holds against a server that sees more, or less, than the one `guarantee` is about; None if the same."""
        return None
