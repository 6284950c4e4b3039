"""How a task's configuration names its VDAF: an identifier and the encoded parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass

from discreet.aggregation.dap.wire import Message, MessageError, Uint, wire
from discreet.aggregation.prio3 import Prio3
from discreet.aggregation.prio3.circuits import Histogram, MultihotCountVec, Sum, SumVec
from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Prio3CountConfig(Message):
    """There is nothing to say."""


@dataclass(frozen=True)
class Prio3SumConfig(Message):
    """Of `Prio3.sum`."""

    max_measurement: int = wire(Uint(8))


@dataclass(frozen=True)
class Prio3SumVecConfig(Message):
    """Of `Prio3.sum_vec`."""

    length: int = wire(Uint(4))
    max_measurement: int = wire(Uint(8))
    chunk_length: int = wire(Uint(4))


@dataclass(frozen=True)
class Prio3HistogramConfig(Message):
    """Of `Prio3.histogram`."""

    length: int = wire(Uint(4))
    chunk_length: int = wire(Uint(4))


@dataclass(frozen=True)
class Prio3MultihotCountVecConfig(Message):
    """Of `Prio3.multihot_count_vec`."""

    length: int = wire(Uint(4))
    chunk_length: int = wire(Uint(4))
    max_weight: int = wire(Uint(8))


_KINDS: dict[int, tuple[type[Message], Callable[..., Prio3]]] = {
    1: (Prio3CountConfig, Prio3.count),
    2: (Prio3SumConfig, Prio3.sum),
    3: (Prio3SumVecConfig, Prio3.sum_vec),
    4: (Prio3HistogramConfig, Prio3.histogram),
    5: (
        Prio3MultihotCountVecConfig,
        lambda length, chunk_length, max_weight: Prio3.multihot_count_vec(length, max_weight, chunk_length),
    ),
}


def vdaf_configuration(prio3: Prio3) -> bytes:
    """The parameters of an instance for two aggregators; its `algorithm` is the identifier."""
    if prio3.shares != 2 or prio3.proofs != 1:
        raise DiscreetError("a DAP task has two aggregators and one proof")
    match prio3.circuit:
        case Sum():
            return Prio3SumConfig(prio3.circuit.max_measurement).encode()
        case SumVec() as c:
            return Prio3SumVecConfig(c.length, c.max_measurement, c.chunk_length).encode()
        case Histogram() as c:
            return Prio3HistogramConfig(c.length, c.chunk_length).encode()
        case MultihotCountVec() as c:
            return Prio3MultihotCountVecConfig(c.length, c.chunk_length, c.max_weight).encode()
    return b""


def prio3_of(vdaf_type: int, configuration: bytes) -> Prio3:
    """The instance that a task's configuration names."""
    if vdaf_type not in _KINDS:
        raise MessageError(f"VDAF {vdaf_type:#010x} is not known here")
    kind, make = _KINDS[vdaf_type]
    return make(*astuple(kind.decode(configuration)))
