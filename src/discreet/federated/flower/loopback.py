"""A deployment of real processes: a SuperLink, and for every node a SuperNode, a relay and a host.

`NodeProcesses` is one node, wherever its SuperLink is; `Loopback` is all of them with a SuperLink on 127.0.0.1, for
trying out. Ports are whichever are free, Flower's state and all logs are in the deployment's folder, and at the end
nothing is left running.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from discreet.errors import DiscreetError
from discreet.federated.flower.configuration import NodeSettings, node_folders, read_node
from discreet.federated.flower.deployment import SuperLink
from discreet.federated.flower.host_socket import listens
from discreet.federated.flower.processes import Process, flower_environment, free_ports, require_flower, stop

HostCommand = Callable[[NodeSettings], list[str]]
STARTING = 120.0
"""How many seconds a process may take to start."""
_AGAIN = 3.0
_REGISTERED = "SuperNode ID:"
_SERVING = "Uvicorn running on"


def host_command(node: NodeSettings) -> list[str]:
    """The command that runs a node's host."""
    return [sys.executable, "-m", "discreet", "nodes", "host", str(node.folder)]


class NodeProcesses:
    """The three processes of one node."""

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
        self._processes: list[Process] = []

    def start(self) -> None:
        """Start what is not running, without waiting."""
        name, environment = f"node-{self.node.number}", flower_environment(self._superlink.home)
        (port,) = free_ports(1)
        supernode = [sys.executable, "-m", "discreet.federated.flower.supernode", "--isolation", "process"]
        supernode += ["--superlink", self._superlink.address, "--port", str(port)]
        supernode += ["--node-config", f'node={self.node.number} socket="{self.node.socket}"']
        if self._superlink.root_certificates is None:
            supernode += ["--insecure"]
        else:
            supernode += ["--root-certificates", str(self._superlink.root_certificates)]
        if self._authenticated:
            supernode += ["--auth-supernode-private-key", str(self.node.folder / "flower.key")]
        relay = [sys.executable, "-m", "discreet.federated.flower.relay", f"127.0.0.1:{port}"]
        commands = {"host": self._command(self.node), "supernode": supernode, "relay": relay}
        self._processes = [
            Process(f"the {what} of node {self.node.number}", words, self._logs / f"{name}-{what}.log", environment)
            for what, words in commands.items()
        ]

    def wait(self, deadline: float) -> None:
        """Wait until the host listens and the SuperNode is registered.

        Flower lets a node with a key in again only when it has noticed that the one before is gone; that takes a
        minute after a kill, so a SuperNode that is turned away is started again until the deadline.

        Raises:
            DiscreetError: if a process ends, or the deadline passes.
        """
        host, supernode, _ = self._processes
        while not listens(self.node.socket):
            host.check()
            if time.monotonic() > deadline:
                raise DiscreetError(f"{host.name} is not ready in time; its log is {host.log}")
            time.sleep(0.1)
        while True:
            try:
                supernode.wait_until_said(_REGISTERED, deadline)
                return
            except DiscreetError:
                if not self._authenticated or time.monotonic() + _AGAIN > deadline:
                    raise
            time.sleep(_AGAIN)
            self.kill()
            self.start()
            host, supernode, _ = self._processes
            while not listens(self.node.socket) and host.is_running():
                time.sleep(0.1)

    def check(self) -> None:
        """Raise DiscreetError if one of the processes has ended."""
        for process in self._processes:
            process.check()

    def kill(self) -> None:
        """Kill all at once, without a word (SIGKILL)."""
        for process in self._processes:
            process.signal(signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        """End all processes; nothing of them is left."""
        stop_nodes([self])

    def _forget(self) -> None:
        self._processes = []
        self.node.socket.unlink(missing_ok=True)
        if self.node.socket.parent != self.node.folder.resolve():
            shutil.rmtree(self.node.socket.parent, ignore_errors=True)


def stop_nodes(nodes: Sequence[NodeProcesses]) -> None:
    """End the processes of several nodes, all at the same time."""
    stop([process for node in nodes for process in node._processes])
    for node in nodes:
        node._forget()


class Loopback:
    """A whole deployment on this machine, from the folder that `write_deployment` has written.

        with Loopback(folder) as deployment:
            submit(program, arguments, deployment.superlink)

    With FOLDER/tls there, the connections are encrypted, and only SuperNodes with the nodes' keys are let in.
    """

    def __init__(self, folder: Path, command: HostCommand = host_command) -> None:
        require_flower()
        self._folder = folder.resolve()
        self._logs = self._folder / "logs"
        tls = self._folder / "tls"
        self._tls = tls if tls.is_dir() else None
        (port,) = free_ports(1)
        certificate = tls / "ca.crt" if self._tls else None
        self.superlink = SuperLink(f"127.0.0.1:{port}", certificate, self._folder / "flower")
        self._server: list[Process] = []
        self._nodes = {
            number: NodeProcesses(
                read_node(path),
                self.superlink,
                self._logs,
                authenticated=self._tls is not None,
                command=command,
            )
            for number, path in node_folders(self._folder).items()
        }

    @property
    def nodes(self) -> tuple[int, ...]:
        """The numbers of the nodes."""
        return tuple(self._nodes)

    def __enter__(self) -> Self:
        try:
            deadline = time.monotonic() + STARTING
            self._start_server()
            if self._tls is None:
                for node in self._nodes.values():
                    node.start()
                self._server[0].wait_until_said(_SERVING, deadline)
            else:
                self._server[0].wait_until_said(_SERVING, deadline)
                self._register()
                for node in self._nodes.values():
                    node.start()
            for node in self._nodes.values():
                node.wait(deadline)
            self.superlink.write(self._folder)
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

    def restart(self, node: int) -> None:
        """Start a killed node again, and wait until it is registered."""
        self._nodes[node].start()
        self._nodes[node].wait(time.monotonic() + STARTING)

    def check(self) -> None:
        """Raise DiscreetError if any process has ended."""
        for process in self._server:
            process.check()
        for node in self._nodes.values():
            node.check()

    def _start_server(self) -> None:
        environment = flower_environment(self.superlink.home)
        port = self.superlink.address.rpartition(":")[2]
        superlink = ["flower-superlink", "--host", "127.0.0.1", "--port", port, "--isolation", "process"]
        superlink += ["--disable-runtime-dependency-installation"]
        superexec = ["flower-superexec", "--runtime-api-address", self.superlink.address]
        if self._tls is None:
            superlink += ["--insecure"]
            superexec += ["--insecure"]
        else:
            superlink += ["--ssl-ca-certfile", str(self._tls / "ca.crt"), "--ssl-certfile"]
            superlink += [str(self._tls / "server.crt"), "--ssl-keyfile", str(self._tls / "server.key")]
            superlink += ["--enable-supernode-auth"]
            superexec += ["--root-certificates", str(self._tls / "ca.crt")]
        self._server = [
            Process("the SuperLink", superlink, self._logs / "superlink.log", environment),
            Process("the SuperExec", superexec, self._logs / "superexec.log", environment),
        ]

    def _register(self) -> None:
        """Tell the SuperLink which SuperNodes' keys to let in."""
        keys = [str(node.node.folder / "flower.pub") for node in self._nodes.values()]
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(lambda key: self.superlink.call("supernode", "register", key), keys))

    def _stop(self) -> None:
        (self._folder / "superlink.json").unlink(missing_ok=True)
        stop_nodes(list(self._nodes.values()))
        stop(self._server)
        self._server = []
