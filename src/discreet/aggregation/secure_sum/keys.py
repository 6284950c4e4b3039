"""Identities, agreed keys and sealed shares: what the protocol takes from the `cryptography` package.

Whoever signs is identified by a long-lived Ed25519 key. Two clients agree on a secret with X25519 keys made for one
round; HKDF-SHA256 makes of it a key for each purpose, bound to the round's session and to the two clients. A key seals
one share or makes one mask, never more, so all nonces are zero.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.aggregation.secure_sum.refusals import MalformedMessage, MalformedShare

PROTOCOL = b"discreet secure sum 1"
SIGNATURE_BYTES = 64
PUBLIC_BYTES = 32
TAG_BYTES = 16
_PAIR = struct.Struct("<II")


@dataclass(frozen=True)
class Identity:
    """A client's number and its long-lived signing key, whose public half the others know beforehand."""

    client: int
    key: Ed25519PrivateKey

    @classmethod
    def generate(cls, client: int) -> Identity:
        """A new identity."""
        return cls(client, Ed25519PrivateKey.generate())

    @property
    def public(self) -> bytes:
        """The public key, for the roster."""
        return self.key.public_key().public_bytes_raw()

    def sign(self, digest: bytes) -> bytes:
        """A signature of a message with this hash, for this protocol only."""
        return self.key.sign(PROTOCOL + digest)


@lru_cache(maxsize=4096)
def is_signed(public: bytes, digest: bytes, signature: bytes) -> bool:
    """Whether this is a signature of a message with this hash.

    Remembered, because clients simulated in one process all check the same signatures: n of them instead of n².
    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, PROTOCOL + digest)
    except (InvalidSignature, ValueError):
        return False
    return True


def derive(secret: bytes, session: bytes, purpose: bytes, sender: int, receiver: int) -> bytes:
    """HKDF-SHA256: a key of 32 bytes for one purpose between two clients (or one and itself) in one session."""
    info = b"|".join((PROTOCOL, purpose, _PAIR.pack(sender, receiver)))
    return HKDF(SHA256(), 32, salt=session, info=info).derive(secret)


def agree(private: X25519PrivateKey, client: int, public: bytes) -> bytes:
    """The X25519 secret shared with `client`.

    Raises:
        MalformedMessage: if its public key is one of the few that make the secret predictable.
    """
    try:
        return private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise MalformedMessage(f"the public key of client {client} is not usable") from None


def pair_mask_key(private: X25519PrivateKey, me: int, other: int, public: bytes, session: bytes) -> bytes:
    """The key of the mask that two clients have in common: the same from either side."""
    return derive(agree(private, other, public), session, b"pair mask", min(me, other), max(me, other))


def self_mask_key(seed: bytes, client: int, session: bytes) -> bytes:
    """The key of the mask that is a client's own."""
    return derive(seed, session, b"self mask", client, client)


def seed_check(seed: bytes, client: int, session: bytes) -> bytes:
    """A hash by which a rebuilt seed is recognised; of 256 random bits, it tells nothing about them."""
    return derive(seed, session, b"seed check", client, client)


def seal(secret: bytes, session: bytes, sender: int, receiver: int, plain: bytes) -> bytes:
    """Encrypt and authenticate from sender to receiver (ChaCha20-Poly1305), naming session, sender and receiver."""
    key = derive(secret, session, b"share", sender, receiver)
    return ChaCha20Poly1305(key).encrypt(bytes(12), plain, session + _PAIR.pack(sender, receiver))


def unseal(secret: bytes, session: bytes, sender: int, receiver: int, sealed: bytes) -> bytes:
    """The inverse of `seal`.

    Raises:
        MalformedShare: if this is not what the sender has sealed for this receiver in this session.
    """
    key = derive(secret, session, b"share", sender, receiver)
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), sealed, session + _PAIR.pack(sender, receiver))
    except InvalidTag:
        raise MalformedShare(f"the share of client {sender} for client {receiver} cannot be opened") from None
