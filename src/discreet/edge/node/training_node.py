"""A node's part in a training: it opens the data of its readers, and gives a contribution to each round.

A node opens a job only if server and node mean the same articles, the same text vectors, and the same promise to
readers. No refusal depends on what readers did. The node reads its data before it takes any message of a server. If the
data cannot be used later, the node gives its noise and nothing else.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.aggregation.contribution import Contribution
from discreet.data.open import open_with_train
from discreet.edge.node.spending import Spending
from discreet.errors import DiscreetError, InputError
from discreet.methods.method import TrainingTask
from discreet.methods.setup import Part, Setup
from discreet.methods.training_job import Description, promised, read_task
from discreet.models.model_registry import fixed_parts
from discreet.nodes import Assignment, Contribute, OpenJob
from discreet.nodes.configuration import NodeSettings
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.noise import Noise
from discreet.progress import notice
from discreet.training.objective import Parameters
from discreet.training.participation_book import BookFile
from discreet.training.parties import Parties
from discreet.training.randomness import Positions, Randomness, SamplingPlan, SecretRandomness, SimulatedRandomness
from discreet.training.readers_sum import Integers

_log = logging.getLogger(__name__)


def job_opener(node: NodeSettings) -> OpenJob:
    """How a node opens trainings, on its own conditions. Its data is read now, before any message of a server.

    Raises:
        InputError: the data cannot be read.
    """
    data = open_with_train(node.data)
    audience = hashlib.blake2b("\n".join(data.readers).encode(), digest_size=16).hexdigest()

    def open_job(description: bytes) -> Contribute:
        described = Description.from_bytes(description)
        job = hashlib.blake2b(description, digest_size=16).hexdigest()
        book = BookFile(node.folder / "participations" / f"{job}.safetensors", audience)
        randomness = SecretRandomness(book) if node.noise == "secure" else None
        opened = TrainingNode(described, described.task(data), Part(node.number, *node.part_of()), randomness)
        spending, cost = Spending(node.folder / "spent", node.max_epsilon), opened.cost
        spending.check(job, cost)
        if randomness is None and opened.method.secret_noise and not described.simulated:
            raise DiscreetError("this node's noise is simulated, and the server would take it for secret")

        def contribute(assignment: Assignment) -> Contribution:
            spending.check(job, cost)
            if randomness and opened.method.secret_noise and spending.charged(job) and not book.path.exists():
                raise DiscreetError("the node's book of who has joined is lost; nobody may join this training again")
            given = opened.contribute(assignment)
            spending.charge(job, cost)
            return given

        notice(
            f"training {described.method.name}, {described.method.rounds} rounds, {len(opened.setup.clients):,} readers"
            f" here, {node.noise} noise, {cost}"
        )
        return contribute

    return open_job


class TrainingNode:
    """A node's side of a training: the model, its own readers, and an answer to every task.

    Attributes:
        cost: What the whole training costs readers; infinite where it guarantees nothing, or its noise is no secret.
    """

    def __init__(
        self, description: Description, task: TrainingTask, part: Part, randomness: Randomness | None = None
    ) -> None:
        self.method = description.method
        self.setup: Setup = self.method.setup(task, description.seed, part, randomness)
        own = fixed_parts(self.setup.network.model)
        if {name: part.shape for name, part in own.items()} != {n: p.shape for n, p in description.fixed.items()}:
            raise DiscreetError("the server's model is not made of the same articles as that of this node")
        for name, fixed in own.items():
            fixed.copy_(torch.from_numpy(description.fixed[name].copy()))
        self.start: Parameters = self.setup.start
        guarantee = promised(self.method, self.start)
        if str(guarantee) != description.promise:
            raise DiscreetError(f"the server promises readers something else than this node finds: {guarantee}")
        secret = self.method.secret_noise and not isinstance(self.setup.randomness, SimulatedRandomness)
        self.cost = guarantee if secret else Guarantee.unprotected("noise that is no secret", Scope.LIFETIME)

    def contribute(self, assignment: Assignment) -> Contribution:
        """The contribution to the round that the task names.

        Where the node's readers cannot be used (their book is of other readers, or the program fails over them),
        nobody joins: a refusal would tell, without any noise, that there are such readers.
        """
        parameters, number = read_task(assignment.task, self.start)
        if not 1 <= number <= self.method.rounds:
            raise DiscreetError(f"round {number} is not one of the {self.method.rounds} rounds of this training")
        parties = Parties(len(assignment.invited), assignment.quorum, assignment.known)
        return Contribution(self._values(parameters, number, parties), self.cost)

    def _values(self, parameters: Parameters, number: int, parties: Parties) -> Integers:
        try:
            return self.method.contribution(self.setup, parameters, number, parties)
        except Exception as error:
            if isinstance(error, DiscreetError) and not isinstance(error, InputError):
                raise
            _log.error("nobody joins round %d, for the readers here cannot be used", number, exc_info=error)
            nobody = replace(self.setup, randomness=_NobodyJoins(self.setup.randomness))
            return self.method.contribution(nobody, parameters, number, parties)


@dataclass(frozen=True)
class _NobodyJoins:
    """A chance whose noise is as it was."""

    randomness: Randomness

    def joining(self, readers: NDArray[np.int32], number: int, plan: SamplingPlan) -> Positions:
        return np.zeros(0, np.int64)

    def noise(self, number: int) -> Noise:
        return self.randomness.noise(number)
