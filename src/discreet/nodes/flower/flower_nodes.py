"""The nodes as the server sees them through Flower's grid.

Flower gives a node a number of its own at every start. So each Flower node that is new is asked which of our nodes it
is; a node that was started again is found, under its new number. What a node claims to be is not proved here:
the secure sum proves it with every message, and an impostor does no more harm than silence. Flower's own node
authentication keeps strangers out altogether.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from enum import StrEnum

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

RECORD, KIND, NODE, BODY, TIMEOUT = "discreet", "kind", "node", "body", "patience"
"""The names in Flower's records."""

_GREETING = 30.0
"""How many seconds `present` waits for a Flower node that has never been asked before."""
_SILENT = 60.0
"""After how many seconds a question who a node is counts as lost, and is asked again."""
_BETWEEN_LOOKS = 0.1
_GRACE = 10.0
"""Flower forgets a message so many seconds after nobody waits for it."""


class MessageKind(StrEnum):
    """What a relay is asked for."""

    WHO = "who"
    ASK = "ask"


class FlowerNodes:
    """`Nodes` over a Flower grid.

    A node that did not answer in time counts as absent until it has answered again who it is: Flower takes a minute to
    notice that a node was killed, and every question in that minute would wait for the whole timeout.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._places: dict[int, int] = {}
        self._greeted: dict[str, tuple[int, float]] = {}
        self._arrivals: dict[int, int] = {}

    def present(self) -> frozenset[int]:
        """The numbers of the nodes that can be asked now; those who have just come are asked who they are."""
        before = set(self._arrivals)
        self._look()
        new = self._arrivals.keys() - before
        deadline = time.monotonic() + _GREETING
        while new & self._waiting_for() and time.monotonic() < deadline:
            time.sleep(_BETWEEN_LOOKS)
            self._look()
        return frozenset(self._places)

    def ask(self, requests: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
        """One message to each node that is there; the answers that came within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        asked = {self._places[node]: node for node in requests if node in self._places}
        sent = self._send({place: _asking(requests[node], timeout) for place, node in asked.items()}, timeout)
        waiting = {message: asked[place] for message, place in sent.items()}
        answers: dict[int, bytes] = {}
        while waiting:
            for message, reply in self._collect(waiting):
                node = waiting.pop(message)
                body = _body(reply, node)
                if body is not None:
                    answers[node] = body
                else:
                    self._places.pop(node, None)
            if not waiting or time.monotonic() >= deadline:
                break
            time.sleep(_BETWEEN_LOOKS)
        for node in waiting.values():
            self._places.pop(node, None)
        return answers

    def _look(self) -> None:
        """Ask whom we do not know, and take note of who has answered. Of two who say the same, the newer one counts."""
        online = set(self._grid.get_node_ids())
        for place in online - self._arrivals.keys():
            self._arrivals[place] = len(self._arrivals)
        self._places = {node: place for node, place in self._places.items() if place in online}
        now = time.monotonic()
        self._greeted = {m: (p, at) for m, (p, at) in self._greeted.items() if p in online and now - at < _SILENT}
        to_greet = online - set(self._places.values()) - self._waiting_for()
        greeting = ConfigRecord({KIND: MessageKind.WHO.value})
        for message, place in self._send(dict.fromkeys(to_greet, greeting), _SILENT).items():
            self._greeted[message] = (place, now)
        for message, reply in self._collect(self._greeted):
            place, _ = self._greeted.pop(message)
            node = _node(reply)
            if node is not None:
                self._places[node] = max(place, self._places.get(node, place), key=self._arrivals.__getitem__)

    def _waiting_for(self) -> set[int]:
        return {place for place, _ in self._greeted.values()}

    def _send(self, records: Mapping[int, ConfigRecord], timeout: float) -> dict[str, int]:
        """Send to Flower nodes; returns the messages' names with their nodes. Who cannot be reached is missing."""
        sent: dict[str, int] = {}
        for place, record in records.items():
            message = Message(RecordDict({RECORD: record}), place, "query", ttl=timeout + _GRACE)
            sent.update({name: place for name in self._grid.push_messages([message]) if name})
        return sent

    def _collect(self, waiting: Iterable[str]) -> list[tuple[str, Message]]:
        """The replies to these messages that are there now."""
        names = set(waiting)
        if not names:
            return []
        replies = {reply.metadata.reply_to_message_id: reply for reply in self._grid.pull_messages(names)}
        return [(name, reply) for name, reply in replies.items() if name in names]


def _asking(request: bytes, timeout: float) -> ConfigRecord:
    return ConfigRecord({KIND: MessageKind.ASK.value, BODY: request, TIMEOUT: float(timeout)})


def _record(reply: Message) -> ConfigRecord | None:
    return None if reply.has_error() or not reply.has_content() else reply.content.config_records.get(RECORD)


def _node(reply: Message) -> int | None:
    record = _record(reply)
    node = None if record is None else record.get(NODE)
    return node if isinstance(node, int) and not isinstance(node, bool) and node >= 0 else None


def _body(reply: Message, node: int) -> bytes | None:
    record = _record(reply)
    if record is None or _node(reply) != node:
        return None
    body = record.get(BODY)
    return body if isinstance(body, bytes) else None
