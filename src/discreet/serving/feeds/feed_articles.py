"""From the entries of any feed to articles: what is wrong with an entry is reported, and the rest goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from pydantic import ValidationError

from discreet.serving.api_messages import NewArticle
from discreet.serving.canonical_address import canonical, digested, is_address, plain_id, shortened

MAX_ENTRIES = 50_000
"""Entries of one feed; what comes after them is left out."""
MAX_ABSTRACT = 500
"""Characters of an abstract: every device downloads it."""
_MAX_TITLE, _MAX_CATEGORY, _MAX_LINK = 500, 200, 2000
_MAX_MARKUP = 20_000
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!--|&(#\d+|#[xX][0-9a-fA-F]+|[a-zA-Z]\w*);")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\s]+")
_SKEW = 3600

Fields = Mapping[str, Any]
Entries = Iterable[tuple[str, Fields | None]]
"""Where each entry stands in its feed ('entry 3', 'line 17'), and its fields, of any type, as far as it has them; None
for one that has no fields at all."""


@dataclass(frozen=True)
class FeedProblem:
    """What is wrong with one entry.

    Attributes:
        where: Which entry.
        why: What is wrong.
        left_out: Whether the whole entry is left out; else it is taken without what is wrong.
    """

    where: str
    why: str
    left_out: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.why}{'; left out' if self.left_out else ''}"


@dataclass(frozen=True)
class Feed:
    """What was read.

    Attributes:
        kind: What the feed is, for people.
        articles: Each address once, and without an address each id, in the order of the feed.
        problems: What was wrong with single entries, or with the feed.
        whole: Whether the feed was read to its end: else an article that is not in it may still be there.
    """

    kind: str
    articles: list[NewArticle]
    problems: list[FeedProblem]
    whole: bool


class _LeftOutError(Exception):
    """An entry that cannot be an article."""


def articles_of(kind: str, entries: Entries, base: str, now: int) -> Feed:
    """Turn entries into articles.

    Args:
        kind: What the feed is, for people.
        entries: Of the feed. Where iterating fails with a ValueError, the entries before are taken.
        base: The address that relative links start from.
        now: An article cannot have been published after this moment.
    """
    taken: dict[str, NewArticle] = {}
    problems: list[FeedProblem] = []
    broken: list[FeedProblem] = []
    for number, (where, fields) in enumerate(_until_broken(entries, broken)):
        if number == MAX_ENTRIES:
            broken.append(FeedProblem(where, f"a feed has at most {MAX_ENTRIES:,} entries; this one and the rest"))
            break

        def note(why: str, where: str = where) -> None:
            problems.append(FeedProblem(where, why, left_out=False))

        try:
            if fields is None:
                raise _LeftOutError("is no JSON object")
            article = _article(fields, base, now, note)
            name = plain_id(article.url) if article.url else article.id
            if name in taken:
                raise _LeftOutError(
                    f"the {'address' if article.url else 'id'} '{article.url or article.id}' came before"
                )
            taken[name] = article
        except _LeftOutError as error:
            problems.append(FeedProblem(where, str(error)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problems.append(FeedProblem(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"))
    return Feed(kind, list(taken.values()), broken + problems, not broken)


def _until_broken(entries: Entries, broken: list[FeedProblem]) -> Iterator[tuple[str, Fields | None]]:
    try:
        yield from entries
    except ValueError as error:
        broken.append(FeedProblem("the feed", f"{error}; what came before is taken", left_out=False))


def _article(fields: Fields, base: str, now: int, note: Callable[[str], None]) -> NewArticle:
    title = plain_text(fields.get("title"), _MAX_TITLE)
    abstract = plain_text(fields.get("abstract"), MAX_ABSTRACT)
    if not title and not abstract:
        raise _LeftOutError("has neither title nor text")
    url = _link(fields.get("url"), base, lambda: note("its address is not http or https; taken without"))
    return NewArticle(
        id=_id(fields.get("id"), url, title or abstract),
        title=title or abstract,
        abstract=abstract if title else "",
        category=plain_text(fields.get("category"), _MAX_CATEGORY),
        section=plain_text(fields.get("section"), _MAX_CATEGORY),
        url=url,
        image=_link(fields.get("image"), base, lambda: note("its picture is not http or https; taken without")),
        published=_moment(fields.get("published"), now, note),
    )


def plain_text(value: object, max_length: int) -> str:
    """One line of text: no markup, no control characters, cut after a word where it is too long."""
    if not isinstance(value, str | int | float):
        return ""
    text = str(value)[:_MAX_MARKUP]
    if _MARKUP.search(text):
        text = _without_markup(text)
    text = _UNPRINTABLE.sub(" ", text).strip()
    if len(text) <= max_length:
        return text
    cut = text[: max_length - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"


class _Text(HTMLParser):
    """The words of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style")
        self.parts.append(" " if tag in ("p", "br", "div", "li", "td") else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


def _without_markup(text: str) -> str:
    reader = _Text()
    reader.feed(text)
    reader.close()
    return "".join(reader.parts)


def _id(given: object, url: str, title: str) -> str:
    """The entry's own id; else its address; else a digest of its title. One that is too long is digested."""
    name = _UNPRINTABLE.sub(" ", str(given)).strip() if isinstance(given, str | int) else ""
    return shortened(name or url) or digested(title)


def _link(given: object, base: str, note: Callable[[], None]) -> str:
    """An absolute http or https address, or nothing."""
    if not isinstance(given, str) or not (text := given.strip()):
        return ""
    try:
        whole = urlsplit(quote(urljoin(base, text), safe="!#$%&'()*+,/:;=?@[]~")).geturl()  # HTTPS: is https:
        good = is_address(whole) and len(whole) <= _MAX_LINK and bool(canonical(whole))
    except ValueError:
        good = False
    if not good:
        note()
        return ""
    return whole


def _moment(given: object, now: int, note: Callable[[str], None]) -> int | None:
    """Seconds since 1970, from a number or from ISO 8601; None if it is not known, or lies in the future."""
    if given is None or given == "":
        return None
    try:
        seconds = _seconds(given)
    except (ValueError, OverflowError):
        note("its date cannot be read; it counts from when it was first seen")
        return None
    if seconds < 0:
        note("its date is before 1970; it counts from when it was first seen")
        return None
    if seconds > now + _SKEW:
        note("its date lies in the future; it counts from when it was first seen")
        return None
    return seconds


def _seconds(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError
    if not isinstance(given, str):
        return int(given)
    text = given.strip()
    if text.isascii() and text.isdigit():
        return int(text[:20])
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
