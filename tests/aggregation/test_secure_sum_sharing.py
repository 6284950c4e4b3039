"""Shamir's sharing: enough shares give the secret, fewer give nothing."""

from collections import Counter
from itertools import combinations, product

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.secure_sum.refusals import MalformedShare, TooFewClients
from discreet.aggregation.secure_sum.secret_sharing import (
    PRIME,
    evaluate,
    join,
    secret_to_bytes,
    share_from_bytes,
    share_to_bytes,
    split,
)


def test_the_field_has_prime_order_and_holds_any_32_bytes():
    assert sympy.isprime(PRIME)
    assert PRIME > 2**256


@settings(deadline=None)
@given(st.data())
def test_any_threshold_of_shares_gives_the_secret(data):
    secret = data.draw(st.integers(0, 2**256 - 1))
    holders = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=12, unique=True))
    threshold = data.draw(st.integers(1, len(holders)))
    shares = split(secret, holders, threshold)
    chosen = data.draw(st.permutations(holders))[: data.draw(st.integers(threshold, len(holders)))]
    assert join({holder: shares[holder] for holder in chosen}, threshold) == secret


def test_two_hundred_holders():
    shares = split(12345, range(200), 134)
    assert join({holder: shares[holder] for holder in range(66, 200)}, 134) == 12345


def test_one_share_too_few_is_refused():
    shares = split(7, range(5), 3)
    with pytest.raises(TooFewClients, match="2 clients, but the plan needs 3"):
        join({0: shares[0], 4: shares[4]}, 3)


@pytest.mark.parametrize("threshold", [2, 3])
def test_fewer_shares_are_distributed_alike_whatever_the_secret(threshold):
    """All polynomials over GF(7), for each secret: the same shares, equally often, for any t − 1 holders."""
    prime, holders = 7, range(4)
    for group in combinations(holders, threshold - 1):
        seen = [
            Counter(
                tuple(evaluate([secret, *rest], holder + 1, prime) for holder in group)
                for rest in product(range(prime), repeat=threshold - 1)
            )
            for secret in range(prime)
        ]
        assert all(counts == seen[0] for counts in seen)
        assert len(seen[0]) == prime ** (threshold - 1)


def test_splitting_draws_all_polynomials():
    """`split` itself, on GF(5) with threshold 2: each line through the secret is drawn, about equally often."""
    drawn = Counter(tuple(split(3, range(2), 2, prime=5).values()) for _ in range(5000))
    assert len(drawn) == 5
    assert all(800 < count < 1200 for count in drawn.values())  # 7 standard deviations of a count of 1000


@pytest.mark.parametrize("data", [b"", bytes(32), bytes(34), share_to_bytes(PRIME), b"\xff" * 33])
def test_bytes_that_are_no_share_are_refused(data):
    with pytest.raises(MalformedShare):
        share_from_bytes(data)


def test_shares_survive_the_journey():
    assert share_from_bytes(share_to_bytes(PRIME - 1)) == PRIME - 1
    with pytest.raises(MalformedShare):
        secret_to_bytes(2**256)


def test_a_secret_outside_the_field_is_an_error():
    with pytest.raises(ValueError, match="field"):
        split(PRIME, range(3), 2)
