"""PrivateRec behind the server: a reader is B noised attention weights, an article B scores, a request B·C products.

The device encodes its history with the trained reader encoder, and releases its attention over the basis (Liu et al.:
PrivateRec, Algorithms 1 and 2) with exact noise for the true sensitivity. No random padding: one release is proved
without it. How the model was trained is not protected by that; `BasisModel.guarantee` says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.learnt import trained_parameters
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.run import Run
from discreet.methods.setup import CENTRES
from discreet.models.features import ArticleTable, encode_all
from discreet.models.model_registry import MODELS, fixed_parts
from discreet.models.news_model import Needs, NewsModel, TableSizes
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights
from discreet.protocol.check import limits
from discreet.serving.model import Doubles, Floats, Timeless
from discreet.serving.sketch_terms import SketchTerms
from discreet.serving.trained_titles import digest_of, trained_title_vectors
from discreet.training.network import Network


@dataclass(frozen=True, eq=False)
class BasisSpace:
    """The basis vectors [B, size] that attention is paid to."""

    vectors: Floats

    def __len__(self) -> int:
        return len(self.vectors)

    @cached_property
    def version(self) -> str:
        """Names the basis: attention to one means nothing in another."""
        return digest_of([self.vectors])

    def topics_of(self, vectors: Floats) -> NDArray[np.int64]:
        """The basis vector that each article has the largest product with."""
        return np.asarray((vectors @ self.vectors.T).argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BasisModel(Timeless):
    """A trained PrivateRec: the score of article t is t·ũ with ũ = Σ α̃ᵢ bᵢ, from the weights α̃ of noised attention.

    The weights sum to 1, so a score is that of the mean basis vector, which needs no release and ranks for readers who
    sent none, plus Σ (α̃ᵢ − 1/B) t·bᵢ. The first is the base, α̃ − 1/B the interest.

    Attributes:
        text_centre: What title vectors were centred on in training.
        text_source: Where title vectors come from.
    """

    kind: ClassVar[str] = "basis"
    epsilon_label: ClassVar[float] = 0.0
    uses_labels: ClassVar[bool] = False
    hide_length: ClassVar[bool] = True
    device_weights: ClassVar[Mapping[str, float]] = {"interest": 1.0}

    method: PrivateRec
    network: NewsModel
    space: BasisSpace
    version: str
    text_centre: Floats
    text_source: str

    @classmethod
    def from_run(cls, run: Run) -> BasisModel:
        """The model of a run of PrivateRec with a finite `epsilon_serving`; other runs are refused."""
        method, network, centre = trained_network(run)
        if method.epsilon_serving is None or math.isinf(method.epsilon_serving):
            raise DiscreetError(
                "this run of privaterec has no budget for serving; train it with --set epsilon_serving=1 (or another ε)"
            )
        parameters = [run.state[name] for name in sorted(trained_parameters(run.state))]
        space = BasisSpace(np.asarray(run.state["basis"], np.float32))
        return cls(method, network, space, digest_of([*parameters, centre]), centre, run.text)

    @property
    def epsilon_sketch(self) -> float:
        """ε of one release of noised attention."""
        return self.attention.epsilon

    @cached_property
    def attention(self) -> ClippedAttention:
        """The mechanism that devices release with."""
        assert self.method.epsilon_serving is not None
        epsilon, theta = float(self.method.epsilon_serving), float(self.method.theta)
        return ClippedAttention(epsilon=epsilon, theta=theta, dimension=len(self.space))

    @property
    def sketch_terms(self) -> SketchTerms:
        """What a release must be."""
        return SketchTerms.of_basis(self.attention, limits.max_sketches)

    @property
    def centre(self) -> Floats:
        """The mean basis vector: who has sent nothing is ranked for with it."""
        return np.asarray(self.space.vectors.mean(axis=0), dtype=np.float32)

    def title_vectors(self, titles: Sequence[str], topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """Articles as the trained encoder sees them, from their titles; the anonymous article for an empty one."""
        if not titles:
            return np.zeros((0, self.network.size), np.float32)
        texts = trained_title_vectors(titles, self.text_source, self.text_centre)
        table = ArticleTable(TableSizes(vector=texts.shape[1]), vectors=torch.from_numpy(texts))
        return np.asarray(encode_all(self.network, table, np.arange(len(titles))).numpy())

    def coordinates(self, vectors: Floats) -> Floats:
        """The vectors themselves: what the reader encoder on a device takes."""
        return vectors

    def article_scores(self, vectors: Floats, categories: Sequence[str]) -> Floats:
        """The product of each article with each basis vector."""
        return np.asarray(vectors @ self.space.vectors.T, dtype=np.float32)

    def fixed_scores(self, vectors: Floats, categories: Sequence[str]) -> Doubles:
        """The product of each article with the mean basis vector."""
        return np.asarray(self.article_scores(vectors, categories).mean(axis=1, dtype=np.float64))

    def interest(self, counts: NDArray[np.int64], clicks: int | None, releases: int) -> Doubles:
        """α̃ − 1/B: the mean of the releases, made positive with sum 1 (Algorithm 2, line 10), over the mean reader.

        Without a release, `counts` are clicks that the reader declared not sensitive, by nearest basis vector, and
        their shares are the weights. Beside releases such clicks count as steps of attention, which is next to nothing.
        """
        if releases:
            weights = positive_weights(counts * (self.attention.step / releases))
        else:
            weights = counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
        return np.asarray(weights - 1 / len(counts), dtype=np.float64)

    def guarantee(self) -> Guarantee:
        """What a click costs over its life, training included: the paper's claim, and that nothing bounds it."""
        return self.method.guarantee({})


def trained_network(run: Run) -> tuple[PrivateRec, NewsModel, Floats]:
    """The method of a run of PrivateRec, its trained encoders, and what title vectors are centred on.

    Refused where articles are made of more than title vectors.
    """
    method = run.method
    if not isinstance(method, PrivateRec):
        raise DiscreetError(f"a run of {method.name} has no basis; train one with --method privaterec")
    needs = method.needs
    if needs.vectors is None or needs != Needs(vectors=needs.vectors):
        raise DiscreetError(
            f"privaterec with model {method.model} cannot be served: its articles are more than title vectors;"
            " train it with --set model=plm_nr"
        )
    centre = run.state.get(CENTRES[needs.vectors])
    if centre is None:
        raise DiscreetError("this run does not say what its title vectors are centred on; train it again")
    model = MODELS[method.model](method.chosen_model, TableSizes(vector=len(centre)))
    for name, part in fixed_parts(model).items():
        part.copy_(torch.from_numpy(run.state[name]))
    return method, Network(model).load(trained_parameters(run.state)).eval(), centre
