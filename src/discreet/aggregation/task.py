"""A task: the public terms of a sum over readers. Its id is a digest of the terms, so they cannot change under it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.aggregation.prio3 import Prio3, best_chunk_length
from discreet.errors import DiscreetError
from discreet.privacy import accounting
from discreet.privacy.accounting.zcdp import gaussian_rho
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.mechanisms.lattice import zcdp_multiplier
from discreet.privacy.mechanisms.mechanism import Sensitivity
from discreet.privacy.noise import rounded_up
from discreet.privacy.noise_tables import MAX_SCALE, MIN_SCALE

MAX_LENGTH = 1 << 20
MAX_VALUE = 1 << 30
MAX_TIME = 1 << 40
MAX_TEXT = 1000
MIN_GAUSSIAN_EPSILON, MIN_DELTA, MAX_DELTA = 0.001, 1e-12, 0.01
DAY = 86_400
OF_EACH_WINDOW = "window"


class Kind(StrEnum):
    """What a reader's vector may be; each is a circuit of Prio3, which proves it."""

    COUNT = "count"
    """One value, 0 or 1."""
    SUM = "sum"
    """One value from 0 to `max_value`."""
    SUMVEC = "sumvec"
    """`length` values from 0 to `max_value`. That they sum to at most `max_total` the device sees to, no proof."""
    SIGNEDVEC = "signedvec"
    """`length` values from −`max_value` to `max_value`, which are sent with `max_value` added to each. That their sizes
    sum to at most `max_total` the device sees to, no proof."""
    HISTOGRAM = "histogram"
    """A 1 in one of `length` buckets. Bucket 0 is for devices with nothing to contribute."""
    MULTIHOT = "multihot"
    """`length` zeros and ones, at most `max_total` of them ones."""


class Per(StrEnum):
    """What a reader pays for, and what `max_total` bounds: one window, or all windows of a day (UTC) together."""

    WINDOW = "window"
    DAY = "day"


