"""FlowerNodes against a grid of scripted Flower nodes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterable

import pytest

pytest.importorskip("flwr", reason="Flower is not installed (extra: flower)")

from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from discreet.errors import DiscreetError
from discreet.nodes.flower import flower_nodes as transport
from discreet.nodes.flower.flower_app import load_program
from discreet.nodes.flower.flower_nodes import FlowerNodes

Reply = ConfigRecord | Error | None
Behaviour = Callable[[ConfigRecord], Reply]


class ScriptedGrid:
    """Flower's grid: every Flower node has a function from a request to a reply; None is silence."""

    def __init__(self, nodes: dict[int, Behaviour]) -> None:
        self.nodes = nodes
        self.replies: dict[str, Message] = {}
        self.sent: list[tuple[int, ConfigRecord]] = []
        self._names = itertools.count()

    def get_node_ids(self) -> list[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        names = []
        for message in messages:
            name = f"message-{next(self._names)}"
            message.metadata.__dict__["_message_id"] = name
            place, record = message.metadata.dst_node_id, message.content.config_records["discreet"]
            self.sent.append((place, record))
            reply = self.nodes[place](record)
            if isinstance(reply, Error):
                self.replies[name] = Message(reply, reply_to=message)
            elif reply is not None:
                self.replies[name] = Message(RecordDict({"discreet": reply}), reply_to=message)
            names.append(name)
        return names

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self.replies.pop(name) for name in list(message_ids) if name in self.replies]


def node(number: int, answer: Callable[[bytes], Reply | bytes]) -> Behaviour:
    def behave(record: ConfigRecord) -> Reply:
        if record["kind"] == "who":
            return ConfigRecord({"node": number, "body": b""})
        given = answer(record["body"])
        return ConfigRecord({"node": number, "body": given}) if isinstance(given, bytes) else given

    return behave


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_task_id", "_run_id", "_node_id"):  # Flower makes no message outside of a run
        monkeypatch.setattr(TaskIdentity, name, 1)
    monkeypatch.setattr(transport, "_GREETING", 0.2)
    monkeypatch.setattr(transport, "_BETWEEN_LOOKS", 0.005)


def test_nodes_are_asked_by_the_numbers_they_give() -> None:
    grid = ScriptedGrid({10**19: node(2, lambda asked: b"two " + asked), 77: node(5, lambda asked: b"five " + asked)})
    nodes = FlowerNodes(grid)
    assert nodes.present() == {2, 5}
    assert nodes.ask({2: b"a", 5: b"b"}, 1.0) == {2: b"two a", 5: b"five b"}
    assert nodes.ask({5: b"c", 9: b"nobody"}, 1.0) == {5: b"five c"}


@pytest.mark.parametrize(
    "failure",
    [
        None,
        Error(1, "the relay has failed"),
        ConfigRecord({"node": 1, "body": "not bytes"}),
        ConfigRecord({"node": 1}),
        ConfigRecord({"node": 2, "body": b"in the name of another"}),
        ConfigRecord({}),
    ],
    ids=["silence", "error", "text", "no body", "another node", "empty"],
)
def test_who_fails_is_missing_and_absent_until_it_answers_again(failure: Reply) -> None:
    good = True
    grid = ScriptedGrid({11: node(1, lambda _: b"well" if good else failure), 12: node(2, lambda _: b"well")})
    nodes = FlowerNodes(grid)
    assert nodes.present() == {1, 2}
    good = False
    assert nodes.ask({1: b"", 2: b""}, 0.1) == {2: b"well"}
    asked = len(grid.sent)
    assert nodes.ask({1: b"", 2: b""}, 0.1) == {2: b"well"}
    assert [place for place, _ in grid.sent[asked:]] == [12], "an absent node costs no waiting"
    good = True
    assert nodes.present() == {1, 2}
    assert nodes.ask({1: b"", 2: b""}, 1.0) == {1: b"well", 2: b"well"}


def test_a_late_answer_does_not_count_for_a_later_question() -> None:
    late: list[Message] = []
    grid = ScriptedGrid({11: node(1, lambda asked: b"to " + asked)})
    nodes = FlowerNodes(grid)
    assert nodes.present() == {1}
    collect = grid.pull_messages

    def nothing_comes(names: Iterable[str]) -> list[Message]:
        late.extend(collect(names))
        return []

    grid.pull_messages = nothing_comes
    assert nodes.ask({1: b"first"}, 0.05) == {}
    grid.pull_messages = lambda names: [*late, *collect(names)]
    assert nodes.present() == {1}
    assert len(late) == 1
    assert nodes.ask({1: b"second"}, 1.0) == {1: b"to second"}


def test_a_node_that_was_started_anew_is_found_again() -> None:
    grid = ScriptedGrid({11: node(1, lambda _: b"old"), 12: node(2, lambda _: b"two")})
    nodes = FlowerNodes(grid)
    assert nodes.present() == {1, 2}
    grid.nodes[11] = lambda _: None  # killed, but Flower has not noticed
    grid.nodes[13] = node(1, lambda _: b"new")
    assert nodes.present() == {1, 2}
    assert nodes.ask({1: b"", 2: b""}, 1.0) == {1: b"new", 2: b"two"}


def test_of_two_who_say_the_same_number_the_newer_counts_until_it_leaves() -> None:
    grid = ScriptedGrid({11: node(1, lambda _: b"old")})
    nodes = FlowerNodes(grid)
    assert nodes.present() == {1}
    grid.nodes[12] = node(1, lambda _: b"new")
    for _ in range(4):
        assert nodes.present() == {1}
        assert nodes.ask({1: b""}, 1.0) == {1: b"new"}
    del grid.nodes[12]
    assert nodes.present() == {1}
    assert nodes.ask({1: b""}, 1.0) == {1: b"old"}


def test_who_has_left_or_does_not_say_who_it_is_is_not_present() -> None:
    grid = ScriptedGrid(
        {
            11: node(1, lambda _: b"one"),
            12: lambda _: None,
            13: lambda _: ConfigRecord({"node": "three", "body": b""}),
            14: lambda _: ConfigRecord({"node": -4, "body": b""}),
            15: lambda _: Error(1, "no host"),
        }
    )
    nodes = FlowerNodes(grid)
    assert nodes.present() == {1}
    del grid.nodes[11]
    assert nodes.present() == frozenset()
    assert nodes.ask({1: b""}, 1.0) == {}


@pytest.mark.parametrize(
    "name",
    ["os:getcwd", "discreetly.x:y", "discreet", "discreet.errors:nothing", "discreet.nowhere:f", "discreet:__doc__"],
)
def test_only_programs_of_discreet_are_run(name: str) -> None:
    with pytest.raises(DiscreetError, match="program"):
        load_program(name)


def test_a_program_is_found_by_its_name() -> None:
    assert load_program("discreet.nodes.flower.node_probe:probe").__name__ == "probe"


def test_the_relay_starts_without_the_heavy_libraries() -> None:
    code = "import sys, discreet.nodes.flower.flower_app; print({'torch', 'numba', 'scipy', 'ray'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
