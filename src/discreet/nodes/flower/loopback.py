"""A whole deployment on this machine, for trying out: real processes on 127.0.0.1.

Ports are whichever are free, Flower's state and all logs are in the deployment's folder, and at the end nothing is left
running.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Self

from discreet.nodes.configuration import node_folders, read_node
from discreet.nodes.flower.deployment import SuperLink
from discreet.nodes.flower.node_processes import STARTING, HostCommand, NodeProcesses, host_command, stop_nodes
from discreet.nodes.flower.processes import free_ports, require_flower
from discreet.nodes.flower.server_processes import ServerProcesses


class Loopback:
    """A SuperLink, and all nodes of the folder that `write_deployment` has written.

        with Loopback(folder) as deployment:
            submit(program, arguments, deployment.superlink)

    With FOLDER/tls there, the connections are encrypted, and only SuperNodes with the nodes' keys are let in. Each
    process has `starting` seconds to start.
    """

    def __init__(self, folder: Path, command: HostCommand = host_command, starting: float = STARTING) -> None:
        require_flower()
        self._starting = starting
        folder = folder.resolve()
        (port,) = free_ports(1)
        self._server = ServerProcesses(folder, f"127.0.0.1:{port}")
        self._nodes = {
            number: NodeProcesses(
                read_node(path),
                self.superlink,
                folder / "logs",
                authenticated=self._server.authenticates,
                command=command,
            )
            for number, path in node_folders(folder).items()
        }

    @property
    def superlink(self) -> SuperLink:
        """Where to submit programs."""
        return self._server.superlink

    @property
    def nodes(self) -> tuple[int, ...]:
        """The numbers of the nodes."""
        return tuple(self._nodes)

    def __enter__(self) -> Self:
        nodes = list(self._nodes.values())
        try:
            self._server.start()
            if self._server.authenticates:
                self._server.wait(self._starting)
                self._server.register([node.node.folder / "flower.pub" for node in nodes])
            for node in nodes:
                node.start()
            self._server.wait(self._starting)
            for node in nodes:
                node.wait(time.monotonic() + self._starting)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def kill(self, node: int) -> None:
        """Kill a node without a word, as if its machine had lost power."""
        self._nodes[node].kill()

    def kill_host(self, node: int) -> None:
        """Kill a node's host alone, as if it had crashed: its SuperNode stays, and says so at once."""
        self._nodes[node].kill_host()

    def restart(self, node: int) -> None:
        """Start again what was killed of a node, and wait until it is registered."""
        if not self._nodes[node].revive():
            self._nodes[node].start()
        self._nodes[node].wait(time.monotonic() + self._starting)

    def revive(self) -> list[str]:
        """Start again what has ended by itself at the nodes; returns the names of it.

        Raises:
            DiscreetError: if the server has ended.
        """
        self._server.check()
        return [name for node in self._nodes.values() for name in node.revive()]

    def _stop(self) -> None:
        stop_nodes(list(self._nodes.values()))
        self._server.stop()
