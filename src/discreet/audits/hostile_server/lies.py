"""What a lying publisher does to an answer, drawn from a seed: to every field, the order, the size and the bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, 2, 1e-9, 10**30, -(10**30), 1e308, float("nan"), float("inf"), "", "0", "N1",
    "sports", "\ud800", "\x00", "x" * 5000, "__proto__", [], [[]], {}, {"id": "N1"}, ["N1"],
    "2026-01-01T00:00:00+00:00",
)  # fmt: skip
STATUSES = (
    100,
    200,
    201,
    204,
    206,
    301,
    302,
    304,
    307,
    400,
    401,
    403,
    404,
    409,
    410,
    413,
    418,
    422,
    429,
    500,
    502,
    503,
)
BODIES = (b"", b"null", b"[]", b"{}", b"<html>", b"\xff", b"[" * 3000, b"{" * 10, b'{"error": "no"}', b'{"error": 1}')

Lie = Callable[[Any, Random], Any]
"""Changes an answer, which may be changed in place, and gives it back."""


def places(answer: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in an answer."""
    found: list[tuple[Any, Any]] = []
    waiting = [answer]
    while waiting:
        part = waiting.pop()
        keys = list(part) if isinstance(part, dict) else range(min(len(part), 40)) if isinstance(part, list) else ()
        for key in keys:
            found.append((part, key))
            waiting.append(part[key])
    return found


def odd_value(answer: Any, rng: Random) -> Any:
    """Something else in one field."""
    part, key = rng.choice(places(answer))
    part[key] = rng.choice(ODD)
    return answer


def missing(answer: Any, rng: Random) -> Any:
    """One field less."""
    part, key = rng.choice(places(answer))
    del part[key]
    return answer


def other_order(answer: Any, rng: Random) -> Any:
    """A list in another order, shorter, or with an entry twice."""
    lists = [part[key] for part, key in places(answer) if isinstance(part[key], list) and part[key]]
    if not lists:
        return odd_value(answer, rng)
    chosen = rng.choice(lists)
    how = rng.randrange(4)
    if how == 0:
        rng.shuffle(chosen)
    elif how == 1:
        del chosen[rng.randrange(len(chosen)) :]
    elif how == 2:
        chosen.append(copy.deepcopy(rng.choice(chosen)))
    else:
        chosen[:] = chosen * 40
    return answer


def swapped(answer: Any, rng: Random) -> Any:
    """Two fields of the same name in two entries change places."""
    found = places(answer)
    first, key = rng.choice(found)
    others = [part for part, name in found if name == key and part is not first]
    if others:
        second = rng.choice(others)
        first[key], second[key] = second[key], first[key]
    return answer


LIES: tuple[Lie, ...] = (odd_value, odd_value, missing, other_order, swapped)


def as_bytes(answer: Any, rng: Random) -> bytes:
    """As JSON text, perhaps not all of it, or with too much."""
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    how = rng.randrange(40)
    if how == 0:
        return body[: rng.randrange(len(body) + 1)]
    if how == 1:
        return body + rng.choice((b" ", b"\n", b"x", body))
    if how == 2 and body:
        place = rng.randrange(len(body))
        return body[:place] + bytes([body[place] ^ (1 << rng.randrange(8))]) + body[place + 1 :]
    return body
