"""Test vectors for other devices: from these random bytes, these clicks must become these release bytes.

Write them anew with `python tests/support/device_vectors.py`; a test requires that the file is up to date.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

from discreet.edge.reader.reports import label, label_mechanism, sketch_mechanism
from discreet.privacy.noise import SecureNoise

PATH = Path(__file__).parents[1] / "edge" / "test_vectors.json"

PREFIXES = ("", "00" * 40, "ff" * 40, "ff" * 7 + "00", "ff" * 8 + "00" * 8, "80" * 16, "7f" * 16, "fe" * 32)
"""Bytes that chance would hardly bring: they reach the ends of tables, and need longer tables."""


@contextmanager
def system_bytes(drawn: Callable[[int], bytes]) -> Iterator[SecureNoise]:
    """Secure noise on a system whose randomness is known beforehand."""
    with mock.patch("discreet.privacy.noise.urandom", drawn):
        yield SecureNoise()


class Scripted:
    """A prefix, then a 32-bit xorshift generator."""

    def __init__(self, prefix: str, seed: int) -> None:
        self._prefix, self._state = bytes.fromhex(prefix), seed

    def __call__(self, count: int) -> bytes:
        drawn, self._prefix = self._prefix[:count], self._prefix[count:]
        return drawn + bytes(self._next() for _ in range(count - len(drawn)))

    def _next(self) -> int:
        x = self._state
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        self._state = x
        return x >> 24


def sketch_vector(
    epsilon: float, topics: int, hide_length: bool, clicks: int, prefix: str, seed: int
) -> dict[str, Any]:
    history = [(seed * 31 + number * number) % topics for number in range(clicks)]
    mechanism = sketch_mechanism(topics, epsilon, hide_length=hide_length)
    with system_bytes(Scripted(prefix, seed)) as noise:
        release = mechanism.release(history, noise)
    asked = {"epsilon": epsilon, "topics": topics, "hide_length": hide_length, "clicks": history}
    return {"kind": "sketch", **asked, **_drawn(prefix, seed, release.to_bytes())}


def label_vector(epsilon: float, choices: int, clicked: list[int], prefix: str, seed: int) -> dict[str, Any]:
    with system_bytes(Scripted(prefix, seed)) as noise:
        release = label(clicked, label_mechanism(choices, epsilon), noise)
    asked = {"epsilon": epsilon, "choices": choices, "clicked": clicked}
    return {"kind": "label", **asked, **_drawn(prefix, seed, release.to_bytes())}


def vectors() -> list[dict[str, Any]]:
    made, seed = [], 1
    epsilons = (0.7, 1.0, 0.1, 0.3, 0.01, 1e-4, 2.5, 10.0, 1 / 3, 0.249, 0.25, 5e-6, 40.0)
    for epsilon, topics, hide_length, clicks in product(epsilons, (2, 12, 33), (False, True), (0, 7, 300)):
        made.append(sketch_vector(epsilon, topics, hide_length, clicks, "", seed := seed + 1))
    for epsilon, prefix, hide_length in product(epsilons, PREFIXES[1:], (False, True)):
        made.append(sketch_vector(epsilon, 5, hide_length, 4, prefix, seed := seed + 1))
    for epsilon, choices, several in product(epsilons, (2, 3, 20, 37, 200, 500), (False, True)):
        clicked = [choices // 3, choices - 1] if several else [choices // 2]
        made.append(label_vector(epsilon, choices, clicked, PREFIXES[seed % 5] if several else "", seed := seed + 1))
    return made


def _drawn(prefix: str, seed: int, release: bytes) -> dict[str, Any]:
    return {"prefix": prefix, "seed": seed, "release": base64.b64encode(release).decode()}


def text() -> str:
    lines = ",\n".join(json.dumps(vector) for vector in vectors())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
