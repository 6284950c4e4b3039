"""What the server sees of one client: uniform numbers, even after it has taken away all that it may know.

The masks come from the operating system's randomness, so each test below fails by chance with probability ALPHA.
"""

import numpy as np
import pytest
from scipy.stats import chi2, kstest
from secure_sum_rounds import residues, stop_before

from discreet.aggregation.secure_sum import Step
from discreet.aggregation.secure_sum.keys import pair_mask_key, self_mask_key
from discreet.aggregation.secure_sum.masks import DTYPES, add_mask
from discreet.aggregation.secure_sum.sum_server import SumServer

ALPHA = 1e-6
LENGTH = 40_000


def is_uniform(values, bits=32):
    """χ² of the highest and of the lowest byte, and Kolmogorov-Smirnov of the whole, each at a third of ALPHA."""
    ks = kstest((values.astype(np.float64) + 0.5) / 2.0**bits, "uniform").pvalue
    ends = (values >> (bits - 8)).astype(int), (values & 255).astype(int)
    return min(ks, *(chi_square(np.bincount(end, minlength=256)) for end in ends)) > ALPHA / 3


def chi_square(counts):
    expected = counts.sum() / counts.size
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1)


def are_independent(one, other):
    """χ² of the table of their highest four bits."""
    table = np.bincount((one >> 28).astype(int) * 16 + (other >> 28).astype(int), minlength=256)
    return chi_square(table) > ALPHA


def small_inputs(clients):
    """Very unlike uniform: all entries alike, and small."""
    return {u: np.full(LENGTH, 3 * u + 1) for u in range(clients)}


@pytest.fixture(scope="module")
def finished():
    """Five clients, of whom client 4 falls silent before it sends its masked input."""
    return stop_before(Step.DONE, 5, threshold=4, length=LENGTH, vectors=small_inputs(5), silent={4: Step.MASK})


def known_to_the_server(game, u):
    """Client u's masked input minus all masks that the server could rebuild: its own, and those with client 4."""
    left = residues(game.sent[Step.MASK][u]).copy()
    session = game.terms.session(game.answers[Step.ADVERTISE])
    server: SumServer = game.server
    add_mask(left, self_mask_key(server._rebuilt_seed(u), u, session), subtract=True)
    public = {one.sender: one.masking_key for one in game.answers[Step.ADVERTISE].advertisements}
    key = pair_mask_key(server._rebuilt_key(4), 4, u, public[u], session)
    add_mask(left, key, subtract=u < 4)
    return left


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_masked_input_is_uniform(bits):
    game = stop_before(Step.AGREE, 3, length=LENGTH, vectors=small_inputs(3), bits=bits)
    for message in game.sent[Step.MASK].values():
        assert is_uniform(residues(message, bits), bits)


def test_the_tests_see_what_is_not_uniform():
    plain = np.random.default_rng(1).integers(0, 2**32, LENGTH, dtype=np.uint32)
    assert is_uniform(plain)
    assert not is_uniform(np.full(LENGTH, 4, dtype=np.uint32))
    assert not is_uniform(plain % np.uint32(2**32 - 2**28))
    assert not are_independent(plain, plain + np.uint32(5))


def test_it_stays_uniform_without_all_masks_that_the_server_can_rebuild(finished):
    for u in range(4):
        assert is_uniform(known_to_the_server(finished, u))


def test_what_is_left_of_different_clients_is_independent_but_for_the_sum(finished):
    left = [known_to_the_server(finished, u) for u in range(4)]
    for u in range(4):
        for v in range(u):
            assert are_independent(left[u], left[v])
            assert is_uniform(left[u] + left[v])
            assert is_uniform(left[u] - left[v])
    assert all(is_uniform(sum(left) - left[u]) for u in range(4))
    assert set(sum(left).tolist()) == {1 + 4 + 7 + 10}


def test_the_masks_of_a_pair_are_all_that_hides_the_input_then(finished):
    """Taking them away too, which only the clients can, uncovers it: the views above have all other masks removed."""
    left = known_to_the_server(finished, 2)
    for (u, v), key in finished.pair_keys.items():
        if 2 in (u, v) and 4 not in (u, v):
            add_mask(left, key, subtract=u == 2)
    assert set(left.tolist()) == {7}


def test_the_same_input_looks_different_in_every_round():
    one, other = (
        residues(stop_before(Step.AGREE, 2, length=LENGTH, vectors=small_inputs(2)).sent[Step.MASK][0])
        for _ in range(2)
    )
    assert is_uniform(one - other)
    assert are_independent(one, other)


def test_masks_of_different_keys_are_unrelated_and_of_one_key_the_same():
    one, other, again = (np.zeros(LENGTH, DTYPES[32]) for _ in range(3))
    add_mask(one, bytes(32))
    add_mask(other, bytes(31) + b"\1")
    add_mask(again, bytes(32))
    assert are_independent(one, other)
    np.testing.assert_array_equal(one, again)
    add_mask(again, bytes(32), subtract=True)
    assert not again.any()


def test_the_stream_is_chacha20_as_published():
    """RFC 8439, A.1, test vector 1: the key stream of the zero key, nonce and counter."""
    first = np.zeros(4, DTYPES[32])
    add_mask(first, bytes(32))
    assert first.tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28"
