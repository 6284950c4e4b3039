"""The messages of a round, in the order in which they are sent.

    step            client to server     server to clients
    0  advertise    Advertisement        Advertised     everybody's public keys
    1  share        KeyShares            Delivery       the shares sealed for one client
    2  mask         MaskedInput          Survivors      whose masked inputs have arrived
    3  agree        Agreement            Agreements     what the survivors have signed
    4  unmask       Unmasking            (the sum)

What clients send is signed. What the server sends has no authority of its own: it is made of what clients have signed
or sealed, and of lists that the clients compare by signing them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import ClassVar, Self

from discreet.aggregation.secure_sum import encoding
from discreet.aggregation.secure_sum.encoding import CONTEXT_BYTES, ByteReader, Parcels, check_ascending
from discreet.aggregation.secure_sum.keys import PUBLIC_BYTES, SIGNATURE_BYTES, TAG_BYTES, Identity, is_signed
from discreet.aggregation.secure_sum.refusals import MalformedMessage, WrongSignature
from discreet.aggregation.secure_sum.secret_sharing import SHARE_BYTES

DIGEST_BYTES = 32
SEALED_BYTES = 2 * SHARE_BYTES + TAG_BYTES


@dataclass(frozen=True, kw_only=True)
class SumMessage(ABC):
    """What all messages have: the context (terms or session) to which they belong."""

    KIND: ClassVar[int]
    context: bytes

    def __post_init__(self) -> None:
        if len(self.context) != CONTEXT_BYTES:
            raise MalformedMessage(f"a context has {CONTEXT_BYTES} bytes, not {len(self.context)}")

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            MalformedMessage: if the bytes are not exactly one message of this kind.
            Duplicate: if a client is named twice in it.
        """
        reader = ByteReader(bytes(data), cls.KIND)
        message = cls._read(reader)
        reader.finish()
        return message

    @classmethod
    @abstractmethod
    def _read(cls, reader: ByteReader) -> Self: ...


@dataclass(frozen=True, kw_only=True)
class SignedMessage(SumMessage):
    """A message of a client."""

    sender: int
    signature: bytes = bytes(SIGNATURE_BYTES)

    def digest_to_sign(self) -> bytes:
        """SHA-256 of all but the signature itself."""
        digest = sha256()
        for part in self._unsigned():
            digest.update(part)
        return digest.digest()

    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""
        return b"".join((*self._unsigned(), self.signature))

    def signed(self, identity: Identity) -> Self:
        """The same message with its signature."""
        return replace(self, signature=identity.sign(self.digest_to_sign()))

    def check(self, public: bytes) -> None:
        """Raise WrongSignature unless the sender, whose public key is given, has signed this."""
        if not is_signed(public, self.digest_to_sign(), self.signature):
            raise WrongSignature(self.sender)

    def _unsigned(self) -> tuple[bytes, ...]:
        return encoding.head(self.KIND, self.context), encoding.number(self.sender), *self._body()

    @abstractmethod
    def _body(self) -> tuple[bytes, ...]:
        """What follows the sender, in pieces, so that a long vector is not copied to be hashed."""


