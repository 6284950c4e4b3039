"""The publisher's articles as a device uses them. Everything here is public, and none of it is believed unchecked."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urldefrag

from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Article:
    """One article, as the server describes it; `base` is its score for everybody, with its `popularity` in it."""

    id: str
    title: str
    category: str
    topic: int
    vector: bytes
    base: float = 0.0
    popularity: float = 0.0
    abstract: str = ""
    section: str = ""
    published: int | None = None
    url: str = ""
    image: str = ""

    @classmethod
    def from_json(
        cls, fields: Mapping[str, Any], base: float, terms: PublisherTerms, popularity: float = 0.0
    ) -> Article:
        """An article that has been checked against the schema.

        Raises:
            DiscreetError: It does not fit the terms' topics and vectors.
        """
        if fields["topic"] >= terms.topics:
            raise DiscreetError(f"an article is on topic {fields['topic']} of {terms.topics}")
        vector = unpacked(fields["vector"], terms.dimension)
        return cls(**{**fields, "vector": vector, "base": base, "popularity": popularity})

    @classmethod
    def unknown(cls, article_id: str) -> Article:
        """An article of which nothing is known but its name."""
        return cls(address_of(article_id), "", "", 0, b"")

    def is_any_of(self, names: Collection[str]) -> bool:
        """Whether its id or its address is among these, which have no fragment."""
        return self.id in names or (self.url != "" and address_of(self.url) in names)


class DeviceCatalogue:
    """Articles by id."""

    def __init__(self, articles: Iterable[Article] = ()) -> None:
        self._articles = {article.id: article for article in articles}

    def __len__(self) -> int:
        return len(self._articles)

    def __iter__(self) -> Iterator[Article]:
        return iter(self._articles.values())

    def get(self, name: str) -> Article | None:
        """The article with this id or address, if it is in the catalogue."""
        return self._articles.get(name) or self._by_address.get(address_of(name))

    @cached_property
    def _by_address(self) -> dict[str, Article]:
        return {address_of(article.url): article for article in self if article.url}

    def holds(self, article_ids: Collection[str]) -> int:
        """How many different ones of these are in the catalogue."""
        return sum(name in self._articles for name in set(article_ids))

    @cached_property
    def topic_sizes(self) -> Counter[int]:
        """How many articles each topic has, of those that have any."""
        return Counter(article.topic for article in self)


def address_of(name: str) -> str:
    """An address without what says where in a page to look; what is no address stays as it is."""
    return urldefrag(name).url if name.startswith(("http://", "https://")) else name


def unpacked(text: str, size: int) -> bytes:
    """Base64 of exactly `size` bytes."""
    if len(text) != 4 * -(-size // 3):
        raise DiscreetError(f"base64 of {len(text)} characters where {size} bytes are expected")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise DiscreetError("what should be base64 is not") from None
    if len(data) != size:
        raise DiscreetError(f"{len(data)} bytes where {size} are expected")
    return data
