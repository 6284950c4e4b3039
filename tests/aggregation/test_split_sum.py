"""Sums by a leader and a helper: exact, random to each, and opened for all parties and one task, or not at all."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.secure_sum import Identity
from discreet.aggregation.secure_sum.masks import signed
from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.split_sum import SplitShare, SplitTerms, split
from discreet.aggregation.split_sum.helper_request import HelperRequest, read_masks
from discreet.aggregation.split_sum.split_helper import SplitHelper
from discreet.nodes.requests import purpose
from discreet.privacy.guarantee import Guarantee, Scope

PARTIES = (1, 2, 5)
IDENTITIES = {party: Identity.generate(party) for party in PARTIES}
ROSTER = {party: one.public for party, one in IDENTITIES.items()}
KEY, OTHER_KEY = generate_key(1), generate_key(1)
HELPER = SplitHelper(KEY, ROSTER, purpose)
JOB, TASK, OTHER_TASK = (sha256(name).digest() for name in (b"job", b"task", b"other"))
PROMISE = Guarantee.unprotected("a test", Scope.ROUND)


def terms_of(task=TASK, length=4, roster=ROSTER):
    return SplitTerms(purpose(JOB, task, roster), roster, length)


def shares_of(vectors, terms, key=KEY):
    return {
        party: split(Contribution(np.asarray(vector), PROMISE), terms, IDENTITIES[party], key.config)
        for party, vector in zip(PARTIES, vectors, strict=True)
    }


VECTORS = [[1, -2, 3, 4], [2**62, 0, -5, -(2**62)], [-1, 2, 9, 0]]


@given(st.lists(st.lists(st.integers(-(2**60), 2**60), min_size=4, max_size=4), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_both_shares_together_are_the_sum(vectors):
    terms = terms_of()
    shares = shares_of(vectors, terms)
    travelled = {party: SplitShare.from_bytes(one.to_bytes()) for party, one in shares.items()}
    for party, one in travelled.items():
        one.check(terms, party)
    total = read_masks(HELPER.answer(HelperRequest.of(terms, JOB, TASK, travelled).to_bytes()), terms)
    total = sum((one.masked for one in travelled.values()), total)
    assert signed(total).tolist() == np.sum(vectors, axis=0).tolist()


def test_what_the_leader_sees_of_a_party_does_not_depend_on_its_vector(monkeypatch):
    """With the mask of one seed, the shares of two vectors differ just by the vectors; with fresh seeds by nothing."""
    from discreet.aggregation.split_sum import split_shares

    monkeypatch.setattr(split_shares, "token_bytes", lambda size: bytes(size))
    one, two = (shares_of(v, terms_of())[1].masked for v in (VECTORS, [[0, 0, 0, 0], *VECTORS[1:]]))
    assert signed(one - two).tolist() == VECTORS[0]
    monkeypatch.undo()
    long = terms_of(length=4000)
    bits = np.unpackbits(shares_of(np.zeros((3, 4000), np.int64), long)[1].masked.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.01, "uniform: 256,000 bits, 10 standard deviations"


def mixed(change):
    """A request in which something is not as it should be."""
    terms = terms_of()
    shares = shares_of(VECTORS, terms)
    asked = HelperRequest.of(terms, JOB, TASK, shares)
    if change == "a party is missing":
        return replace(asked, seeds=asked.seeds[1:])
    if change == "a party twice":
        return replace(asked, seeds=(asked.seeds[0], *asked.seeds[:2]))
    if change == "a stranger":
        return replace(asked, seeds=(*asked.seeds, (9, asked.seeds[0][1])))
    if change == "one party's share for another":
        return replace(asked, seeds=((1, asked.seeds[1][1]), *asked.seeds[1:]))
    if change == "a share of another task":
        other = HelperRequest.of(terms_of(OTHER_TASK), JOB, OTHER_TASK, shares_of(VECTORS, terms_of(OTHER_TASK)))
        return replace(asked, seeds=(other.seeds[0], *asked.seeds[1:]))
    if change == "all shares under another task":
        return replace(asked, context=terms_of(OTHER_TASK).digest, task=OTHER_TASK)
    if change == "another length":
        return replace(asked, context=terms_of(length=5).digest, length=5)
    if change == "another roster":
        return replace(asked, context=terms_of(roster=ROSTER | {5: ROSTER[1]}).digest)
    if change == "sealed to another key":
        return HelperRequest.of(terms, JOB, TASK, shares_of(VECTORS, terms, OTHER_KEY))
    if change == "a seed that the leader made up":
        forged = split(Contribution(np.zeros(4, int), PROMISE), terms, Identity.generate(2), KEY.config)
        return HelperRequest.of(terms, JOB, TASK, shares | {2: forged})
    raise AssertionError(change)


@pytest.mark.parametrize(
    "change",
    [
        "a party is missing",
        "a party twice",
        "a stranger",
        "one party's share for another",
        "a share of another task",
        "all shares under another task",
        "another length",
        "another roster",
        "sealed to another key",
        "a seed that the leader made up",
    ],
)
def test_the_helper_opens_nothing_else(change):
    with pytest.raises(Refused):
        HELPER.answer(mixed(change).to_bytes())


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=50)
def test_any_bytes_are_refused(data):
    with pytest.raises(Refused):
        HELPER.answer(data)
    with pytest.raises(Refused):
        SplitShare.from_bytes(data)


def test_the_leader_sees_that_a_share_is_not_its_partys():
    terms = terms_of()
    share = shares_of(VECTORS, terms)[1]
    for party, other in ((2, terms), (1, terms_of(OTHER_TASK)), (1, terms_of(length=5))):
        with pytest.raises(Refused):
            share.check(other, party)
    with pytest.raises(Refused, match="signature"):
        replace(share, sealed=bytes(len(share.sealed))).check(terms, 1)


def test_terms_that_are_none():
    for roster, length in (({1: ROSTER[1]}, 4), (ROSTER, 0), (ROSTER, 10**9)):
        with pytest.raises(ValueError, match="split sum"):
            terms_of(roster=roster, length=length)
