"""What the server asks a node and what the node answers, as bytes: strict, versioned, in the secure sum's own encoding.

    kind  request   from the server to a node
    32    Begin     take part in a round on these terms (step 0)
    33    Proceed   the next step of the round: what the other nodes have sent, and at step 2 the task
    34    Split     contribute to a sum by two aggregators: the only step there is

    kind  answer    from the node to the server
    48    Done      the node's message of this step
    49    Refusal   why the node does not take part, or no longer
    50    Unknown   the node has not opened this job, or has been started again since: tell it again

All begin as the messages of the secure sum do, with the hash of the round's terms for their context, so that neither
side takes a message of another round for one of this. A refusal of bytes that nobody can read has no context (zeros).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Self

from discreet.aggregation.secure_sum.encoding import (
    CONTEXT_BYTES,
    ByteReader,
    check_ascending,
    head,
    lump,
    number,
    numbers,
)
from discreet.aggregation.secure_sum.refusals import MalformedMessage
from discreet.aggregation.secure_sum.sum_messages import DIGEST_BYTES
from discreet.aggregation.secure_sum.sum_terms import ROUND_ID_BYTES, Step

NO_CONTEXT = bytes(CONTEXT_BYTES)
MAX_REASON_LENGTH = 300
_KIND_AT = 3


def job_digest(description: bytes) -> bytes:
    """The name under which both sides know a job."""
    return sha256(b"discreet job|" + description).digest()


def task_digest(task: bytes) -> bytes:
    """What the server says of a round's task to all nodes before they begin it."""
    return sha256(b"discreet task|" + task).digest()


def purpose(job: bytes, task: bytes, roster: Mapping[int, bytes]) -> bytes:
    """What the vectors of a round mean: their job and task, by digest, among the nodes that there are at all.

    Each node makes it of its own roster. It goes into the terms, and so into all that nodes sign and compare: no node
    is in a sum with nodes that received another job or another task, or that count on other colluders.
    """
    nodes = b"".join(number(node) + key for node, key in sorted(roster.items()))
    return sha256(b"|".join((b"discreet purpose", job, task, nodes))).digest()


@dataclass(frozen=True, kw_only=True)
class Begin:
    """The terms of a round, without anybody's keys: a node takes those from its own roster.

    Attributes:
        context: the hash of the terms with the server's roster; the node compares it with that of its own.
        invited: the nodes' numbers, ascending.
        plan: clients, degree, threshold and quorum.
        job: the job's digest.
        task: that of what will be asked for at step MASK.
        description: the job itself, for a node that may not have opened it yet.
    """

    KIND: ClassVar[int] = 32
    context: bytes
    round_id: bytes
    invited: tuple[int, ...]
    plan: tuple[int, int, int, int]
    length: int
    bits: int
    job: bytes
    task: bytes
    description: bytes | None = None

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        described = number(0) if self.description is None else number(1) + lump(self.description)
        fixed = struct.pack("<6I", *self.plan, self.length, self.bits)
        return (
            head(self.KIND, self.context)
            + self.round_id
            + numbers(self.invited)
            + fixed
            + self.job
            + self.task
            + described
        )

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`."""
        round_id, invited = reader.take(ROUND_ID_BYTES), reader.numbers()
        check_ascending(invited, "invited nodes")
        clients, degree, threshold, quorum, length, bits = struct.unpack("<6I", reader.take(24))
        return cls(
            context=reader.context,
            round_id=round_id,
            invited=invited,
            plan=(clients, degree, threshold, quorum),
            length=length,
            bits=bits,
            job=reader.take(DIGEST_BYTES),
            task=reader.take(DIGEST_BYTES),
            description=reader.lump() if _flag(reader) else None,
        )


@dataclass(frozen=True, kw_only=True)
class Proceed:
    """A later step of the round.

    Attributes:
        message: what the server says at this step (Advertised, Delivery, Survivors or Agreements).
        task: what to contribute, of which `Begin` had the digest; only at step MASK.
    """

    KIND: ClassVar[int] = 33
    context: bytes
    step: Step
    message: bytes
    task: bytes = b""

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        task = lump(self.task) if self.step == Step.MASK else b""
        return b"".join((head(self.KIND, self.context), number(self.step), lump(self.message), task))

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`."""
        step = reader.number()
        if not Step.ADVERTISE < step < Step.DONE:
            raise MalformedMessage(f"no round proceeds with a step {step}")
        message = reader.lump()
        task = reader.lump() if step == Step.MASK else b""
        return cls(context=reader.context, step=Step(step), message=message, task=task)


@dataclass(frozen=True, kw_only=True)
class SplitRequest:
    """Contribute to a sum over all nodes by two aggregators.

    Attributes:
        context: the hash of the terms with the server's roster; the node compares it with that of its own.
        job: the job's digest.
        length: how long the vectors are.
        task: what to contribute.
        description: the job itself, for a node that may not have opened it yet.
    """

    KIND: ClassVar[int] = 34
    context: bytes
    job: bytes
    length: int
    task: bytes
    description: bytes | None = None

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        described = number(0) if self.description is None else number(1) + lump(self.description)
        return b"".join((head(self.KIND, self.context), self.job, number(self.length), lump(self.task), described))

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`."""
        job, length, task = reader.take(DIGEST_BYTES), reader.number(), reader.lump()
        description = reader.lump() if _flag(reader) else None
        return cls(context=reader.context, job=job, length=length, task=task, description=description)


