"""Infinity in JSON, which has no word for it: no noise is the string "inf", in every file, answer and `--json`."""

from __future__ import annotations

import math
from typing import Any, TypeVar

T = TypeVar("T")
WORD = "inf"


def to_plain(value: T) -> T | str:
    """A value for JSON."""
    return WORD if isinstance(value, float) and math.isinf(value) else value


def from_plain(value: Any) -> Any:
    """The inverse of `to_plain`."""
    return math.inf if value == WORD else value
