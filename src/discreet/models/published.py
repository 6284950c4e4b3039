"""What the published models have in common beyond the interface: settings, presets, and the sizes of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from torch import Tensor

from discreet.models.base import NewsModel


@dataclass(frozen=True)
class TableSizes:
    """How many different words, categories and subcategories articles have, and the length of their text vectors.

    What there is not is 0. Words, categories and subcategories include their number 0 (padding, none).
    """

    words: int = 0
    categories: int = 0
    subcategories: int = 0
    vector: int = 0


@dataclass(frozen=True)
class Settings:
    """What every model has; the defaults are the published ones, and all settings are plain JSON values.

    `size` is the length of an article's and of a reader's vector, `query_size` that of attention pooling's queries.
    """

    title_words: int = 30
    history_length: int = 50
    size: int = 400
    query_size: int = 200


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class WordSettings(Settings):
    """Settings of a model that reads words: the length of their vectors, and whether these are learnt as well."""

    word_size: int = 300
    train_words: bool = False


SMALL: dict[str, Any] = {"title_words": 20, "history_length": 25, "size": 48, "query_size": 32}
"""What the preset `small` has in common: enough for a small machine, a demonstration, a test."""


class PublishedModel(NewsModel, Generic[S]):
    """A model that can be made again from its settings and its table's sizes."""

    PRESETS: ClassVar[Mapping[str, Any]]
    """The settings called `published` and `small`."""

    def __init__(self, settings: S, sizes: TableSizes) -> None:
        super().__init__()
        self.settings = settings
        self.sizes = sizes
        self.size = settings.size
        self.history_length = settings.history_length


def needed(part: Tensor | None, what: str) -> Tensor:
    """A part of an article batch without which a model cannot work."""
    if part is None:
        raise ValueError(f"this model needs articles with {what}; make the article table with them")
    return part
