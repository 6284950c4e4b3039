"""Nodes that refuse a sum for reasons of their own: it goes on without them, or says why it cannot."""

import pytest
from node_hosts import LENGTH, Town, Wire, sum_of, sums_over, vector_of

from discreet.aggregation.secure_sum import Identity
from discreet.edge.node.host import Host
from discreet.errors import DiscreetError, InputError
from discreet.nodes.secure_sums import LostRound


@pytest.mark.parametrize(
    "failure",
    [
        DiscreetError("its ledger is empty"),
        ValueError("reader 42 clicked on 7"),
        InputError("/home/ada/clicks.tsv", "reader 42 clicked on 7 too often", 42),
    ],
)
def test_a_contribution_that_fails_is_a_refusal_and_the_sum_goes_on(failure, said):
    def contribution(node, assignment):
        if node == 2:
            raise failure
        return vector_of(node)

    town = Town(5, contribution)
    total = sums_over(Wire(town)).sum(b"", LENGTH)
    assert total.nodes == (1, 3, 4, 5)
    assert total.values.tolist() == sum_of(total.nodes)
    if type(failure) is DiscreetError:
        assert said == ["node 2: refused, NoContribution: its ledger is empty"]
    else:
        assert ("one of its files" if isinstance(failure, InputError) else "the node has failed;") in said[0]
        assert type(failure).__name__ not in said[0], "an exception's name may follow from the data"
        assert "42" not in said[0], "the text of an exception that is not meant for the server may tell of the data"
        assert "ada" not in said[0]


def test_what_every_node_refuses_is_not_asked_for_again_and_again(monkeypatch):
    town = Town(3)
    wire = Wire(town)
    waits = []
    monkeypatch.setattr("discreet.nodes.secure_sums.time.sleep", waits.append)
    with pytest.raises(DiscreetError, match=r"nodes 1, 2, 3: refused, NoContribution: the round sums 4 entries"):
        sums_over(wire).sum(b"", 4)
    assert len(town.contributed) == 3
    assert waits == []


def test_a_job_that_a_node_cannot_open_leaves_it_out(said):
    town = Town(3)

    def cannot(description):
        raise DiscreetError("this node has no data for the job")

    town.hosts[1] = Host(town.identities[1], town.roster, cannot)
    assert sums_over(Wire(town)).sum(b"", LENGTH).nodes == (2, 3)
    assert said[0] == "node 1: refused, NoContribution: this node has no data for the job"


def test_a_node_with_another_roster_leaves_itself_out(said):
    town = Town(5)
    town.start(4, roster=town.roster | {2: Identity.generate(2).public})
    total = sums_over(Wire(town)).sum(b"", LENGTH)
    assert total.nodes == (1, 2, 3, 5)
    assert total.values.tolist() == sum_of(total.nodes)
    assert said[0].startswith("node 4: refused, WrongTerms: the server means another job, task or roster")


def test_a_stranger_that_the_server_puts_into_the_roster_is_refused_by_everybody():
    town = Town(3)
    honest = dict(town.roster)
    town.identities[9] = Identity.generate(9)
    made_up = honest | {9: town.identities[9].public}
    town.start(9, roster=made_up)
    with pytest.raises(DiscreetError, match=r"nodes 1, 2, 3: refused, WrongTerms: node 9 is invited, but is not in"):
        sums_over(Wire(town), roster=made_up).sum(b"", LENGTH)
    assert town.contributed == []


def test_a_node_that_is_not_in_the_roster_is_not_asked(said):
    town = Town(4)
    known = {node: key for node, key in town.roster.items() if node != 4}
    for node in known:
        town.start(node, roster=known)
    wire = Wire(town)
    assert sums_over(wire, roster=known).sum(b"", LENGTH).nodes == (1, 2, 3)
    assert 4 not in {node for node, _, _ in wire.requests}
    assert said == ["node 4 is not in the roster, and is not asked"]


def test_hosts_sum_mod_2_to_the_64_only():
    with pytest.raises(DiscreetError, match=r"nodes sum mod 2\^64, not mod 2\^32"):
        sums_over(Wire(Town(2)), bits=32).sum(b"", LENGTH)


def test_refusals_that_last_are_no_lost_round():
    with pytest.raises(DiscreetError) as raised:
        sums_over(Wire(Town(3)), attempts=1).sum(b"", LENGTH + 1)
    assert not isinstance(raised.value, LostRound)
