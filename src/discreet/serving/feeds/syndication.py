"""RSS and Atom, read by feedparser, which forgives much."""

from __future__ import annotations

import calendar
import io
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import feedparser

from discreet.errors import DiscreetError
from discreet.serving.feeds.feed_articles import Entries, Fields
from discreet.serving.feeds.fetch import is_url, public_base, shown_feed

_DECLARED = re.compile(r"<!ENTITY", re.IGNORECASE)
_HEAD = 64 * 1024


def syndication_entries(body: bytes, address: str) -> tuple[str, Entries]:
    """The kind of feed and its entries.

    Raises:
        DiscreetError: It is no feed, or declares entities, with which a small file could fill the memory.
    """
    for encoding in ("latin-1", "utf-16-le", "utf-16-be"):
        if _DECLARED.search(body[:_HEAD].decode(encoding, errors="ignore")):
            raise DiscreetError(f"{shown_feed(address)}: declares XML entities, which no feed needs; it is not read")
    origin = {"content-location": public_base(address)} if is_url(address) else {}
    try:
        found = feedparser.parse(io.BytesIO(body), response_headers=origin)
    except Exception as error:
        raise DiscreetError(f"{shown_feed(address)}: cannot be read as a feed ({type(error).__name__})") from error
    if not found.version and not found.entries:
        why = getattr(found.get("bozo_exception"), "getMessage", lambda: "no RSS, no Atom")()
        raise DiscreetError(f"{shown_feed(address)}: is no feed that is known ({why})")
    return f"{found.version or 'RSS or Atom'}", _entries(found)


def _entries(found: Any) -> Iterator[tuple[str, Fields]]:
    for number, entry in enumerate(found.entries, 1):
        yield f"entry {number}", _fields(entry, found.feed.get("link") or "")
    if found.bozo and (line := getattr(found.get("bozo_exception"), "getLineNumber", lambda: None)()):
        raise ValueError(f"is broken at line {line} ({found.bozo_exception.getMessage()})")


def _fields(entry: Any, home: str) -> Fields:
    tags = [tag.get("label") or tag.get("term") for tag in entry.get("tags", [])]
    content = entry.get("summary") or next((part.get("value") for part in entry.get("content", [])), "")
    # dict.get: feedparser's own gives one for the other, and warns
    when = dict.get(entry, "published_parsed") or dict.get(entry, "updated_parsed")
    said = dict.get(entry, "published") or dict.get(entry, "updated")
    return {
        "id": entry.get("id"),
        "title": entry.get("title"),
        "abstract": content,
        "category": tags[0] if tags else "",
        "section": tags[1] if len(tags) > 1 else "",
        "url": _absolute(entry.get("link"), home),
        "image": _image(entry),
        "published": calendar.timegm(when) if when else said,
    }


def _absolute(link: str | None, home: str) -> str | None:
    """A link as feedparser resolved it; in a file that does not say where it is from, relative to the feed's page."""
    try:
        return urljoin(home, link) if link and "://" not in link else link
    except ValueError:
        return link


def _image(entry: Any) -> str | None:
    pictures = [*entry.get("media_thumbnail", []), *entry.get("media_content", []), *entry.get("enclosures", [])]
    for one in pictures:
        kind = one.get("type") or one.get("medium") or "image"
        if kind.startswith("image"):
            address: str | None = one.get("url") or one.get("href")
            return address
    return None
