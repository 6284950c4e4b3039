"""News sitemaps, which feedparser does not know. Entities are refused, and nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from discreet.errors import DiscreetError
from discreet.serving.feeds.feed_articles import Fields
from discreet.serving.feeds.fetch import shown_feed

_FIELDS = {
    "loc": "url",
    "news:title": "title",
    "news:publication_date": "published",
    "news:keywords": "category",
    "lastmod": "changed",
    "image:loc": "image",
}
_NAMESPACES = {
    "http://www.google.com/schemas/sitemap-news/0.9": "news:",
    "http://www.google.com/schemas/sitemap-image/1.1": "image:",
    "http://www.sitemaps.org/schemas/sitemap/0.9": "",
}
_MAX_VALUE = 20_000


def sitemap_entries(body: bytes, address: str) -> Iterator[tuple[str, Fields]]:
    """The entries of a news sitemap; where the XML breaks, those before, and then a ValueError.

    Raises:
        DiscreetError: It is an index, which names sitemaps and no articles.
    """
    reader = _Reader()
    broken = ""
    try:
        reader.parser.Parse(body, True)
    except expat.ExpatError as error:
        broken = f"is broken at line {error.lineno} ({expat.ErrorString(error.code)})"
    except _EntityError:
        raise DiscreetError(
            f"{shown_feed(address)}: declares XML entities, which no feed needs; it is not read"
        ) from None
    if reader.is_index:
        raise DiscreetError(f"{shown_feed(address)}: is an index of sitemaps; name one of those that it lists")
    return _entries(reader.entries, broken)


def _entries(found: list[dict[str, str]], broken: str) -> Iterator[tuple[str, Fields]]:
    for number, entry in enumerate(found, 1):
        keyword = entry.get("category", "").partition(",")[0]
        yield (
            f"entry {number}",
            {**entry, "category": keyword, "published": entry.get("published") or entry.get("changed")},
        )
    if broken:
        raise ValueError(broken)


class _EntityError(Exception):
    """An entity is declared."""


class _Reader:
    """Collects the fields of each entry."""

    def __init__(self) -> None:
        self.entries: list[dict[str, str]] = []
        self.is_index = False
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self._entry: dict[str, str] | None = None
        self._field: str | None = None

    def _start(self, name: str, _: object) -> None:
        local = _named(name)
        if local in ("url", "sitemap"):
            self.is_index |= local == "sitemap"
            self._entry = {}
        field = _FIELDS.get(local)
        self._field = None if self._entry is None or field in self._entry else field  # of several, the first

    def _end(self, name: str) -> None:
        self._field = None
        if _named(name) in ("url", "sitemap") and self._entry is not None:
            self.entries.append(self._entry)
            self._entry = None

    def _text(self, text: str) -> None:
        if self._entry is not None and self._field is not None:
            known = self._entry.get(self._field, "")
            if len(known) < _MAX_VALUE:
                self._entry[self._field] = known + text

    def _refuse(self, *_: object) -> None:
        raise _EntityError


def _named(name: str) -> str:
    space, _, local = name.rpartition(" ")
    return f"{_NAMESPACES.get(space, '' if not space else space + ':')}{local}"
