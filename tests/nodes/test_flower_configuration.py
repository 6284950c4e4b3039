"""The folder of a deployment: written, read back, and refused with one line where it is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.edge.node.host import Host
from discreet.errors import DiscreetError, InputError
from discreet.nodes.configuration import NodeSettings, node_folders, read_node, read_roster, write_node, write_roster
from discreet.nodes.flower.deployment import SuperLink, _toml
from discreet.nodes.flower.flower_configuration import write_deployment

GOOD = {"number": 2, "data": "somewhere", "part": "2/4", "max_epsilon": 3.5, "noise": "secure"}


@pytest.mark.parametrize("epsilon", [0.5, 10.0, math.inf])
def test_a_deployment_is_read_as_it_was_written(tmp_path: Path, epsilon: float) -> None:
    folder = tmp_path / "deployment"
    write_deployment(folder, tmp_path, 3, max_epsilon=epsilon, noise="simulated")
    roster = read_roster(folder / "roster.json")
    assert list(node_folders(folder)) == list(roster) == [1, 2, 3]
    for number, path in node_folders(folder).items():
        node = read_node(path)
        assert node == NodeSettings(path, number, tmp_path, f"{number}/3", epsilon, "simulated")
        assert node.part_of() == (number, 3)
        assert node.roster() == roster
        assert node.identity().public == roster[number]
        assert (path / "identity.key").stat().st_mode & 0o777 == 0o600
        assert path.stat().st_mode & 0o077 == 0
        Host(node.identity(), node.roster(), lambda _: pytest.fail("no job was asked for"))


def test_keys_are_never_replaced(tmp_path: Path) -> None:
    write_deployment(tmp_path / "d", tmp_path, 2)
    with pytest.raises(DiscreetError, match="not empty"):
        write_deployment(tmp_path / "d", tmp_path, 2)
    with pytest.raises(DiscreetError, match="not replaced"):
        write_node(read_node(tmp_path / "d" / "node-1"))


def test_one_node_is_no_deployment(tmp_path: Path) -> None:
    with pytest.raises(DiscreetError, match="at least 2"):
        write_deployment(tmp_path / "d", tmp_path, 1)


@given(
    st.dictionaries(st.integers(1, 2**32 - 1), st.binary(min_size=32, max_size=32), min_size=2, max_size=8).filter(
        lambda roster: len(set(roster.values())) == len(roster)
    )
)
def test_rosters_round_trip(tmp_path_factory: pytest.TempPathFactory, roster: dict[int, bytes]) -> None:
    path = tmp_path_factory.mktemp("roster") / "roster.json"
    write_roster(path, roster)
    assert read_roster(path) == roster
    assert list(read_roster(path)) == sorted(roster)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("[]", "not a JSON object"),
        ('{"1": "00"', "is not JSON"),
        (json.dumps({"1": "ab" * 32}), "at least 2"),
        (json.dumps({"1": "ab" * 32, "2": "ab" * 32}), "same key"),
        (json.dumps({"1": "ab" * 32, "2": "ab" * 31}), "key of node 2"),
        (json.dumps({"1": "ab" * 32, "2": "AB" * 32}), "key of node 2"),
        (json.dumps({"1": "ab" * 32, "2": 7}), "key of node 2"),
        (json.dumps({"1": "ab" * 32, "0": "cd" * 32}), "'0' is not a node's number"),
        (json.dumps({"1": "ab" * 32, "4294967296": "cd" * 32}), "not a node's number"),
        (json.dumps({"1": "ab" * 32, "two": "cd" * 32}), "'two'"),
        ('{"1": "' + "ab" * 32 + '", "1": "' + "cd" * 32 + '"}', "twice"),
    ],
)
def test_bad_rosters_are_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "roster.json"
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as refusal:
        read_roster(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"number": 0}, "'number'"),
        ({"number": True}, "'number'"),
        ({"number": "2"}, "'number'"),
        ({"data": ""}, "'data'"),
        ({"data": None}, "'data'"),
        ({"part": "0/4"}, "'part'"),
        ({"part": "5/4"}, "'part'"),
        ({"part": "2 of 4"}, "'part'"),
        ({"part": 2}, "'part'"),
        ({"max_epsilon": 0}, "'max_epsilon'"),
        ({"max_epsilon": -1.0}, "'max_epsilon'"),
        ({"max_epsilon": float("nan")}, "'max_epsilon'"),
        ({"max_epsilon": "10"}, "'max_epsilon'"),
        ({"max_epsilon": True}, "'max_epsilon'"),
        ({"noise": "none"}, "'noise'"),
        ({"noise": ["secure"]}, "'noise'"),
        ({"extra": 1}, "'extra' is unknown"),
    ],
)
def test_bad_settings_are_refused_in_one_line(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(InputError, match=problem) as refusal:
        read_node(tmp_path)
    assert "\n" not in str(refusal.value)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize("missing", GOOD)
def test_a_missing_setting_is_named(tmp_path: Path, missing: str) -> None:
    (tmp_path / "node.json").write_text(json.dumps({k: v for k, v in GOOD.items() if k != missing}))
    with pytest.raises(InputError, match=f"'{missing}' is missing"):
        read_node(tmp_path)


def test_the_limit_is_read_by_its_name_before_version_0_2(tmp_path: Path) -> None:
    old = {name: value for name, value in GOOD.items() if name != "max_epsilon"} | {"most_epsilon": 2.5}
    (tmp_path / "node.json").write_text(json.dumps(old))
    assert read_node(tmp_path).max_epsilon == 2.5


def test_a_data_path_is_relative_to_the_node(tmp_path: Path) -> None:
    (tmp_path / "node.json").write_text(json.dumps(GOOD))
    assert read_node(tmp_path).data == tmp_path / "somewhere"


def test_a_key_that_is_open_to_others_or_malformed_or_not_in_the_roster_is_refused(tmp_path: Path) -> None:
    write_deployment(tmp_path / "d", tmp_path, 2)
    node = read_node(tmp_path / "d" / "node-1")
    key = node.folder / "identity.key"
    key.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        node.identity()
    key.chmod(0o600)
    key.write_text("no key")
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        node.identity()
    key.write_text("07" * 32)
    with pytest.raises(InputError, match="does not have node 1"):
        node.roster()
    key.unlink()
    with pytest.raises(InputError, match="is not there"):
        node.identity()


def test_a_long_path_still_has_a_socket_and_two_nodes_never_the_same(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    sockets = [NodeSettings(deep / f"node-{k}", k, tmp_path).socket for k in (1, 2)]
    assert all(len(str(path)) <= 100 for path in sockets)
    assert len(set(sockets)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "[]",
        "{}",
        '{"address": 7}',
        '{"address": "here"}',
        '{"address": "h:1", "x": 2}',
        '{"address": "h:1", "ca": 3}',
    ],
)
def test_a_bad_superlink_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "superlink.json").write_text(text)
    with pytest.raises(InputError, match=r"superlink\.json") as refusal:
        SuperLink.of(tmp_path)
    assert "\n" not in str(refusal.value)


def test_a_superlink_is_read_as_it_was_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="discreet nodes start"):
        SuperLink.of(tmp_path)
    link = SuperLink("server.example:9092", tmp_path / "ca.crt", tmp_path / "flower")
    link.write(tmp_path)
    assert SuperLink.of(tmp_path) == link


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_toml(text: str) -> None:
    import tomllib

    assert tomllib.loads(f"text = {_toml(text)}") == {"text": text}
