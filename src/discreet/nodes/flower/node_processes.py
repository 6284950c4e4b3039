"""One node as processes: its host, and Flower's SuperNode with the relay in it."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.nodes.configuration import NodeSettings
from discreet.nodes.flower.deployment import SuperLink
from discreet.nodes.flower.processes import Process, flower_environment, free_ports, stop
from discreet.nodes.host_socket import listens

HostCommand = Callable[[NodeSettings], list[str]]
STARTING = 300.0
"""How many seconds a process may take to start, by default; one that ends is noticed at once."""
_AGAIN = 3.0
_REGISTERED = "SuperNode ID:"


def host_command(node: NodeSettings) -> list[str]:
    """The command that runs a node's host."""
    return [sys.executable, "-m", "discreet", "nodes", "host", str(node.folder)]


class NodeProcesses:
    """The two processes of one node."""

    def __init__(
        self,
        node: NodeSettings,
        superlink: SuperLink,
        logs: Path,
        *,
        authenticated: bool,
        command: HostCommand = host_command,
    ) -> None:
        self.node = node
        self._superlink = superlink
        self._logs = logs
        self._authenticated = authenticated
        self._command = command
        self._host: list[Process] = []
        self._flower: list[Process] = []

    @property
    def processes(self) -> list[Process]:
        """Host and SuperNode, as far as they were started."""
        return self._host + self._flower

    def start(self) -> None:
        """Start both, without waiting for them."""
        self._host = [self._process("host", self._command(self.node))]
        self._start_flower()

    def _start_flower(self) -> None:
        (port,) = free_ports(1)
        supernode = [sys.executable, "-m", "discreet.nodes.flower.supernode", "--port", str(port)]
        supernode += ["--superlink", self._superlink.address]
        supernode += ["--node-config", f'node={self.node.number} socket="{self.node.socket}"']
        if self._superlink.root_certificates is None:
            supernode += ["--insecure"]
        else:
            supernode += ["--root-certificates", str(self._superlink.root_certificates)]
        if self._authenticated:
            supernode += ["--auth-supernode-private-key", str(self.node.folder / "flower.key")]
        self._flower = [self._process("supernode", supernode)]

    def _process(self, what: str, command: list[str]) -> Process:
        name, log = f"the {what} of node {self.node.number}", self._logs / f"node-{self.node.number}-{what}.log"
        return Process(name, command, log, flower_environment(self._superlink.home))

    def wait(self, deadline: float) -> None:
        """Wait until the host listens and the SuperNode is registered.

        Flower lets a node with a key in again only when it has noticed that the one before is gone; that takes a
        minute after a kill, so a SuperNode that is turned away is started again until the deadline.

        Raises:
            DiscreetError: if a process ends, or the deadline passes.
        """
        (host,) = self._host
        while not listens(self.node.socket):
            host.check()
            if time.monotonic() > deadline:
                raise DiscreetError(f"{host.name} is not ready in time; its log is {host.log}")
            time.sleep(0.1)
        while True:
            try:
                self._flower[0].wait_until_said(_REGISTERED, deadline)
                return
            except DiscreetError:
                if not self._authenticated or time.monotonic() + _AGAIN > deadline:
                    raise
            time.sleep(_AGAIN)
            stop(self._flower)
            self._start_flower()

    def revive(self) -> list[str]:
        """Start again what has ended by itself; returns the names of it. A killed node stays dead."""
        ended = [process.name for process in self.processes if not process.is_running()]
        if any(not process.is_running() for process in self._host):
            stop(self._host)
            self._host = [self._process("host", self._command(self.node))]
        if any(not process.is_running() for process in self._flower):
            stop(self._flower)
            self._start_flower()
        return ended

    def kill_host(self) -> None:
        """Kill the host alone (SIGKILL)."""
        for process in self._host:
            process.signal(signal.SIGKILL)
        stop(self._host)

    def kill(self) -> None:
        """Kill all at once, without a word (SIGKILL)."""
        for process in self.processes:
            process.signal(signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        """End all processes; nothing of them is left."""
        stop_nodes([self])

    def _forget(self) -> None:
        self._host, self._flower = [], []
        self.node.socket.unlink(missing_ok=True)
        if self.node.socket.parent != self.node.folder.resolve():
            shutil.rmtree(self.node.socket.parent, ignore_errors=True)


def stop_nodes(nodes: Sequence[NodeProcesses]) -> None:
    """End the processes of several nodes, all at the same time."""
    stop([process for node in nodes for process in node.processes])
    for node in nodes:
        node._forget()
