"""What leaves raw data: a release or a contribution, each with its guarantee, and nothing else."""

from __future__ import annotations

import base64
import inspect
import json
import subprocess
import sys
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_server import PublisherServer
from device_tools import Clock, client_of
from sharing_consortium import Consortium, job_for, write_csv

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum.refusals import MalformedMessage
from discreet.aggregation.secure_sum.sum_client import SumClient
from discreet.aggregation.secure_sum.sum_messages import MaskedInput
from discreet.aggregation.secure_sum.sum_server import SumResult
from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.node.host import Host
from discreet.edge.node.in_process import hosts_in_process
from discreet.edge.node.training_node import TrainingNode
from discreet.edge.reader.device import Device
from discreet.edge.vendor.sharing_node import VendorNode
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.method import TrainingTask
from discreet.methods.node_rounds import NodeRounds
from discreet.nodes import LocalNodes, Nodes, NodeSum
from discreet.nodes.node_transport import Answer, Contribute
from discreet.nodes.requests import Done, Unknown, read_answer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.release import Release
from discreet.serving import server
from discreet.vendors.sharing.coordinator import share_over
from discreet.vendors.sharing.sharing_rounds import Vendor

PUBLIC_FIELDS = {
    "/v1/recommend": {"space", "sketches", "limit"},
    "/v1/reports": {"id", "kind", "model", "space", "slate", "epoch", "device", "clicks", "release"},
}


def test_the_exits_are_typed() -> None:
    def given(function: Any) -> Any:
        return typing.get_type_hints(function)["return"]

    assert typing.get_args(Contribute)[-1] is Contribution
    assert {given(f) for f in (TrainingNode.contribute, VendorNode.contribute, Vendor.answer)} == {Contribution}
    assert given(Host._contribution) is Contribution
    assert typing.get_type_hints(SumClient.mask)["contribution"] is Contribution
    assert given(Device._apply) is Release
    for crossing in (Contribution, Release, SumResult, NodeSum):
        assert typing.get_type_hints(crossing)["guarantee"] is Guarantee
    assert typing.get_args(Answer) == ([bytes], bytes)
    assert set(typing.get_type_hints(Nodes.ask).values()) == {Mapping[int, bytes], float, dict[int, bytes]}


def test_a_server_takes_what_was_shown_and_no_clicks() -> None:
    assert typing.get_type_hints(server.open_service)["data"] == ShownArticles | None
    assert set(inspect.signature(ShownArticles).parameters) == {"articles", "first_shown", "times_shown", "latest"}
    data = news_world(20, seed=1)
    shown = ShownArticles.of(data)
    assert shown.times_shown.sum() == sum(len(part.shown) for part in data.splits.values())


def test_what_a_device_sends_of_its_clicks_are_releases(tmp_path: Path) -> None:
    publisher, clock = PublisherServer(), Clock()
    client = client_of(publisher, tmp_path, clock)
    client.refresh()
    for _ in range(2):
        client.clicked("N3", client.front(5).slate)
        clock.next_epoch()
        client.send_due()
    client.front(5)
    releases = []
    for method, url, headers, body in publisher.sent:
        assert not headers
        if method == "GET":
            assert not body
            continue
        fields = json.loads(body)
        assert fields.keys() <= PUBLIC_FIELDS[url.removeprefix("http://news.test")]
        releases += [found for key, found in leaves(fields) if key == "release"]
    assert len(releases) >= 4, "sketches and labels, and sketches with questions"
    for release in releases:
        epsilon = Release.from_bytes(base64.b64decode(release)).guarantee.epsilon
        assert epsilon in publisher.model["epsilon"].values()


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, key)
    else:
        yield key, value


class Recorded:
    """Nodes whose every answer is kept."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.answers: list[bytes] = []

    def present(self) -> frozenset[int]:
        return self.nodes.present()

    def ask(self, requests: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
        came = self.nodes.ask(requests, timeout)
        self.answers += came.values()
        return came


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that clients of secure sums are given to mask."""
    given, mask = [], SumClient.mask

    def recording(self: SumClient, delivery: Any, contribution: Any) -> MaskedInput:
        given.append(contribution)
        return mask(self, delivery, contribution)

    monkeypatch.setattr(SumClient, "mask", recording)
    return given


def test_a_node_gives_a_secure_sum_contributions(masked: list[Any]) -> None:
    task = TrainingTask(news_world(30, seed=1, articles_per_day=10), "hashed")
    hosts, roster = hosts_in_process(task, 3)
    wire = Recorded(LocalNodes(hosts))
    method = DPFedAvg(rounds=1, fraction=0.5)
    method.train(task, 5, None, NodeRounds(wire, roster, simulated=True))
    only_contributions_left(wire, masked, parties=3)


def test_a_vendor_gives_a_secure_sum_contributions(tmp_path: Path, masked: list[Any]) -> None:
    data = write_csv(ratings_world(120, 40, 2400, seed=5), tmp_path / "films.csv")
    consortium, job = Consortium(data, tmp_path, 3), job_for(data, 3, 5.0)
    wire = Recorded(consortium)
    releases = share_over(wire, consortium.roster, job, tmp_path / "out", timeout=1.0)
    only_contributions_left(wire, masked, parties=3)
    assert {one.guarantee for one in masked} == {releases.job.budget.guarantee()}


def only_contributions_left(wire: Recorded, masked: list[Any], parties: int) -> None:
    """All answers are of the protocol, and inputs in them are masked contributions."""
    assert masked
    assert len(masked) % parties == 0
    assert {type(one) for one in masked} == {Contribution}
    inputs = []
    for answer in map(read_answer, wire.answers):
        assert isinstance(answer, Done | Unknown)
        if isinstance(answer, Done):
            try:
                inputs.append(MaskedInput.from_bytes(answer.message))
            except MalformedMessage:
                continue
    assert len(inputs) == len(masked)
    for one in inputs:
        residues = np.frombuffer(one.residues, np.int64)
        assert not any(np.array_equal(residues, given.values) for given in masked)


def test_methods_vendors_and_edges_are_loaded_without_an_engine() -> None:
    modules = (
        "methods.training",
        "vendors.sharing.coordinator",
        "edge.jobs",
        "edge.node.in_process",
        "edge.vendor.local_nodes",
    )
    imports = "; ".join(f"import discreet.{module}" for module in modules)
    code = f"import sys; {imports}; print([m for m in sys.modules if 'flower' in m or 'flwr' in m])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
