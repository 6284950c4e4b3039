"""The head that a run of `front_page` has learnt, as articles' coordinates: devices rank with it, and send nothing.

The head adds ūᵀWt to a score, with t an article's public vector, ū the mean of the history's, and W symmetric
(`methods.front_page.head`). Let W = Q Λ Qᵀ. In the coordinates z = Qᵀt this is Σ λₖ z̄ₖ zₖ. So each article is sent with
z after its title vector, and the terms say what each of these coordinates counts, λₖ. Of the head's 96 directions the
`MAX_SERVED` with the largest |λₖ| are sent: the others have little left when noise was taken out of W. Each coordinate
has a unit of its own, so that all use the whole range of a byte.

Where λ is learnt while serving (`serving.learning.sum_weights`) and no run has a head, it begins at zero, in the main
directions of the catalogue's own titles and topics. z must not change under what was learnt, so a database keeps them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from discreet.errors import DiscreetError
from discreet.methods.front_page.head_articles import main_directions, topic_rows
from discreet.methods.front_page.symmetric import symmetric_matrix
from discreet.methods.method import State
from discreet.protocol.check import SCHEMA
from discreet.protocol.weight_cells import MAX_DIRECTIONS
from discreet.serving.learning.learnt_state import packed, unpacked
from discreet.serving.model import Doubles, Floats

MAX_SERVED = MAX_DIRECTIONS
"""How many coordinates of a head an article is sent with at most."""
MAX_DIMENSION: int = SCHEMA["model"]["properties"]["vectors"]["properties"]["dimension"]["maximum"]
MIN_TITLES = 100
"""Of how many titles main directions can be found."""


@dataclass(frozen=True, eq=False)
class FrontPageHead:
    """A trained head, in the directions that it matches interests by.

    Attributes:
        values: λ, what each direction counts.
        text_basis: From a title vector to directions.
        topic_basis: What each topic adds; the last row, of zeros, is for topics that are not known.
        topics: Category and section of each topic, in the order of these rows; a category alone has the section "".
        centre: What is subtracted.
        text_centre: What title vectors are centred on.
    """

    values: Doubles
    text_basis: Doubles
    topic_basis: Doubles
    topics: tuple[tuple[str, str], ...]
    centre: Doubles
    text_centre: Floats

    @classmethod
    def from_state(cls, state: State) -> FrontPageHead:
        """The head of a run's state; a DiscreetError says why it cannot be served."""
        if "head_topics" not in state:
            raise DiscreetError("it was trained by an older version; train it again to serve its head")
        values, directions = np.linalg.eigh(symmetric_matrix(state["head"].astype(np.float64)))
        basis, text_centre = state["head_basis"].astype(np.float64) @ directions, state["head_text_centre"]
        counts = (values != 0) & basis.any(axis=0)
        counts[np.argsort(-np.abs(values * counts), kind="stable")[MAX_SERVED:]] = False
        if not counts.any():
            raise DiscreetError("nothing that it learnt stood out of noise and chance")
        size = len(text_centre)
        _require_room(size, int(counts.sum()))
        basis = basis[:, counts]
        return cls(
            values[counts],
            basis[:size],
            np.concatenate((basis[size:], np.zeros((1, basis.shape[1])))),
            tuple((category, section) for category, section in json.loads(state["head_topics"].tobytes())),
            (state["head_centre"].astype(np.float64) @ directions)[counts],
            text_centre,
        )

    @classmethod
    def of_articles(cls, vectors: Floats, places: Sequence[tuple[str, str]], text_centre: Floats) -> FrontPageHead:
        """A head that counts nothing yet, in the main directions of some articles.

        Args:
            vectors: Of their titles.
            places: Category and section of each.
            text_centre: What title vectors are centred on.
        """
        if len(vectors) < MIN_TITLES:
            raise DiscreetError(
                f"a head is learnt in the main directions of at least {MIN_TITLES} articles, and the catalogue has"
                f" {len(vectors)}; leave the head out until it has more"
            )
        topics = sorted({*places, *((category, "") for category, _ in places)})
        basis, centre = main_directions(vectors, topic_rows(topics, places), len(topics))
        counts = basis.any(axis=0) & (np.arange(basis.shape[1]) < MAX_SERVED)
        found, size = basis[:, counts].astype(np.float64), len(text_centre)
        _require_room(size, found.shape[1])
        nothing = np.zeros((1, found.shape[1]))
        of_topics = np.concatenate((found[size:], nothing))
        return cls(nothing[0], found[:size], of_topics, tuple(topics), centre[counts].astype(np.float64), text_centre)

    def to_text(self) -> str:
        """As a database keeps it."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "topics"}
        small = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        topics = np.frombuffer(json.dumps(self.topics).encode(), np.uint8)
        return base64.b64encode(packed({**small, "topics": topics})).decode()

    @classmethod
    def from_text(cls, text: str) -> FrontPageHead:
        """The inverse of `to_text`."""
        arrays = unpacked(base64.b64decode(text))
        topics = tuple((category, section) for category, section in json.loads(arrays.pop("topics").tobytes()))
        centre = arrays.pop("text_centre")
        return cls(topics=topics, text_centre=centre, **{name: one.astype(np.float64) for name, one in arrays.items()})

    @cached_property
    def version(self) -> str:
        """Names the head with its directions."""
        parts = (self.values, self.text_basis, self.topic_basis, self.centre, self.text_centre)
        content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
        return hashlib.blake2b(content + json.dumps(self.topics).encode(), digest_size=8).hexdigest()

    def coordinates(self, vectors: Floats, places: Sequence[tuple[str, str]]) -> Doubles:
        """The coordinates z of each article, from its title vector, its category and its section.

        A section that is not known counts as its category, and a category that is not known as none.
        """
        topic = topic_rows(self.topics, places or [("", "")] * len(vectors))
        return np.asarray(vectors.astype(np.float64) @ self.text_basis + self.topic_basis[topic] - self.centre)

    def largest(self, vectors: Floats) -> Doubles:
        """How large each coordinate gets for such titles, whatever their topics; 1 where it is always 0."""
        titles = np.abs(vectors.astype(np.float64) @ self.text_basis - self.centre).max(axis=0, initial=0.0)
        found = titles + np.abs(self.topic_basis).max(axis=0)
        return np.where(found > 0, found, 1.0)

    def variances(self, vectors: Floats) -> Doubles:
        """Of each coordinate for such titles, their topics being any; 1 where it is always 0."""
        found = (vectors.astype(np.float64) @ self.text_basis).var(axis=0) + self.topic_basis[:-1].var(axis=0)
        return np.where(found > 0, found, 1.0)


def _require_room(size: int, directions: int) -> None:
    if size + directions > MAX_DIMENSION:
        raise DiscreetError(
            f"title vectors of {size} dimensions leave no room for it; devices take at most {MAX_DIMENSION}"
        )
