"""Sharing by a leader and a helper: the simulator's totals, refusals, and the commands from files to predictions."""

import json
import typing
from dataclasses import replace

import numpy as np
import pytest
from sharing_consortium import Consortium, catalogue_options, job_for, parts, write_csv

from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.secure_sum.keys import SIGNATURE_BYTES
from discreet.aggregation.secure_sum.masks import signed
from discreet.aggregation.split_sum import SplitShare
from discreet.aggregation.split_sum.helper_request import HelperRequest
from discreet.aggregation.split_sum.split_helper import SplitHelper
from discreet.aggregation.split_sum.split_shares import SEALED_BYTES
from discreet.cli import run
from discreet.data.synthetic import purchases_world, write_purchases
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.node.host import Host
from discreet.edge.vendor.contribution_record import ContributionRecord
from discreet.edge.vendor.sharing_node import BOOK, job_opener
from discreet.errors import DiscreetError, InputError
from discreet.nodes import SecureSums, SplitSums
from discreet.nodes.helper_folder import open_helper
from discreet.nodes.requests import purpose, read_answer
from discreet.privacy.guarantee import Adversary
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.coordinator import share_over, share_over_nodes
from discreet.vendors.sharing.sharing_budget import SharingBudget

KEY = generate_key(1)


class WithHelper(Consortium):
    """Nodes that know a helper."""

    def start(self, number):
        opened = job_opener(self.settings(number))
        self.hosts[number] = Host(self.identities[number], self.roster, opened, KEY.config)

    def helper(self):
        return SplitHelper(KEY, self.roster, purpose).answer


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_csv(ratings_world(60, 30, 900, seed=6), tmp_path_factory.mktemp("two") / "films.csv")


@pytest.fixture(scope="module")
def job(data):
    return replace(job_for(data, 3, 5.0), aggregation="two aggregators")


def test_leader_and_helper_release_what_the_simulator_does(data, job, tmp_path):
    nodes = WithHelper(data, tmp_path / "nodes", 3)
    released = share_over(nodes, nodes.roster, job, tmp_path / "out", 0.4, nodes.helper())
    simulated = Sharing(5.0, colluders=0).share(parts(data, 3), seed=7)
    for one, other in zip(released.answers(), simulated.answers, strict=True):
        assert np.array_equal(one.total, other.total)
    assert nodes.asked == len(simulated.answers), "one message to each vendor for each round"
    assert released.job.guarantee().adversary is Adversary.OTHER_VENDORS_AND_AGGREGATOR


def test_vendors_need_not_be_there_at_the_same_time(data, job, tmp_path):
    nodes = WithHelper(data, tmp_path / "nodes", 3, before=lambda node, asked: asked % 3 == node % 3)
    assert share_over(nodes, nodes.roster, job, tmp_path / "out", 60.0, nodes.helper()).complete


def test_a_restarted_vendor_is_told_the_job_again(data, job, tmp_path):
    def restart(node, asked):
        if asked == 2 and node == 1:
            nodes.start(1)
        return True

    nodes = WithHelper(data, tmp_path / "nodes", 3, before=restart)
    assert share_over(nodes, nodes.roster, job, tmp_path / "out", 60.0, nodes.helper()).complete


def test_a_vendor_that_stays_away_stops_the_sharing(data, job, tmp_path):
    nodes = WithHelper(data, tmp_path / "nodes", 3)
    nodes.away = {2}
    with pytest.raises(DiscreetError, match="not to be reached: node 2"):
        share_over(nodes, nodes.roster, job, tmp_path / "out", 0.1, nodes.helper())


def test_a_vendor_without_the_helpers_key_refuses(data, job, tmp_path):
    nodes = Consortium(data, tmp_path / "nodes", 3)
    with pytest.raises(DiscreetError, match="no key of a helper"):
        share_over(nodes, nodes.roster, job, tmp_path / "out", 0.1, lambda _: b"")


