"""Whole rounds: the sum is exact whoever drops out, or there is none."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_contributions import NOTHING, plain
from secure_sum_rounds import ROUND_ID, stop_before, terms_for

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum import Identity, Step, SumClient, SumPlan, SumTerms, run_round, secure_sum
from discreet.aggregation.secure_sum.refusals import TooFewClients, UnknownClient
from discreet.privacy.guarantee import Guarantee, Scope

STEPS = list(Step)[:-1]


def random_vectors(clients, length, bits, seed):
    random = np.random.default_rng(seed)
    return [random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), length) for _ in range(clients)]


def plain_sum(vectors, survivors, bits):
    """By Python's own integers, mod 2^bits."""
    return [sum(int(vectors[u][i]) for u in survivors) % 2**bits for i in range(len(vectors[0]))]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_exact_whoever_drops_out_at_any_step_and_refused_beyond_the_threshold(data):
    clients = data.draw(st.integers(2, 7))
    threshold = data.draw(st.integers(clients // 2 + 1, clients))
    bits = data.draw(st.sampled_from([16, 32, 64]))
    dropouts = data.draw(st.dictionaries(st.integers(0, clients - 1), st.sampled_from(STEPS), max_size=clients))
    vectors = random_vectors(clients, 5, bits, data.draw(st.integers(0, 1000)))
    if clients - len(dropouts) < threshold:
        with pytest.raises(TooFewClients):
            secure_sum([plain(v) for v in vectors], threshold, bits=bits, dropouts=dropouts)
        return
    total = secure_sum([plain(v) for v in vectors], threshold, bits=bits, dropouts=dropouts)
    assert total.survivors == tuple(u for u in range(clients) if dropouts.get(u, Step.DONE) > Step.MASK)
    assert total.residues.tolist() == plain_sum(vectors, total.survivors, bits)


@pytest.mark.parametrize("step", STEPS)
def test_all_tolerated_dropouts_at_each_step_of_a_larger_round(step):
    vectors = random_vectors(20, 300, 32, 3)
    total = secure_sum([plain(v) for v in vectors], 14, dropouts=dict.fromkeys(range(3, 9), step))
    assert total.residues.tolist() == plain_sum(vectors, total.survivors, 32)
    assert len(total.survivors) == (14 if step <= Step.MASK else 20)


@pytest.mark.parametrize(("clients", "length"), [(51, 1), (70, 33_000)])
def test_many_clients_on_a_sparse_graph_with_every_tolerated_dropout(clients, length):
    """A fifth drops out, at all steps; vectors longer than one piece of the mask's stream."""
    vectors = [vector.astype(np.int32) for vector in random_vectors(clients, length, 32, 9)]
    dropouts = {5 * i: STEPS[i % 5] for i in range(clients // 5)}
    total = secure_sum([plain(v) for v in vectors], dropouts=dropouts)
    expected = np.sum([vectors[u].astype(np.int64) for u in total.survivors], axis=0)
    np.testing.assert_array_equal(total.residues, expected.astype(np.uint64).astype(np.uint32))
    assert set(range(clients)) - set(total.survivors) == {u for u, step in dropouts.items() if step <= Step.MASK}


def test_one_dropout_more_than_a_sparse_plan_tolerates_is_refused():
    terms, identities = terms_for(12, plan=SumPlan(12, 6, 4, 9))
    vectors = dict.fromkeys(range(12), plain(np.arange(3)))
    assert run_round(terms, identities, vectors, dict.fromkeys(range(3), Step.MASK)).values.tolist() == [0, 9, 18]
    with pytest.raises(TooFewClients, match="step MASK: 8 clients, but the plan needs 9"):
        run_round(terms, identities, vectors, dict.fromkeys(range(4), Step.MASK))


def test_a_secret_out_of_reach_in_a_sparse_graph_is_refused():
    """The quorum is there until the end, but the last step loses too many neighbours of somebody."""
    terms, identities = terms_for(12, plan=SumPlan(12, 4, 4, 7))
    with pytest.raises(TooFewClients, match="rebuilding a secret"):
        run_round(
            terms, identities, dict.fromkeys(range(12), plain(np.arange(3))), dict.fromkeys(range(7), Step.UNMASK)
        )


def test_missing_shares_may_still_come():
    game = stop_before(Step.UNMASK, 4, threshold=3)
    messages = [game.clients[u].unmask(game.answers[Step.AGREE]) for u in range(4)]
    for message in messages[:2]:
        game.server.receive(message)
    with pytest.raises(TooFewClients):
        game.server.total()
    game.server.receive(messages[2])
    assert game.server.total().values.tolist() == sum(game.vectors.values()).tolist()


def test_signed_values_and_wrapping():
    total = secure_sum([plain(np.array([-3, 40_000])), plain(np.array([1, 30_000]))], bits=16)
    assert total.values.tolist() == [-2, 70_000 - 65_536]
    assert total.residues.dtype == np.uint16


@pytest.mark.parametrize(
    ("vector", "problem"),
    [
        (np.array([0.5, 1.0, 2.0]), "integers"),
        (np.zeros((3, 1), dtype=int), "integers"),
        (np.array([0, 0, 2**16]), "16 bits"),
        (np.array([0, 0, -(2**15) - 1]), "16 bits"),
        (np.array([1, 2]), "3 entries"),
    ],
)
def test_inputs_that_do_not_fit_are_errors_and_can_be_put_right(vector, problem):
    game = stop_before(Step.MASK, 3, bits=16)
    with pytest.raises(ValueError, match=problem):
        game.clients[0].mask(game.answers[Step.SHARE][0], plain(vector))
    game.server.receive(game.clients[0].mask(game.answers[Step.SHARE][0], plain(np.array([1, 2, 3]))))


@pytest.mark.parametrize(
    "wrong",
    [
        {"round_id": b"short"},
        {"bits": 24},
        {"length": 0},
        {"plan": SumPlan.complete(4)},
        {"roster": {0: b"", 1: b"x", 2: b"y"}},
    ],
)
def test_terms_that_cannot_be_right_are_errors(wrong):
    terms, _ = terms_for(3)
    fields = {"round_id": ROUND_ID, "roster": terms.roster, "plan": terms.plan, "length": 3, "bits": 32}
    with pytest.raises(ValueError, match=r"\d|key"):
        SumTerms(**(fields | wrong))


def test_two_names_of_one_key_are_an_error():
    key = Identity.generate(0).public
    with pytest.raises(ValueError, match="same key"):
        SumTerms(ROUND_ID, {0: key, 1: key}, SumPlan.complete(2), 1)


def test_only_who_is_in_the_roster_takes_part():
    terms, _ = terms_for(3)
    with pytest.raises(UnknownClient):
        SumClient(terms, Identity.generate(1))


def test_a_sum_has_the_guarantee_of_what_was_given_and_only_one():
    assert secure_sum([plain(np.arange(3))] * 4).guarantee == NOTHING
    other = Contribution(np.arange(3), Guarantee.unprotected("something else", Scope.ROUND))
    with pytest.raises(ValueError, match="different guarantees"):
        secure_sum([plain(np.arange(3))] * 3 + [other])
