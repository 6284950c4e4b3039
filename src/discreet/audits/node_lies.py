"""What a lying server does to the requests that it sends: every field of every one may change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any

from discreet.aggregation.secure_sum.sum_terms import Step
from discreet.nodes.requests import Begin, Proceed, SplitRequest, read_request

NUMBERS = (0, 1, 2, 3, 7, 63, 64, 65, 2**16, 2**31 - 1, 2**32 - 1)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 2**31, 2**63, -(2**63), 10**30, 0.0, 0.5, -0.5, 1.5, 1e-300, 1e308,
    "", "x", "inf", "nan", "é\n\x00", [], {}, [1], [[]], {"kind": "x"},
)  # fmt: skip


def lied(rng: Random, sent: bytes, others: Sequence[bytes]) -> list[bytes]:
    """What is sent in the place of a request: nothing, twice the same, another one, or one that was changed."""
    match rng.randrange(9):
        case 0:
            return []
        case 1:
            return [sent, sent]
        case 2:
            return [rng.choice(others), sent] if others else [sent]
        case 3:
            return [sent, rng.choice(others)] if others else [sent]
        case 4:
            return [damaged(rng, sent)]
        case _:
            return [field_changed(rng, sent)]


def damaged(rng: Random, data: bytes) -> bytes:
    """Some bytes changed, cut off or added."""
    kind = rng.randrange(4)
    if kind == 0 or not data:
        return data + rng.randbytes(rng.randrange(1, 9))
    if kind == 1:
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
    return bytes(changed)


def field_changed(rng: Random, sent: bytes) -> bytes:
    """A request that can be read, but for one field that says something else."""
    request = read_request(sent)
    name = rng.choice([field.name for field in fields(request)])
    value = _other(rng, getattr(request, name), request)
    if isinstance(request, Begin) and name == "invited":
        value = tuple(sorted(set(value)))
    try:
        return replace(request, **{name: value}).to_bytes()
    except Exception:  # no such request can be written
        return damaged(rng, sent)


def _other(rng: Random, value: Any, request: Begin | Proceed | SplitRequest) -> Any:
    match value:
        case Step():
            return Step(rng.randrange(1, 5))
        case bool() | None:
            return rng.randbytes(rng.randrange(40))
        case int():
            return rng.choice((*NUMBERS, value + 1, max(0, value - 1)))
        case bytes():
            same_size = rng.randbytes(len(value))
            return rng.choice((damaged(rng, value), same_size, bytes(len(value)), b"", request.context))
        case tuple():
            return tuple(_other(rng, one, request) if rng.random() < 0.5 else one for one in value)
        case _:
            return value


def json_changed(rng: Random, fields: Mapping[str, Any], **dumps: Any) -> bytes:
    """A line of JSON in which something is missing, added, or of another type or size."""
    changed = dict(fields)
    name = rng.choice(list(changed))
    match rng.randrange(4):
        case 0:
            del changed[name]
        case 1:
            changed[rng.choice(("more", "seed", "fixed"))] = rng.choice(VALUES)
        case 2 if isinstance(changed[name], dict) and changed[name]:
            inner = dict(changed[name])
            inner[rng.choice(list(inner))] = rng.choice(VALUES)
            changed[name] = inner
        case _:
            changed[name] = rng.choice(VALUES)
    line = json.dumps(changed, **dumps).encode(errors="replace") + b"\n"
    return damaged(rng, line) if rng.random() < 0.1 else line
