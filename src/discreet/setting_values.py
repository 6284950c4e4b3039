"""Settings from outside (a command line, a file, a server): a value that is of another kind is refused by name."""

from __future__ import annotations

import math
from enum import Enum, StrEnum
from typing import Any, TypeVar, get_args

from discreet.errors import DiscreetError

Choice = TypeVar("Choice", bound=StrEnum)
MAX_NUMBER = 2**53
"""No setting needs a larger whole number, and up to here a double holds all of them."""
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def checked_value(owner: str, setting: str, value: Any, kind: Any) -> Any:
    """Return the value of a setting, if it is of the kind that its annotation names; the word false means False.

    Annotations of other kinds than plain values and enumerations are their owner's business.

    Raises:
        DiscreetError: It is of another kind, not a number (NaN), or too large.
    """
    kinds = get_args(kind) or (kind,)
    if not all(one in _NAMES or one is type(None) or _is_enumeration(one) for one in kinds):
        return value
    if bool in kinds and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not any(_fits(value, one) for one in kinds):
        wanted = " or ".join(_NAMES.get(one, "a word") for one in kinds if one is not type(None))
        raise DiscreetError(f"{owner}: {setting} is {wanted}, not {shown(value)}")
    if type(value) is int and abs(value) > MAX_NUMBER:
        raise DiscreetError(f"{owner}: {setting} is too large")
    return value


def one_of(kind: type[Choice], setting: str, value: str) -> Choice:
    """Return the member of an enumeration that is called `value`.

    Raises:
        DiscreetError: It has none of this name.
    """
    try:
        return kind(value)
    except ValueError:
        raise DiscreetError(f"{setting} is one of {', '.join(kind)}, not {shown(value)}") from None


def shown(value: Any) -> str:
    """Return a value as an error shows it: on one line, and not all of one that is long."""
    text = repr(value) if isinstance(value, str) else f"'{value!r}'"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _fits(value: Any, kind: Any) -> bool:
    if kind is float:
        return type(value) is int or (isinstance(value, float) and not math.isnan(value))
    if _is_enumeration(kind):
        return isinstance(value, str | kind)
    return type(value) is kind


def _is_enumeration(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)