@dataclass(frozen=True, kw_only=True)
class Advertisement(SignedMessage):
    """Step 0: the public keys of a client for this round, one to seal shares, one to make masks."""

    KIND: ClassVar[int] = 0
    sealing_key: bytes
    masking_key: bytes

    def _body(self) -> tuple[bytes, ...]:
        return self.sealing_key, self.masking_key

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            sender=reader.number(),
            sealing_key=reader.take(PUBLIC_BYTES),
            masking_key=reader.take(PUBLIC_BYTES),
            signature=reader.take(SIGNATURE_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class Advertised(SumMessage):
    """Step 0, answer: all advertisements, by ascending sender."""

    KIND: ClassVar[int] = 1
    advertisements: tuple[Advertisement, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending((one.sender for one in self.advertisements), "advertisements")

    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""
        listed = b"".join(
            encoding.number(one.sender) + one.sealing_key + one.masking_key + one.signature
            for one in self.advertisements
        )
        return encoding.head(self.KIND, self.context) + encoding.number(len(self.advertisements)) + listed

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        items = reader.parcels(2 * PUBLIC_BYTES + SIGNATURE_BYTES)
        return cls(
            context=reader.context,
            advertisements=tuple(
                Advertisement(
                    context=reader.context,
                    sender=sender,
                    sealing_key=data[:PUBLIC_BYTES],
                    masking_key=data[PUBLIC_BYTES : 2 * PUBLIC_BYTES],
                    signature=data[2 * PUBLIC_BYTES :],
                )
                for sender, data in items
            ),
        )


@dataclass(frozen=True, kw_only=True)
class KeyShares(SignedMessage):
    """Step 1: for each neighbour a share of the masking key and one of the seed, sealed for it alone."""

    KIND: ClassVar[int] = 2
    seed_check: bytes
    sealed: Parcels

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending((receiver for receiver, _ in self.sealed), "receivers of shares")

    def _body(self) -> tuple[bytes, ...]:
        return self.seed_check, encoding.parcels(self.sealed)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            sender=reader.number(),
            seed_check=reader.take(DIGEST_BYTES),
            sealed=reader.parcels(SEALED_BYTES),
            signature=reader.take(SIGNATURE_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class Delivery(SumMessage):
    """Step 1, answer: who has shared its keys, and the shares that neighbours have sealed for this receiver."""

    KIND: ClassVar[int] = 3
    receiver: int
    sharers: tuple[int, ...]
    sealed: Parcels

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self.sharers, "clients that shared keys")
        check_ascending((sender for sender, _ in self.sealed), "senders of shares")

    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""
        start = encoding.head(self.KIND, self.context) + encoding.number(self.receiver)
        return start + encoding.numbers(self.sharers) + encoding.parcels(self.sealed)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            receiver=reader.number(),
            sharers=reader.numbers(),
            sealed=reader.parcels(SEALED_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class MaskedInput(SignedMessage):
    """Step 2: the client's vector under all its masks, as little-endian residues mod 2^bits."""

    KIND: ClassVar[int] = 4
    residues: bytes

    def _body(self) -> tuple[bytes, ...]:
        return encoding.number(len(self.residues)), self.residues

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            sender=reader.number(),
            residues=reader.take(reader.number()),
            signature=reader.take(SIGNATURE_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class Survivors(SumMessage):
    """Step 2, answer: the clients whose masked inputs are in the sum."""

    KIND: ClassVar[int] = 5
    clients: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self.clients, "survivors")

    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""
        return encoding.head(self.KIND, self.context) + encoding.numbers(self.clients)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(context=reader.context, clients=reader.numbers())


@dataclass(frozen=True, kw_only=True)
class SurvivorAgreement(SignedMessage):
    """Step 3: a client's signature of who shared keys and who survived, as the server named them."""

    KIND: ClassVar[int] = 6
    digest: bytes

    def _body(self) -> tuple[bytes, ...]:
        return (self.digest,)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            sender=reader.number(),
            digest=reader.take(DIGEST_BYTES),
            signature=reader.take(SIGNATURE_BYTES),
        )


@dataclass(frozen=True, kw_only=True)
class SurvivorAgreements(SumMessage):
    """Step 3, answer: the agreements that have arrived, by ascending sender."""

    KIND: ClassVar[int] = 7
    agreements: tuple[SurvivorAgreement, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending((one.sender for one in self.agreements), "agreements")

    def to_bytes(self) -> bytes:
        """The compact form in which it travels."""
        listed = tuple((one.sender, one.digest + one.signature) for one in self.agreements)
        return encoding.head(self.KIND, self.context) + encoding.parcels(listed)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        items = reader.parcels(DIGEST_BYTES + SIGNATURE_BYTES)
        return cls(
            context=reader.context,
            agreements=tuple(
                SurvivorAgreement(
                    context=reader.context, sender=sender, digest=data[:DIGEST_BYTES], signature=data[DIGEST_BYTES:]
                )
                for sender, data in items
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Unmasking(SignedMessage):
    """Step 4: the masking-key shares of neighbours that dropped out, and the seed shares of those that survived."""

    KIND: ClassVar[int] = 8
    key_shares: Parcels
    seed_shares: Parcels

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending((owner for owner, _ in self.key_shares), "owners of key shares")
        check_ascending((owner for owner, _ in self.seed_shares), "owners of seed shares")

    def _body(self) -> tuple[bytes, ...]:
        return encoding.parcels(self.key_shares), encoding.parcels(self.seed_shares)

    @classmethod
    def _read(cls, reader: ByteReader) -> Self:
        return cls(
            context=reader.context,
            sender=reader.number(),
            key_shares=reader.parcels(SHARE_BYTES),
            seed_shares=reader.parcels(SHARE_BYTES),
            signature=reader.take(SIGNATURE_BYTES),
        )
