"""Which kind of feed some bytes are, and its reading."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from discreet.errors import DiscreetError
from discreet.serving.canonical_address import is_address
from discreet.serving.feeds.feed_articles import Entries, Feed, Fields, articles_of
from discreet.serving.feeds.fetch import public_base, shown_feed
from discreet.serving.feeds.sitemap import sitemap_entries
from discreet.serving.feeds.syndication import syndication_entries

_COLUMNS = ("id", "title", "abstract", "category", "section", "url", "image", "published")
_SITEMAP = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex)[\s>]")
_HEAD = 4096


def read_feed(body: bytes, address: str, now: int) -> Feed:
    """Read RSS, Atom, JSON Feed, a news sitemap, csv, or JSON lines; the content tells which.

    Raises:
        DiscreetError: It is none of them, or nothing of it can be read.
    """
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise DiscreetError(f"{shown_feed(address)}: is empty")
    if start.startswith((b"{", b"[")):
        kind, entries = _of_json(start, address)
        entries = _with_addresses(entries)
    elif start.startswith(b"<") or b"\x00" in start[:4]:
        head = start[:_HEAD]
        if _SITEMAP.search(head):
            kind, entries = "news sitemap", sitemap_entries(start, address)
        else:
            kind, entries = syndication_entries(body, address)
    else:
        kind, entries = "csv", _with_addresses(_of_csv(start, address))
    return articles_of(kind, entries, public_base(address), now)


def _with_addresses(entries: Entries) -> Entries:
    """Entries, each with its id as its address, where the id is one and no other is given."""
    for where, fields in entries:
        name = fields.get("id") if fields else None
        lacks = fields and isinstance(name, str) and is_address(name) and not fields.get("url")
        yield where, {**fields, "url": name} if fields and lacks else fields


def _of_json(body: bytes, address: str) -> tuple[str, Entries]:
    first = body.split(b"\n", 1)[0].strip()
    if isinstance(head := _loaded(first), dict) and "items" not in head:
        return "JSON lines", _of_json_lines(body)
    document = _loaded(body)
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        return "JSON Feed", _of_json_feed(document["items"])
    if isinstance(document, list):
        return "JSON", ((f"entry {number}", _object(one)) for number, one in enumerate(document, 1))
    raise DiscreetError(
        f"{shown_feed(address)}: is JSON, but neither a JSON Feed (with 'items') nor one article a line"
    )


def _loaded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(found: Any) -> Fields | None:
    return found if isinstance(found, dict) else None


def _of_json_feed(items: list[Any]) -> Entries:
    return ((f"entry {number}", _item(one) if isinstance(one, dict) else None) for number, one in enumerate(items, 1))


def _item(given: Fields) -> Fields:
    tags = given.get("tags")
    first, second, *_ = [*(tags if isinstance(tags, list) else []), "", ""]
    return {
        "id": given.get("id"),
        "title": given.get("title"),
        "abstract": given.get("summary") or given.get("content_text") or given.get("content_html"),
        "category": first,
        "section": second,
        "url": given.get("url") or given.get("external_url"),
        "image": given.get("image") or given.get("banner_image"),
        "published": given.get("date_published") or given.get("date_modified"),
    }


def _of_json_lines(body: bytes) -> Iterator[tuple[str, Fields | None]]:
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            yield f"line {number}", _object(_loaded(line))


def _of_csv(body: bytes, address: str) -> Entries:
    text = body.decode("utf-8", errors="replace")
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip().lower() for name in next(rows)]
    except (StopIteration, csv.Error):
        columns = []
    unknown = [name for name in columns if name not in _COLUMNS]
    if "title" not in columns or unknown:
        wrong = (
            f"has the column '{unknown[0][:40]}'" if "title" in columns else "has no column 'title' in its first line"
        )
        raise DiscreetError(
            f"{shown_feed(address)}: is no feed that is known; as csv it {wrong} (columns: {', '.join(_COLUMNS)})"
        )
    return _rows(rows, columns)


def _rows(rows: Any, columns: list[str]) -> Iterator[tuple[str, Fields]]:
    try:
        for row in rows:
            if row:
                yield f"line {rows.line_num}", dict(zip(columns, row, strict=False))
    except csv.Error as error:
        raise ValueError(f"line {rows.line_num} cannot be read as csv ({error})") from None
