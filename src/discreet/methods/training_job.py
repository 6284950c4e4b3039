"""Training as a job of nodes: what the server tells them.

A node knows its readers, the server the model. The description of the job says once what is trained and how; each
round's task carries the parameters and the round's number. What a node does with it is in `discreet.edge.node`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays
from safetensors.torch import load, save

from discreet.data.news import Articles, NewsData
from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import method_from_plain, plain_settings
from discreet.methods.setup import Setup, title_vectors
from discreet.models.model_registry import fixed_parts
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.protocol import versions
from discreet.training.objective import Parameters

KIND = "train"
LIMITS = {"rounds": 100_000, "negatives": 100, "local_steps": 100, "history_clicks": 1_000}
"""What a node computes at most for any server, whatever its data is."""
_MAX_SEED = 2**63 - 1
_MAX_CENTRE = 1.001
"""No mean of unit vectors is longer than 1, but for rounding."""
_NUMBER = struct.Struct("<Q")


@dataclass(frozen=True)
class Description:
    """What is trained, and on which public text.

    Attributes:
        method: with all its settings.
        seed: of the training; the noise of real nodes does not come from it.
        text: where title vectors come from, as `TrainingTask` has it.
        source: what that turned out to be at the server.
        centre: what title vectors are centred on.
        catalogue: a digest of all articles.
        simulated: whether nodes may draw from the seed what should be secret, so that the run says so.
        fixed: what the model has taken from public articles and does not train. Two machines might compute it
            differently, and sums of updates to different models mean nothing.
        promise: what readers are promised for all rounds. It is here so that all nodes of a sum have agreed on it.
    """

    method: Federated
    seed: int
    text: str
    source: str
    centre: NDArray[np.float32]
    catalogue: str
    simulated: bool = False
    fixed: Mapping[str, NDArray[np.float32]] = field(default_factory=dict, repr=False)
    promise: str = ""

    @classmethod
    def of(cls, method: Federated, task: TrainingTask, setup: Setup, *, simulated: bool = False) -> Description:
        """The job of training the model of `setup` by `method` on the articles of `task`."""
        if method.needs.reader_id:
            raise DiscreetError(f"model {method.model} knows readers by their number, and nodes do not share those")
        titles = title_vectors(task, method.needs)
        source, centre = (titles.vectors.source, titles.centre) if titles else ("", np.zeros(0, np.float32))
        fixed = {name: part.cpu().numpy() for name, part in fixed_parts(setup.network.model).items()}
        catalogue = catalogue_digest(task.data.articles)
        promise = str(promised(method, setup.start))
        return cls(method, setup.seed, task.text, source, centre, catalogue, simulated, fixed, promise)

    def to_bytes(self) -> bytes:
        """One line of JSON."""
        about: dict[str, Any] = {
            "kind": KIND,
            "format": versions.TRAINING_JOB,
            "method": self.method.name,
            "settings": plain_settings(self.method),
            "seed": self.seed,
            "text": self.text,
            "source": self.source,
            "centre": self.centre.tolist(),
            "catalogue": self.catalogue,
            "simulated": self.simulated,
            "fixed": base64.b64encode(save_arrays(dict(self.fixed))).decode(),
            "promise": self.promise,
        }
        return json.dumps(about, sort_keys=True).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Description:
        """Read a description, refusing what is none."""
        try:
            about = json.loads(data)
            if about["kind"] != KIND or about["format"] != versions.TRAINING_JOB:
                raise DiscreetError(
                    f"a training of format {about['format']}; this node knows format {versions.TRAINING_JOB}"
                )
            method = method_from_plain(about["method"], about["settings"])
            centre = np.array(about["centre"], np.float32)
            fixed = load_arrays(base64.b64decode(about["fixed"], validate=True))
            rest = (about["text"], about["source"], centre, about["catalogue"], about["simulated"], fixed)
            described = cls(method, about["seed"], *rest, about["promise"])  # type: ignore[arg-type]
            exact = described.to_bytes() == data
        except DiscreetError:
            raise
        except Exception as error:
            raise DiscreetError("the description of the training cannot be read") from error
        if not isinstance(method, Federated):
            raise DiscreetError(f"{about['method']} does not train over nodes")
        if not exact:
            raise DiscreetError("the description of the training is not as servers write it")
        described._check()
        return described

    def _check(self) -> None:
        """Refuse what no honest server asks for: too much work, or numbers that are none."""
        for name, most in LIMITS.items():
            if getattr(self.method, name, 0) > most:
                raise DiscreetError(f"nodes allow {name} of at most {most:,}, not {getattr(self.method, name):,}")
        if type(self.seed) is not int or not 0 <= self.seed <= _MAX_SEED:
            raise DiscreetError("the seed of a training is a whole number from 0 to 2^63 - 1")
        if type(self.simulated) is not bool:
            raise DiscreetError("'simulated' must be true or false")
        if not all(np.isfinite(values).all() for values in (self.centre, *self.fixed.values())):
            raise DiscreetError("the description of the training has numbers that are not finite")
        if np.linalg.norm(self.centre.astype(np.float64)) > _MAX_CENTRE:
            raise DiscreetError("the centre of the title vectors is longer than a mean of unit vectors")

    def task(self, data: NewsData) -> TrainingTask:
        """The same task with a node's own data, if the articles and the text vectors are the server's.

        The server names no file of the node: vectors are hashed, or the best that the node has. They are made from
        public text alone, and the centre is the server's. Otherwise each reader's update would depend on what the other
        readers of the node have read.
        """
        if catalogue_digest(data.articles) != self.catalogue:
            raise DiscreetError("the server's articles are not those of this node; both need the same catalogue")
        task = TrainingTask(data, "hashed" if self.text == "hashed" else "auto", centre=self.centre, public_text=True)
        try:
            titles = title_vectors(task, self.method.needs)
        except ValueError:
            raise DiscreetError(
                f"the server has title vectors from {self.source}, this node shorter or longer ones"
            ) from None
        if titles and (titles.vectors.source, titles.vectors.matrix.shape[1:]) != (self.source, self.centre.shape):
            raise DiscreetError(f"the server has title vectors from {self.source}, this node {titles.vectors.source}")
        return task


def promised(method: Federated, start: Parameters) -> Guarantee:
    """What a method promises before its first round."""
    guarantee = method.guarantee({name: value.numpy() for name, value in start.items()})
    return guarantee or Guarantee.unprotected("sums without noise", Scope.LIFETIME)


def write_task(parameters: Parameters, number: int) -> bytes:
    """The task of round `number`: contribute at these parameters."""
    return _NUMBER.pack(number) + save({name: value.contiguous() for name, value in parameters.items()})


def read_task(data: bytes, like: Parameters) -> tuple[Parameters, int]:
    """Parameters and round of a task; refused unless names, shapes and types are those of `like`, all finite."""
    try:
        (number,), found = _NUMBER.unpack_from(data), load(data[_NUMBER.size :])
    except Exception as error:
        raise DiscreetError("the task cannot be read") from error
    if found.keys() != like.keys() or any(
        found[name].shape != value.shape or found[name].dtype != value.dtype for name, value in like.items()
    ):
        raise DiscreetError("the task's parameters are not those of this model")
    if not all(torch.isfinite(value).all() for value in found.values()):
        raise DiscreetError("the task's parameters are not finite")
    return {name: found[name] for name in like}, number


def catalogue_digest(articles: Articles) -> str:
    """A digest of all that models read of the articles."""
    digest = hashlib.blake2b(digest_size=16)
    for texts in (articles.ids, articles.titles, articles.abstracts, articles.categories, articles.subcategories):
        digest.update(json.dumps(list(texts)).encode())
    if (entities := articles.entities) is not None:
        digest.update(json.dumps([list(entities.names), list(entities.surface)]).encode())
        digest.update(entities.first.tobytes() + entities.entity.tobytes())
    return digest.hexdigest()