class NoiseKind(StrEnum):
    """What each aggregator adds to its share."""

    LAPLACE = "discrete_laplace"
    GAUSSIAN = "discrete_gaussian"


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is summed, when, and at which cost to a reader.

    Attributes:
        name: How people call it.
        purpose: What it is for, in plain words for a reader.
        kind: What a reader's vector may be.
        length: How many values it has.
        max_value: The largest of them.
        max_total: The largest sum of all of them; without it, the largest that kind, length and `max_value` allow.
            Where a reader pays `per` day, the device keeps the sum over all windows of a day to it.
        start: When window 0 begins, in seconds since 1970.
        window_seconds: How long a window is. A reader contributes to each window once.
        windows: How many windows there are.
        send_seconds: Within so many seconds after a window's end its contributions are sent, at a time drawn at random;
            without it, within the length of a window.
        per: Whether ε is the cost of one window's contribution, or of those of a whole day.
        epsilon: What it costs a reader to contribute.
        delta: The same in δ; 0 with discrete Laplace noise.
        noise: What each aggregator adds.
        min_batch: Windows with fewer contributions are not collected. This keeps results useful. It protects nobody.
        measure: What a device measures, by a name that devices know.
        cells: SHA-256, in hexadecimal digits, of the public list of what each value stands for; or "window", if each
            window has a list of its own, which is published when it ends; empty if there is none.
        leader: Address of the aggregator that takes reports; empty where there are no two aggregators.
        helper: Address of the other one.
    """

    name: str
    purpose: str
    kind: Kind
    length: int = 1
    max_value: int = 1
    max_total: int | None = None
    start: int
    window_seconds: int
    windows: int
    send_seconds: int | None = None
    per: Per = Per.WINDOW
    epsilon: float
    delta: float = 0.0
    noise: NoiseKind = NoiseKind.LAPLACE
    min_batch: int = 1
    measure: str = ""
    cells: str = ""
    leader: str = ""
    helper: str = ""

    def __post_init__(self) -> None:
        for field, kind in (("kind", Kind), ("noise", NoiseKind), ("per", Per)):
            _require(getattr(self, field) in list(kind), field, f"one of {', '.join(kind)}")
            object.__setattr__(self, field, kind(getattr(self, field)))
        for field in ("name", "purpose", "measure", "cells", "leader", "helper"):
            _require(_is_text(getattr(self, field)), field, f"a text of at most {MAX_TEXT} characters")
        _require(bool(self.name), "name", "a text that is not empty")
        for field, low, high in (
            ("length", 1, MAX_LENGTH),
            ("max_value", 1, MAX_VALUE),
            ("start", 0, MAX_TIME),
            ("window_seconds", 1, MAX_TIME),
            ("windows", 1, MAX_TIME),
            ("min_batch", 1, MAX_TIME),
        ):
            _require(_is_whole(getattr(self, field), low, high), field, f"a whole number from {low} to {high}")
        if self.max_total is None:
            object.__setattr__(self, "max_total", 1 if self.kind is Kind.HISTOGRAM else self.length * self.max_value)
        _require(_is_whole(self.max_total, 1, self.length * self.max_value), "max_total", "at most length × max_value")
        if self.send_seconds is None:
            object.__setattr__(self, "send_seconds", self.window_seconds)
        _require(_is_whole(self.send_seconds, 1, self.window_seconds), "send_seconds", "at most window_seconds")
        if self.per is Per.DAY:
            _require(self.kind is not Kind.HISTOGRAM, "per", "window for kind histogram, which has no zeros")
            _require(self.start % DAY == 0, "start", "the beginning of a day (UTC) where a reader pays per day")
            _require(DAY % self.window_seconds == 0, "window_seconds", "a part of a day where a reader pays per day")
        for field, fixed in _FIXED[self.kind].items():
            _require(getattr(self, field) == fixed, field, f"{fixed} for kind {self.kind}")
        if self.kind is Kind.SUM:
            _require(self.max_total == self.max_value, "max_total", "max_value for kind sum")
        gaussian = self.noise is NoiseKind.GAUSSIAN
        least = MIN_GAUSSIAN_EPSILON if gaussian else 2.0**-20
        _require(_is_number(self.epsilon) and least <= self.epsilon <= 100, "epsilon", f"from {least:.2g} to 100")
        allowed = _is_number(self.delta) and (MIN_DELTA <= self.delta <= MAX_DELTA if gaussian else self.delta == 0)
        _require(allowed, "delta", "from 1e-12 to 0.01 with discrete Gaussian noise, and 0 with discrete Laplace noise")
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))
        if not MIN_SCALE <= self.noise_scale <= MAX_SCALE:
            raise DiscreetError("the task's bounds and epsilon need noise beyond 2^50, or below 2^-20")

    def to_json(self) -> dict[str, Any]:
        """The terms as plain values."""
        fields = {name: getattr(self, name) for name in _FIELDS}
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in fields.items()}

    @classmethod
    def from_json(cls, terms: Mapping[str, Any]) -> Task:
        """The inverse of `to_json`; nothing may be missing, and nothing be there that is not known."""
        if not isinstance(terms, Mapping) or set(terms) != set(_FIELDS):
            raise DiscreetError(f"a task has the fields {', '.join(_FIELDS)}, each once and no others")
        if terms["max_total"] is None or terms["send_seconds"] is None:
            raise DiscreetError("the task's max_total and send_seconds must be whole numbers")
        return cls(**terms)

    @cached_property
    def terms(self) -> bytes:
        """The terms in canonical JSON (RFC 8785): the same bytes in every language."""
        fields = sorted(self.to_json().items())
        return ("{" + ",".join(f"{_canonical(name)}:{_canonical(value)}" for name, value in fields) + "}").encode()

    @cached_property
    def id(self) -> bytes:
        """SHA-256 of the terms: the TaskID of DAP."""
        return hashlib.sha256(self.terms).digest()

    @property
    def total(self) -> int:
        """`max_total`, which is a number by now."""
        assert self.max_total is not None
        return self.max_total

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far a sum moves when one reader's contribution counts as zero.

        In L1 by `max_total`. In L2 most when as many values as can be are at `max_value`, for the square is convex.
        """
        full, rest = divmod(self.total, self.max_value)
        return Sensitivity(l1=self.total, l2=math.sqrt(full * self.max_value**2 + rest**2), linf=self.max_value)

    @cached_property
    def noise_scale(self) -> Fraction:
        """The scale of the discrete Laplace noise that each aggregator adds, or σ of the discrete Gaussian."""
        if self.noise is NoiseKind.LAPLACE:
            return rounded_up(self.total / Fraction(self.epsilon))
        return rounded_up(self.sensitivity.l2 * (1 + 1e-12) * zcdp_multiplier(self.epsilon, self.delta))

    def event(self) -> accounting.DpEvent:
        """What one window, or one day, was, for the accountant: one aggregator's noise, as the other's may be known."""
        if self.noise is NoiseKind.LAPLACE:
            return accounting.DiscreteLaplaceDpEvent(float(1 / self.noise_scale), self.total)
        return accounting.ZCDpEvent(gaussian_rho(float(self.noise_scale) / self.sensitivity.l2) * (1 + 1e-9))

    def guarantee(self) -> Guarantee:
        """What one window, or one day, costs a reader; the theorem is in `aggregation.aggregator_noise`."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            unit=Unit.USER,
            adjacency=Adjacency.ZERO_OUT,
            adversary=Adversary.PUBLISHER_AND_AGGREGATOR,
            scope=Scope.WINDOW if self.per is Per.WINDOW else Scope.DAY,
            status=Status.PROVED,
            mechanism=f"sum with {self.noise.replace('_', ' ')} noise of each aggregator",
        )

    def window_at(self, time: float) -> int:
        """The window that holds a moment (seconds since 1970); below 0 before the first."""
        return (math.floor(time) - self.start) // self.window_seconds

    def begins(self, window: int) -> int:
        """When a window begins, and the one before it ends, in seconds since 1970."""
        return self.start + window * self.window_seconds

    def sent_until(self, window: int) -> int:
        """When the last contribution of a window has been sent, in seconds since 1970: from then on, collect it."""
        assert self.send_seconds is not None
        return self.begins(window + 1) + self.send_seconds

    def period(self, window: int) -> int:
        """What a reader pays for a window's contribution is paid once for all windows with this number."""
        return window if self.per is Per.WINDOW else window * self.window_seconds // DAY

    def require_window(self, window: int) -> None:
        """An error unless the task has this window."""
        if not 0 <= window < self.windows:
            raise DiscreetError(f"task {self.name} has windows 0 to {self.windows - 1}, not {window}")

    def require_batch(self, window: int, contributions: int) -> None:
        """An error if a window has too few contributions to be collected."""
        if contributions < self.min_batch:
            raise DiscreetError(
                f"window {window} of task {self.name} has {contributions} contributions,"
                f" fewer than the {self.min_batch} that make a batch"
            )

    def nothing(self) -> NDArray[np.int64]:
        """What a reader contributes who has nothing to say: zeros, or a 1 in bucket 0 of a histogram."""
        values = np.zeros(self.length, np.int64)
        values[0] = self.kind is Kind.HISTOGRAM
        return values

    def checked(self, values: ArrayLike) -> NDArray[np.int64]:
        """A reader's vector, or an error, without a value in it, if it is out of bounds."""
        vector = np.asarray(values)
        if vector.shape != (self.length,) or vector.dtype.kind not in "biu":
            raise DiscreetError(f"task {self.name} takes {self.length} whole numbers")
        self.require_bounds(vector, np.abs(vector.astype(np.int64)).sum(keepdims=True))
        return vector.astype(np.int64)

    @property
    def min_value(self) -> int:
        """The smallest of the values."""
        return -self.max_value if self.kind is Kind.SIGNEDVEC else 0

    def require_bounds(self, values: NDArray[Any], totals: NDArray[Any]) -> None:
        """An error unless all values, and of all readers the total of their values' sizes, are within bounds."""
        least = self.total if self.kind is Kind.HISTOGRAM else 0
        outside = (values < self.min_value) | (values > self.max_value)
        if np.any(outside) or np.any((totals < least) | (totals > self.total)):
            raise DiscreetError(
                f"task {self.name} takes values from {self.min_value} to {self.max_value} that sum to"
                f" {'exactly' if least else 'at most'} {self.total}"
            )

    def prio3(self) -> Prio3:
        """The VDAF that proves the bounds of a contribution to two aggregators."""
        largest = self.max_value - self.min_value
        match self.kind:
            case Kind.COUNT:
                return Prio3.count()
            case Kind.SUM:
                return Prio3.sum(self.max_value)
            case Kind.SUMVEC | Kind.SIGNEDVEC:
                chunk = best_chunk_length(self.length * largest.bit_length())
                return Prio3.sum_vec(self.length, largest, chunk)
            case Kind.HISTOGRAM:
                return Prio3.histogram(self.length, best_chunk_length(self.length))
            case Kind.MULTIHOT:
                chunk = best_chunk_length(self.length + self.total.bit_length())
                return Prio3.multihot_count_vec(self.length, self.total, chunk)

    def measurement(self, values: NDArray[np.int64]) -> Any:
        """A checked vector as `prio3()` takes it."""
        match self.kind:
            case Kind.COUNT | Kind.SUM:
                return int(values[0])
            case Kind.HISTOGRAM:
                return int(values.argmax())
        return values - self.min_value

    def summed(self, measurements: NDArray[np.int64], contributions: int) -> NDArray[np.int64]:
        """The sum of so many readers' values, from the sum of what `prio3()` took."""
        return measurements + contributions * self.min_value


_FIELDS = tuple(field.name for field in dataclasses.fields(Task))
_FIXED: dict[Kind, dict[str, int]] = {
    Kind.COUNT: {"length": 1, "max_value": 1},
    Kind.SUM: {"length": 1},
    Kind.SUMVEC: {},
    Kind.SIGNEDVEC: {},
    Kind.HISTOGRAM: {"max_value": 1, "max_total": 1},
    Kind.MULTIHOT: {"max_value": 1},
}


def _require(holds: bool, field: str, wanted: str) -> None:
    if not holds:
        raise DiscreetError(f"the task's {field} must be {wanted}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _canonical(value: str | int | float) -> str:
    """A value as RFC 8785 writes it, which is as JavaScript does."""
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    mantissa, _, exponent = repr(value).partition("e")
    if exponent and int(exponent) < -6:
        return f"{mantissa}e{int(exponent)}"
    fixed = format(Decimal(repr(value)), "f")
    return fixed.removesuffix(".0")
