"""Administration for scripts: a catalogue changed through its running server, or in its database."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sqlalchemy.exc import SQLAlchemyError

from discreet.database import problem_of, shown_database
from discreet.errors import DiscreetError
from discreet.serving.api_messages import NewArticle, SlateCount
from discreet.serving.article_names import take_down
from discreet.serving.database_tables import open_engine
from discreet.serving.feeds.feed_store import FeedStore
from discreet.serving.learning.logged_exposure import LoggedSlate, add_slates
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.server_store import EXPIRED, ServerStore
from discreet.serving.status import read_status, require_status

_SECONDS = 60.0
_AT_ONCE = 500
_LISTED_AT_ONCE = 1000


class Administration(Protocol):
    """What a script can do with a catalogue."""

    def add(self, new: Sequence[NewArticle]) -> None:
        """Add or replace articles."""
        ...

    def expire(self, article: str) -> None:
        """Recommend an article no more, named by its id or its address."""
        ...

    def articles(self, state: str | None) -> Iterator[dict[str, Any]]:
        """Articles in a state, or in any, in the order of their ids."""
        ...

    def add_slates(self, slates: Sequence[SlateCount]) -> None:
        """Tell which slates were shown."""
        ...

    def status(self) -> dict[str, Any]:
        """What was learnt, how good it is, and what it cost."""
        ...

    def models(self) -> dict[str, Any]:
        """Model versions, and which a rollback holds."""
        ...

    def rollback(self, version: str) -> str:
        """Serve what a version knew; its whole name."""
        ...

    def lift(self) -> None:
        """End a rollback."""
        ...


class OfDatabase:
    """A catalogue in its database. A server that runs on it follows within seconds."""

    def __init__(self, database: str | Path, *, must_exist: bool) -> None:
        if must_exist and "://" not in str(database) and not Path(database).is_file():
            raise DiscreetError(f"{database}: there is no such database")
        self._place = database
        self._store = self._done(lambda: ServerStore(open_engine(database)))

    def add(self, new: Sequence[NewArticle]) -> None:
        """Let articles wait to be encoded by a server."""
        self._done(lambda: FeedStore(self._store).put_by_hand(new, int(time.time())))

    def expire(self, article: str) -> None:
        """Recommend an article no more."""
        self._done(lambda: take_down(self._store, article, EXPIRED))

    def articles(self, state: str | None) -> Iterator[dict[str, Any]]:
        """Articles in a state, or in any, in the order of their ids."""
        after = ""
        while rows := self._done(lambda after=after: self._store.listing(state, after, _LISTED_AT_ONCE)):
            yield from (dict(row._mapping) for row in rows)
            after = rows[-1].id

    def add_slates(self, slates: Sequence[SlateCount]) -> None:
        """Count slates, for servers that were started with --exposure logged."""
        self._done(lambda: add_slates(self._store, (LoggedSlate(tuple(one.articles), one.shown) for one in slates)))

    def status(self) -> dict[str, Any]:
        """From the database alone: what else a running server knows is not in it."""
        found: dict[str, Any] = self._done(lambda: read_status(self._store))
        return found

    def models(self) -> dict[str, Any]:
        """Model versions, and which a rollback holds."""
        versions = self._versions()
        listed = self._done(versions.listing)
        return {
            "versions": [version.to_json() for version in listed],
            "rolled_back_to": self._done(versions.rolled_back_to),
        }

    def rollback(self, version: str) -> str:
        """Serve what a version knew; a running server follows within a minute."""
        return str(self._done(lambda: self._versions().rollback(version)).version)

    def lift(self) -> None:
        """End a rollback."""
        self._done(self._versions().lift)

    def _versions(self) -> ModelVersions:
        return ModelVersions(self._store)

    def _done(self, work: Any) -> Any:
        try:
            return work()
        except SQLAlchemyError as error:
            raise DiscreetError(
                f"{shown_database(self._place)}: the database cannot be used ({problem_of(error)})"
            ) from error


class OfServer:
    """A catalogue behind its server, with the administrator's token. The token follows no redirection."""

    def __init__(self, server: str, token: str) -> None:
        if not server.startswith(("http://", "https://")):
            raise DiscreetError(f"{server}: a server's address begins with http:// or https://")
        self._url, self._token = f"{server.rstrip('/')}/v1/admin", token

    def add(self, new: Sequence[NewArticle]) -> None:
        """Put articles, some at a time."""
        for start in range(0, len(new), _AT_ONCE):
            self._ask("PUT", "/articles", [article.model_dump() for article in new[start : start + _AT_ONCE]])

    def expire(self, article: str) -> None:
        """Recommend an article no more."""
        self._ask("POST", f"/articles/{quote(article, safe='')}/expire")

    def articles(self, state: str | None) -> Iterator[dict[str, Any]]:
        """Articles in a state, or in any, in the order of their ids."""
        after: str | None = ""
        while after is not None:
            asked = {"after": after, "limit": _LISTED_AT_ONCE, **({"state": state} if state else {})}
            found = self._ask("GET", f"/articles?{urlencode(asked)}")
            yield from found["articles"]
            after = found["next"]

    def add_slates(self, slates: Sequence[SlateCount]) -> None:
        """Post slates, some at a time."""
        for start in range(0, len(slates), _AT_ONCE):
            self._ask("POST", "/slates", [slate.model_dump() for slate in slates[start : start + _AT_ONCE]])

    def status(self) -> dict[str, Any]:
        """As the running server tells it."""
        return require_status(self._ask("GET", "/status"))

    def models(self) -> dict[str, Any]:
        """Model versions, and which a rollback holds."""
        found: dict[str, Any] = self._ask("GET", "/models?limit=1000")
        return found

    def rollback(self, version: str) -> str:
        """Serve what a version knew."""
        return str(self._ask("POST", f"/models/{quote(version, safe='')}/rollback")["rolled_back_to"])

    def lift(self) -> None:
        """End a rollback."""
        self._ask("DELETE", "/rollback")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data=data, headers=headers, method=method)
        try:
            with build_opener(_NoRedirection).open(request, timeout=_SECONDS) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                raise DiscreetError(f"{self._url}: {_said(error)}") from None
        except URLError as error:
            raise DiscreetError(f"{self._url}: cannot be reached ({error.reason}); is the server running?") from error
        except (OSError, HTTPException, ValueError) as error:
            raise DiscreetError(f"{self._url}: does not answer as it should ({error})") from error


class _NoRedirection(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _said(error: HTTPError) -> str:
    """Why a request was refused."""
    if error.code == 404 and not error.url.endswith(("/expire", "/rollback")):
        return "there is no administration here; start the server with --admin-token-file"
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"answered {error.code}"
