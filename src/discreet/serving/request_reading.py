"""How requests are read, and what refusals look like in the description of the API."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from discreet.serving import api_messages as m
from discreet.serving.refusal import RequestRefusal

T = TypeVar("T")
JSON = "application/json"
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": m.Problem, "description": text}
    for status, text in (
        (404, "Not here."),
        (409, "Another version, or a second report."),
        (413, "Too large."),
        (415, "Not JSON."),
        (422, "Not what was asked for."),
        (429, "Too many requests."),
        (503, "Come back later."),
    )
}


def some(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Refusals with these statuses, as the description has them."""
    return {status: REFUSED[status] for status in statuses}


async def read_body(request: Request, adapter: TypeAdapter[T]) -> T:
    """The body of a request, read by hand, since Starlette's way takes longer."""
    kind = next((value for name, value in request.scope["headers"] if name == b"content-type"), b"")
    _require_json(kind.decode("latin-1"))
    body, more = bytearray(), True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return _parsed(body, adapter)


def _require_json(content_type: str) -> None:
    """Refuse other types: a page of another origin can send those without asking first."""
    if not content_type.lower().startswith(JSON):
        raise RequestRefusal(415, "send JSON, with the header 'Content-Type: application/json'")


def _parsed(body: bytes | bytearray, adapter: TypeAdapter[T]) -> T:
    """The body as a message, or a refusal that names the first wrong field and never repeats what was in it."""
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)
        raise RequestRefusal(422, first_problem(list(found))) from None


def first_problem(errors: list[Any]) -> str:
    """The first of several problems that validation found, in one line."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("label", "sketch", "query", "path"))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where}: {first['msg']}{more}" if where else f"{first['msg']}{more}"
