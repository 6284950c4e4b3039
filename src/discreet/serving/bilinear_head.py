"""A bilinear head behind the server, as `dp_fedavg` trains it: the device ranks with it, and sends nothing.

An article t and a reader ū, the mean of her clicked articles, have the score ūᵀWt + bᵀt with W symmetric
(`models.bilinear`). Let W = Q Λ Qᵀ. In the coordinates c = |Λ|^½ Qᵀt the first part is Σ ± c̄ₖcₖ, the sign that of the
eigenvalue. So articles are sent as c, those with negative eigenvalues last, and the terms say how many these are. The
second part is the article's base score. Nothing is left out. Two things differ from the trained head: coordinates are
sent in steps of 1/127 of the largest, and a device takes all of its clicks, where training took the latest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.methods.learnt import unpack_names
from discreet.methods.run import Run
from discreet.methods.setup import CENTRES
from discreet.models.bilinear import Bilinear
from discreet.models.news_model import Titles
from discreet.privacy.guarantee import Guarantee
from discreet.serving.device_only import DeviceOnly
from discreet.serving.model import Doubles, Floats
from discreet.text.encode import encode_texts
from discreet.text.word_vectors import unit_rows

_AXES = 32


@dataclass(frozen=True, eq=False)
class AxisSpace:
    """Topics for categories that a reader declares no secret: the axis on which an article lies furthest."""

    axes: Floats

    def __len__(self) -> int:
        return int(self.axes.shape[1])

    @cached_property
    def version(self) -> str:
        """Names the axes."""
        return _digest([self.axes])

    def topics_of(self, vectors: Floats) -> NDArray[np.int64]:
        """The axis of each article."""
        return np.asarray((vectors @ self.axes).argmax(axis=1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BilinearHead(DeviceOnly):
    """A trained head.

    Attributes:
        head: W.
        prior: b.
        text_basis: From a title vector to an article's.
        topic_basis: What each topic adds to it; the first row is for topics that are not known.
        topics: The names of topics, in the order of these rows.
        by_section: Whether these are sections, or else categories.
        text_centre: What title vectors are centred on.
        text_source: Where they come from.
        training: What training cost a reader.
    """

    kind: ClassVar[str] = "bilinear"
    mechanism: ClassVar[str] = "the device ranks by itself, with a trained head"
    device_weights: ClassVar[Mapping[str, float]] = {"interest": 1.0}

    head: Doubles
    prior: Doubles
    text_basis: Floats
    topic_basis: Floats
    topics: tuple[str, ...]
    by_section: bool
    text_centre: Floats
    text_source: str
    training: Guarantee | None

    @classmethod
    def from_run(cls, run: Run) -> BilinearHead:
        """The head of a run whose model is bilinear; other runs are refused."""
        model, state = getattr(run.method, "model", None), run.state
        if model != Bilinear.name:
            raise DiscreetError(
                f"a run of {run.method.name} cannot be served; train click_reports, front_page, or a method with"
                " --set model=bilinear"
            )
        centre = state.get(CENTRES[Titles.CATALOGUE])
        if centre is None:
            raise DiscreetError("this run does not say what its title vectors are centred on; train it again")
        sections, categories = (unpack_names(state[name]) for name in ("subcategories", "categories"))
        size = state["prior"].shape[0]
        head = np.zeros((size, size))
        above = np.triu_indices(size)
        head[above] = state["pairs"] * np.where(above[0] == above[1], 1.0, np.sqrt(0.5))
        head = np.triu(head) + np.triu(head, 1).T
        return cls(
            head,
            Bilinear.PRIOR * state["prior"].astype(np.float64),
            state["text_basis"],
            state["topic_basis"],
            tuple(sections or categories),
            bool(sections),
            np.asarray(centre, np.float32),
            run.text,
            run.guarantee,
        )

    @cached_property
    def version(self) -> str:
        """Names the head with its basis."""
        return _digest([self.head, self.prior, self.text_basis, self.topic_basis, self.text_centre])

    @cached_property
    def _directions(self) -> tuple[Doubles, int]:
        """From an article's vector to coordinates, and how many of these count negatively; they are the last."""
        values, vectors = np.linalg.eigh(self.head)
        order = np.argsort(-values, kind="stable")
        return vectors[:, order] * np.sqrt(np.abs(values[order])), int((values < 0).sum())

    @property
    def negative(self) -> int:
        """How many coordinates, the last, count negatively."""
        return self._directions[1]

    @cached_property
    def space(self) -> AxisSpace:
        """The axes that count most."""
        return AxisSpace(self._directions[0][:, : min(_AXES, len(self.head))].astype(np.float32))

    @property
    def centre(self) -> Floats:
        """A reader without clicks has the vector 0."""
        return np.zeros(len(self.head), np.float32)

    def title_vectors(self, titles: Sequence[str], topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """Articles from their titles and from their categories and sections."""
        if not titles:
            return np.zeros((0, len(self.head)), np.float32)
        encoded = encode_texts(list(titles), self.text_source).matrix
        if encoded.shape[1] != len(self.text_centre):
            raise DiscreetError(
                f"title vectors from '{self.text_source}' have {encoded.shape[1]} dimensions here and had"
                f" {len(self.text_centre)} in training; install what the run was trained with"
            )
        texts, titled = np.zeros_like(encoded), encoded.any(axis=1)
        texts[titled] = unit_rows(encoded[titled] - self.text_centre)
        row = {name: number for number, name in enumerate(self.topics, start=1)}
        named = [row.get(both[self.by_section], 0) for both in topics] or [0] * len(titles)
        return np.asarray(texts @ self.text_basis + self.topic_basis[named], dtype=np.float32)

    def coordinates(self, vectors: Floats, topics: Sequence[tuple[str, str]] = ()) -> Floats:
        """In which the score of two articles is a sum of products, the last of them negative."""
        return np.asarray(vectors @ self._directions[0], dtype=np.float32)

    def article_scores(self, vectors: Floats, categories: Sequence[str]) -> Floats:
        """Where each article lies on the axes."""
        return np.asarray(vectors @ self.space.axes, dtype=np.float32)

    def fixed_scores(self, vectors: Floats, categories: Sequence[str]) -> Doubles:
        """What everybody likes: bᵀt."""
        return np.asarray(vectors.astype(np.float64) @ self.prior)

    def base_scores(
        self,
        fixed: Doubles,
        published: NDArray[np.int64],
        first_shown: NDArray[np.int64],
        shows: NDArray[np.int64],
        popularity: Doubles,
        now: int,
    ) -> Doubles:
        """The fixed score: the head knows neither time nor popularity."""
        return fixed


def _digest(parts: Sequence[NDArray[np.generic]]) -> str:
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return hashlib.blake2b(content, digest_size=8).hexdigest()
