"""Checks an answer against `schema.json`, whole or not at all: a device uses no part of an answer that fails.

The schema uses a small part of JSON Schema: `type` (also a list), `properties`, `required`, `enum`, `pattern` (anchored
at both ends), `minLength` and `maxLength` in code points, `minimum`, `maximum`, `items`, `minItems`, `maxItems`, and
`$ref` to another top-level name. Fields that it does not name are dropped.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, NoReturn

from discreet.errors import DiscreetError

Schema = dict[str, Any]

SCHEMA: Schema = json.loads(files("discreet.protocol").joinpath("schema.json").read_text(encoding="utf-8"))
API: int = SCHEMA["api"]
MAX_INTEGER = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class MessageLimits:
    """How much a device takes and gives, and how little a promise may be. The server keeps to the same."""

    max_answer_bytes: int
    max_pages: int
    max_articles: int
    max_sketches: int
    max_clicks: int
    max_clicks_in_all: int
    max_slate: int
    max_epsilon: float
    min_epsilon: float
    min_epoch_seconds: int
    max_epoch_seconds: int
    min_slate_articles: int
    min_topic_articles: int
    max_reports: int
    max_tasks: int
    max_task_names: int
    max_task_length: int
    max_task_delta: float
    max_window_epsilon: float
    max_day_epsilon: float
    max_life_epsilon: float
    min_window_seconds: int
    min_send_seconds: int


limits = MessageLimits(**SCHEMA["limits"])


def read(kind: str, data: bytes) -> dict[str, Any]:
    """An answer's bytes as checked values.

    Args:
        kind: What it should be: "model", "catalogue", "page", "recommend", "tasks" or "cells".
        data: Its bytes, decompressed.

    Raises:
        DiscreetError: It is not that; the line says where.
    """
    return check(kind, parse(data))


def parse(data: bytes) -> object:
    """Strict JSON: UTF-8 without a mark, no NaN, no infinities by name, a nesting that is not absurd."""
    if len(data) > limits.max_answer_bytes:
        raise DiscreetError(f"the server's answer has more than {limits.max_answer_bytes} bytes")
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_int=_integer)
    except (ValueError, RecursionError):
        raise DiscreetError("the server's answer is not JSON; is this the address of a Discreet server?") from None


def check(kind: str, value: object) -> dict[str, Any]:
    """The parts of a parsed answer that the schema names, each of the right type and size."""
    checked: dict[str, Any] = _checked(value, SCHEMA[kind], kind)
    return checked


def _checked(value: Any, schema: Schema, path: str) -> Any:
    if "$ref" in schema:
        schema = SCHEMA[schema["$ref"]]
    kinds = schema["type"]
    kind = next((k for k in (kinds if isinstance(kinds, list) else [kinds]) if _is(value, k)), None)
    if kind is None:
        _refuse(path, f"is not of type {' or '.join(kinds) if isinstance(kinds, list) else kinds}")
    if "enum" in schema and value not in schema["enum"]:
        _refuse(path, "is none of the known values")
    if kind == "object":
        return _object(value, schema, path)
    if kind == "array":
        _sized(len(value), schema.get("minItems", 0), schema.get("maxItems"), path)
        return [_checked(entry, schema["items"], f"{path}[{number}]") for number, entry in enumerate(value)]
    if kind == "string":
        return _string(value, schema, path)
    if kind in ("integer", "number"):
        number = int(value) if kind == "integer" else float(value)
        if not schema.get("minimum", -math.inf) <= number <= schema.get("maximum", math.inf):
            _refuse(path, "is out of range")
        return number
    return value


def _object(value: dict[str, Any], schema: Schema, path: str) -> dict[str, Any]:
    for name in schema["required"]:
        if name not in value:
            _refuse(f"{path}.{name}", "is missing")
    return {
        name: _checked(value[name], inner, f"{path}.{name}")
        for name, inner in schema["properties"].items()
        if name in value
    }


def _string(value: str, schema: Schema, path: str) -> str:
    _sized(len(value), schema.get("minLength", 0), schema.get("maxLength"), path)
    if not value.isascii() and _SURROGATE.search(value):
        _refuse(path, "holds half a character")
    if "pattern" in schema and not _pattern(schema["pattern"]).match(value):
        _refuse(path, "holds what it may not")
    return value


def _is(value: object, kind: str) -> bool:
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return kind == "number" or (value == int(value) and abs(value) <= MAX_INTEGER)
    known = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, known[kind])


def _sized(size: int, minimum: int, maximum: int | None, path: str) -> None:
    if size < minimum or (maximum is not None and size > maximum):
        _refuse(path, "is too long" if size > minimum else "is too short")


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    """As JavaScript reads it: `$` is the end of the text, and not also before a last line break."""
    return re.compile(pattern.removesuffix("$") + r"\Z")


def _integer(digits: str) -> int | float:
    """A number without a point; one too long for a double is infinite, as in JavaScript."""
    return int(digits) if len(digits) <= 20 else float(digits)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse(path: str, problem: str) -> NoReturn:
    raise DiscreetError(f"the server's answer is not as agreed: {path} {problem}")
