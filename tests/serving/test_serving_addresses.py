"""Whose request it is, behind proxies and with IPv6; and a port that is ours before it is told."""

import socket

import httpx
import pytest
from served_world import running_server, serving, small_service

from discreet.cli import run as run_command
from discreet.errors import DiscreetError
from discreet.serving.addresses import Proxies, household, listen, url_of
from discreet.serving.limits import ServerLimits
from discreet.serving.rate import Buckets


def scope(client, *forwarded):
    return {"client": (client, 1), "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.parametrize(
    ("client", "forwarded", "found"),
    [
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["1.1.1.1, 203.0.113.7"], "203.0.113.7"),  # the left one is the client's own claim
        ("10.0.0.1", ["1.1.1.1", "203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7, 10.2.3.4"], "203.0.113.7"),  # two proxies in a row
        ("10.0.0.1", ["10.9.9.9"], "10.9.9.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["nonsense, 203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("203.0.113.9", ["1.1.1.1"], "203.0.113.9"),  # no proxy of ours
        ("::ffff:10.0.0.1", ["::ffff:203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::/64"),
    ],
)
def test_the_rightmost_address_that_is_no_proxy_counts(client, forwarded, found):
    assert Proxies(["10.0.0.0/8"]).client_of(scope(client, *forwarded)) == found


def test_without_proxies_nobody_is_believed():
    assert Proxies().client_of(scope("127.0.0.1", "1.1.1.1")) == "127.0.0.1"


def test_a_network_of_ipv6_is_one_address():
    assert household("2001:db8::1") == household("2001:db8::ffff:1") == "2001:db8::/64"
    assert household("2001:db8:0:1::1") != household("2001:db8::1")
    assert household("::ffff:192.0.2.1") == household("192.0.2.1")
    assert household("fe80::1%eth0") == "fe80::/64"


def test_a_wrong_network_is_one_clear_line():
    with pytest.raises(DiscreetError, match=r"--trusted-proxy 10\.0\.0\.0/99"):
        Proxies(["10.0.0.0/99"])


@pytest.mark.long
def test_behind_a_proxy_each_reader_has_a_bucket(tmp_path):
    limits = ServerLimits(rate=0.001, burst=2)
    with serving(small_service(tmp_path), limits=limits, proxies=Proxies(["127.0.0.0/8"])) as base:
        readers = [f"203.0.113.{number}" for number in range(50)]
        headers = [{"X-Forwarded-For": reader} for reader in readers]
        assert {httpx.get(f"{base}/healthz", headers=one).status_code for one in headers} == {200}
        again = [httpx.get(f"{base}/healthz", headers=headers[0]).status_code for _ in range(2)]
        assert again == [200, 429]
        claims = [{"X-Forwarded-For": f"198.51.100.{number}, {readers[0]}"} for number in range(3)]
        assert {httpx.get(f"{base}/healthz", headers=one).status_code for one in claims} == {429}


def test_without_a_proxy_claims_buy_nothing():
    with running_server(limits=ServerLimits(rate=0.001, burst=5)) as base:
        claims = [{"X-Forwarded-For": f"203.0.113.{number}"} for number in range(8)]
        statuses = [httpx.get(f"{base}/healthz", headers=claim).status_code for claim in claims]
    assert statuses == [200] * 5 + [429] * 3


def test_buckets_fill_again_and_are_forgotten():
    now = 0.0
    buckets = Buckets(2.0, 4, lambda: now)
    assert [buckets.take("a") for _ in range(5)] == [True] * 4 + [False]
    now = 0.5
    assert buckets.take("a")
    assert not buckets.take("a")
    now = 100.0
    for number in range(10_001):
        now += 1.0
        buckets.take(str(number))
    assert len(buckets) < 10


def test_a_taken_port_is_one_line_and_no_address(tmp_path, capsys):
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for command in (["serve", str(tmp_path)], ["demo", "--out", str(tmp_path / "demo")]):
            assert run_command([*command, "--port", str(port)]) == 2
            shown = capsys.readouterr()
            assert "http://" not in shown.out
            assert len(shown.err.strip().splitlines()) == 1
            assert str(port) in shown.err
            assert "--port" in shown.err
    assert not (tmp_path / "demo").exists()
    with pytest.raises(DiscreetError, match="--host"):
        listen("no.such.host.invalid", 0)


def test_the_address_that_is_told_answers():
    with listen("127.0.0.1", 0) as listener:
        address = url_of(listener)
        assert not address.endswith(":0")
        with socket.create_connection(listener.getsockname(), timeout=5):
            pass
