"""What the published models have in common beyond the interface: words, small sizes, and one error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from discreet.models.news_model import ModelSettings


@dataclass(frozen=True)
class WordSettings(ModelSettings):
    """Settings of a model that reads words: the length of their vectors, and whether these are learnt as well.

    If `train_words` is None, words are learnt where there are no public vectors for them.
    """

    word_size: int = 300
    train_words: bool | None = None


@dataclass(frozen=True)
class EntitySettings(WordSettings):
    """Settings of a model that reads entities as well.

    If `train_entities` is None, entities are learnt where there are no public vectors for them.
    """

    entity_size: int = 100
    train_entities: bool | None = None


SMALL: dict[str, Any] = {"title_words": 20, "history_length": 25, "size": 48, "query_size": 32}
"""What the preset `small` has in common: enough for a small machine, a demonstration, a test."""


def check_heads(heads: int, size: int) -> None:
    """Refuse heads of attention that cannot share a vector evenly."""
    if size % heads:
        raise ValueError(f"{heads} heads cannot share a size of {size} evenly")


def needed(part: Tensor | None, what: str) -> Tensor:
    """A part of an article batch without which a model cannot work."""
    if part is None:
        raise ValueError(f"this model needs articles with {what}; its `needs` must say so")
    return part
