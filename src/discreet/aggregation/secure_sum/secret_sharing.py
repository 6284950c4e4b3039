"""Threshold secret sharing (Shamir 1979): any t shares give the secret, fewer give nothing at all.

The secret is the value at 0 of a random polynomial of degree t − 1 over a prime field; a client's share is its value at
the client's number plus one. Fewer than t values are distributed the same whatever the secret is.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from functools import lru_cache

from discreet.aggregation.secure_sum.refusals import MalformedShare, TooFewClients

PRIME = 2**256 + 297
"""The least prime above 2²⁵⁶, so that any 32 bytes are a secret."""
SHARE_BYTES = 33
SECRET_BYTES = 32


def split(secret: int, holders: Iterable[int], threshold: int, prime: int = PRIME) -> dict[int, int]:
    """A share of `secret` for each holder, any `threshold` of which give it back."""
    if not 0 <= secret < prime:
        raise ValueError("the secret is not a number of the field")
    polynomial = [secret, *(secrets.randbelow(prime) for _ in range(threshold - 1))]
    return {holder: evaluate(polynomial, holder + 1, prime) for holder in holders}


def evaluate(polynomial: list[int], x: int, prime: int) -> int:
    """The polynomial (constant first) at x, by Horner's rule."""
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * x + coefficient) % prime
    return value


def join(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> int:
    """The secret, from the shares of `threshold` or more holders.

    Raises:
        TooFewClients: if there are fewer.
    """
    if len(shares) < threshold:
        raise TooFewClients("rebuilding a secret", len(shares), threshold)
    holders = tuple(sorted(shares)[:threshold])
    weights = _weights_at_zero(holders, prime)
    return sum(weight * shares[holder] for weight, holder in zip(weights, holders, strict=True)) % prime


@lru_cache(maxsize=1024)
def _weights_at_zero(holders: tuple[int, ...], prime: int) -> tuple[int, ...]:
    """Lagrange's weights at 0: w_i = Π_{j≠i} x_j / (x_j − x_i), reduced once, since the x_j are small."""
    places = [holder + 1 for holder in holders]
    product = math.prod(places)
    weights = []
    for x in places:
        below = math.prod(other - x for other in places if other != x)
        weights.append(product // x * pow(below, -1, prime) % prime)
    return tuple(weights)


def share_to_bytes(share: int) -> bytes:
    """A share as it travels."""
    return share.to_bytes(SHARE_BYTES, "little")


def share_from_bytes(data: bytes) -> int:
    """The inverse of `share_to_bytes`.

    Raises:
        MalformedShare: if the bytes are not a number of the field.
    """
    value = int.from_bytes(data, "little")
    if len(data) != SHARE_BYTES or value >= PRIME:
        raise MalformedShare("a share is not a number of the field")
    return value


def secret_to_bytes(secret: int) -> bytes:
    """A rebuilt secret as the 32 bytes that were shared.

    Raises:
        MalformedShare: if no 32 bytes were shared, so that some share must have been wrong.
    """
    if secret >> 8 * SECRET_BYTES:
        raise MalformedShare("the shares do not belong together")
    return secret.to_bytes(SECRET_BYTES, "little")