@dataclass(frozen=True, kw_only=True)
class Done:
    """The node has taken the step; `message` is what it sends into the secure sum."""

    KIND: ClassVar[int] = 48
    context: bytes
    message: bytes

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        return b"".join((head(self.KIND, self.context), lump(self.message)))

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`."""
        return cls(context=reader.context, message=reader.lump())


@dataclass(frozen=True, kw_only=True)
class NodeRefusal:
    """The node does not go on.

    Attributes:
        reason: why, in one line of printable characters, whatever the node has written.
        permanent: whether it would refuse the same sum again. If not, the round is to blame, and a new one may succeed.
    """

    KIND: ClassVar[int] = 49
    context: bytes
    reason: str
    permanent: bool

    def __post_init__(self) -> None:
        line = "".join(c if c.isprintable() else " " for c in self.reason)[:MAX_REASON_LENGTH]
        object.__setattr__(self, "reason", line.strip() or "no reason given")

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        return head(self.KIND, self.context) + number(self.permanent) + lump(self.reason.encode(errors="replace"))

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`, but for characters that no reason should have."""
        permanent = _flag(reader)
        return cls(context=reader.context, permanent=permanent, reason=reader.lump().decode(errors="replace"))


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """The node does not know the job of this round."""

    KIND: ClassVar[int] = 50
    context: bytes

    def to_bytes(self) -> bytes:
        """The form in which it travels."""
        return head(self.KIND, self.context)

    @classmethod
    def read(cls, reader: ByteReader) -> Self:
        """The inverse of `to_bytes`."""
        return cls(context=reader.context)


def read_request(data: bytes) -> Begin | Proceed | SplitRequest:
    """What the server asks.

    Raises:
        Refused: if the bytes are not exactly one request.
    """
    kind = _REQUESTS.get(data[_KIND_AT : _KIND_AT + 1], Begin)
    reader = ByteReader(data, kind.KIND)
    request = kind.read(reader)
    reader.finish()
    return request


def read_answer(data: bytes) -> Done | NodeRefusal | Unknown:
    """What a node answers.

    Raises:
        Refused: if the bytes are not exactly one answer.
    """
    kind = _ANSWERS.get(data[_KIND_AT : _KIND_AT + 1], Done)
    reader = ByteReader(data, kind.KIND)
    answer = kind.read(reader)
    reader.finish()
    return answer


_REQUESTS: dict[bytes, type[Begin] | type[Proceed] | type[SplitRequest]] = {
    bytes([kind.KIND]): kind for kind in (Begin, Proceed, SplitRequest)
}
_ANSWERS: dict[bytes, type[Done] | type[NodeRefusal] | type[Unknown]] = {
    bytes([kind.KIND]): kind for kind in (Done, NodeRefusal, Unknown)
}


def _flag(reader: ByteReader) -> bool:
    value = reader.number()
    if value > 1:
        raise MalformedMessage(f"{value} where only yes (1) or no (0) can be")
    return value == 1
