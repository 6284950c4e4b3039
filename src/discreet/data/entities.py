"""What articles name: people, places and things with a number in a public knowledge base, in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Entities:
    """The entities that articles mention.

    Article `i` has the mentions `first[i]:first[i + 1]`. Mention `m` is of the entity `names[entity[m]]` (a Wikidata id
    in MIND), and `surface[m]` is how the title puts it; empty where only the abstract has it.

    Attributes:
        vectors: Public vectors of the entities [names, size], zero for one without; None where there are none at all.
    """

    names: Sequence[str]
    first: NDArray[np.int64]
    entity: NDArray[np.int32]
    surface: Sequence[str]
    vectors: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        """How many different entities there are."""
        return len(self.names)

    def of(self, article: int) -> list[tuple[str, str]]:
        """The mentions of an article: entity and surface."""
        mentions = range(int(self.first[article]), int(self.first[article + 1]))
        return [(self.names[self.entity[mention]], self.surface[mention]) for mention in mentions]

    @classmethod
    def from_lists(
        cls, mentions: Sequence[Sequence[tuple[str, str]]], vectors: dict[str, NDArray[np.float32]] | None = None
    ) -> Entities:
        """From each article's mentions (entity, surface), and entities' public vectors by name."""
        flat = [mention for own in mentions for mention in own]
        names = sorted({name for name, _ in flat})
        number = {name: place for place, name in enumerate(names)}
        matrix = None
        if vectors:
            nothing = np.zeros_like(next(iter(vectors.values())))
            matrix = np.array([vectors.get(name, nothing) for name in names], np.float32).reshape(len(names), -1)
        return cls(
            names=names,
            first=np.concatenate(([0], np.cumsum([len(own) for own in mentions], dtype=np.int64))),
            entity=np.array([number[name] for name, _ in flat], np.int32),
            surface=[surface for _, surface in flat],
            vectors=matrix,
        )
