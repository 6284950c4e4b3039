"""What Flower runs: a ClientApp that relays to the node's host, and a ServerApp that runs a program of Discreet.

The relay knows its node's number and its host's socket from Flower's node configuration, never from the server. It
imports neither torch nor numba, because Flower may start it again for every message.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from discreet.errors import DiscreetError
from discreet.nodes.flower.flower_nodes import BODY, KIND, NODE, RECORD, TIMEOUT, FlowerNodes, MessageKind
from discreet.nodes.flower.log_lines import progress_in_log, write_failure, write_result
from discreet.nodes.host_socket import NoAnswer, ask_host, listens
from discreet.nodes.node_transport import Nodes

Program = Callable[[Nodes, dict[str, Any]], Any]
"""What the ServerApp runs: called with the nodes and its arguments; what it returns can be written as JSON."""


@dataclass(frozen=True)
class HostAddress:
    """Which node this is, and where its host listens."""

    node: int
    socket: str


def configured_address(context: Context) -> HostAddress:
    """The place in the SuperNode's `--node-config 'node=2 socket="…"'`."""
    node, socket = context.node_config.get("node"), context.node_config.get("socket")
    if not isinstance(node, int) or isinstance(node, bool) or not isinstance(socket, str):
        raise DiscreetError("a SuperNode needs --node-config 'node=NUMBER socket=\"PATH\"'")
    return HostAddress(node, socket)


def make_client(place_of: Callable[[Context], HostAddress]) -> ClientApp:
    """A ClientApp that relays to the host of its node."""
    client = ClientApp()

    @client.query()
    def relay(message: Message, context: Context) -> Message:
        asked = message.content.config_records[RECORD]
        place = place_of(context)
        if asked[KIND] == MessageKind.WHO:
            if not listens(place.socket):
                raise NoAnswer("the host of this node does not listen")
            body = b""
        else:
            request, timeout = asked[BODY], asked[TIMEOUT]
            if not isinstance(request, bytes) or not isinstance(timeout, float):
                raise DiscreetError("the request is malformed")
            body = ask_host(place.socket, request, timeout)
        return Message(RecordDict({RECORD: ConfigRecord({NODE: place.node, BODY: body})}), reply_to=message)

    return client


def load_program(name: str) -> Program:
    """The function that `discreet.module:function` names.

    Raises:
        DiscreetError: if it lies outside of the package, or is not there.
    """
    module, sign, function = name.partition(":")
    if not sign or not (module == "discreet" or module.startswith("discreet.")):
        raise DiscreetError(f"programs are named discreet.module:function, not '{name}'")
    try:
        program = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise DiscreetError(f"there is no program '{name}': {error}") from error
    if not callable(program):
        raise DiscreetError(f"'{name}' is not a program")
    return program  # type: ignore[no-any-return]


client = make_client(configured_address)
server = ServerApp()


@server.main()
def run_program(grid: Grid, context: Context) -> None:
    """Run the program that the run's configuration names; its progress, result or failure goes into the log."""
    try:
        program = load_program(str(context.run_config["program"]))
        arguments = json.loads(str(context.run_config["arguments"]))
        with progress_in_log():
            result = program(FlowerNodes(grid), arguments)
        write_result(result)
    except DiscreetError as error:
        write_failure(str(error))
        raise