@pytest.mark.parametrize("asked_by_two", [True, False])
def test_a_job_is_summed_in_the_way_that_it_names(asked_by_two, data, job, tmp_path):
    nodes = WithHelper(data, tmp_path / "nodes", 3)
    told = replace(job, aggregation="secure sum") if asked_by_two else job
    description, promised = told.to_bytes(), told.guarantee()
    if asked_by_two:
        sums = SplitSums(nodes, nodes.roster, description, promised, nodes.helper(), timeout=0.1)
    else:
        sums = SecureSums(nodes, nodes.roster, description, promised, timeout=0.1, everybody=True)
    with pytest.raises(DiscreetError, match="the job is summed by"):
        share_over_nodes(sums, told, tmp_path / "out")


def test_what_is_left_if_both_collude():
    alone = SharingBudget(5.0, 1e-5, vendors=10, colluders=1).guarantee_alone()
    assert alone.epsilon == pytest.approx(17.92, abs=0.01)
    assert alone.adversary is Adversary.BOTH_AGGREGATORS
    two = SharingBudget(5.0, 1e-5, vendors=2).guarantee_alone()
    assert two.epsilon == pytest.approx(5.0, rel=1e-4), "one vendor hides its users by itself"


@pytest.mark.parametrize("engine", ["local", pytest.param("processes", marks=pytest.mark.long)])
def test_from_files_to_predictions(engine, tmp_path, capsys):
    for number in range(3):
        write_purchases(purchases_world(40, 20, seed=number), tmp_path / f"shop-{number}")
    given = [word for number in range(3) for word in ("--vendor", str(tmp_path / f"shop-{number}"))]
    given += catalogue_options(tmp_path / "items.txt", purchases_world(40, 20).items.ids)
    places = ["--nodes-folder", str(tmp_path / "nodes"), "--out", str(tmp_path / "out"), "--engine", engine]
    assert run(["vendors", "share", *given, "--epsilon", "5", "--aggregation", "two-aggregators", *places]) == 0
    said = capsys.readouterr().out
    assert "against the other vendors and one aggregator" in said
    assert "against the two aggregators together" in said
    assert run(["vendors", "read", str(tmp_path / "out"), str(tmp_path / "nodes" / "node-2"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tested"] > 0


def test_mistakes_are_told_in_one_line(data, tmp_path, capsys):
    share = ["vendors", "share", "--epsilon", "5", "--out", str(tmp_path / "out")]
    for wrong in ([str(data), "--vendors", "3", "--helper", "http://localhost:1"], ["--superlink", str(tmp_path)]):
        two = ["--aggregation", "two-aggregators"] if "--superlink" in wrong else []
        assert run([*share, *wrong, *two]) == 2
        assert "--helper says where" in capsys.readouterr().err
    assert run(["vendors", "helper", str(tmp_path)]) == 2
    assert "keygen" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"helper\.key"):
        open_helper(tmp_path)


def test_nothing_but_shares_leaves_a_vendor_and_nothing_but_sealed_seeds_reaches_the_helper(data, job, tmp_path):
    class Recorded(WithHelper):
        answers: typing.ClassVar[list[bytes]] = []

        def ask(self, requests, timeout):
            came = super().ask(requests, timeout)
            self.answers.extend(came.values())
            return came

    nodes, asked = Recorded(data, tmp_path / "nodes", 3), []
    helper = nodes.helper()
    share_over(
        nodes, nodes.roster, job, tmp_path / "out", 0.4, lambda request: asked.append(request) or helper(request)
    )
    shares = [SplitShare.from_bytes(read_answer(answer).message) for answer in nodes.answers]
    given = {n: ContributionRecord(tmp_path / "nodes" / str(n) / BOOK).given(job) for n in nodes.roster}
    for number, share in enumerate(shares):
        values = given[share.party][number // 3].values
        assert not (signed(share.masked) == values).any(), "by chance in one of 2^64 cases"
    sizes = {len(parcel) for request in asked for _, parcel in HelperRequest.from_bytes(request).seeds}
    assert sizes == {SEALED_BYTES + SIGNATURE_BYTES}
