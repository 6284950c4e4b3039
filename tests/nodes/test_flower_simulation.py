"""Flower's simulation, with Ray: the hosts are threads of this process, the relays are not."""

from __future__ import annotations

import os
import threading

import pytest

pytest.importorskip("flwr", reason="Flower is not installed (extra: flower)")
pytest.importorskip("ray", reason="Ray, which Flower's simulation needs, is not installed (extra: flower)")

import flwr.simulation
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from discreet.errors import DiscreetError
from discreet.nodes import Nodes
from discreet.nodes.flower import simulation
from discreet.nodes.flower.simulation import simulate


class DeliberateError(Exception):
    pass


@pytest.mark.long
def test_a_program_asks_hosts_of_this_process(capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    asked: dict[int, list[bytes]] = {1: [], 2: [], 5: [], 9: []}

    def host(number: int):
        def answer(request: bytes) -> bytes:
            asked[number].append(request)
            if number == 5 and len(asked[5]) == 2:
                raise DeliberateError
            return str(number).encode() + request

        return answer

    def program(nodes: Nodes):
        rounds = [nodes.ask({n: b"-%d" % n for n in nodes.present()}, 20.0) for _ in range(2)]
        large = nodes.ask({1: bytes(3_000_000)}, 20.0)
        return threading.get_ident(), rounds, len(large[1])

    thread, rounds, large = simulate(program, {number: host(number) for number in asked})
    assert thread != threading.get_ident()
    assert rounds[0] == {1: b"1-1", 2: b"2-2", 5: b"5-5", 9: b"9-9"}
    assert rounds[1] == {1: b"1-1", 2: b"2-2", 9: b"9-9"}, "a host that fails is missing"
    assert large == 3_000_001
    assert asked[2] == [b"-2", b"-2"]
    assert dict(os.environ) == before
    assert capfd.readouterr().out == ""


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower's simulation, but with nobody in it: it runs the ServerApp and ends as Flower does."""

    def run_simulation(server: ServerApp, client: ClientApp, nodes: int, **_: object) -> None:
        if nodes == 13:
            raise RuntimeError("Simulation Runtime crashed.")
        server(None, None)

    monkeypatch.setattr(flwr.simulation, "run_simulation", run_simulation)
    monkeypatch.setattr(simulation, "_wait_for_all", lambda nodes, number: None)


@pytest.mark.usefixtures("without_ray")
def test_what_the_program_raises_is_raised() -> None:
    def program(nodes: Nodes) -> None:
        raise DeliberateError("as it should")

    with pytest.raises(DeliberateError, match="as it should"):
        simulate(program, {3: lambda request: request})


@pytest.mark.usefixtures("without_ray")
def test_a_simulation_that_fails_says_so_in_one_line() -> None:
    with pytest.raises(DiscreetError, match=r"^Flower's simulation has failed: Simulation Runtime crashed\.$"):
        simulate(lambda nodes: None, {number: lambda request: request for number in range(13)})


def test_a_simulation_needs_hosts() -> None:
    with pytest.raises(ValueError, match="at least one host"):
        simulate(lambda nodes: None, {})
