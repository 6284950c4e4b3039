"""Flower's own simulation: the program and the hosts in this process, the relays in Ray's."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from discreet.errors import DiscreetError
from discreet.nodes.flower.processes import require_flower
from discreet.nodes.host_socket import listens, serve_host
from discreet.nodes.node_transport import Answer, Nodes

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.server.superlink.fleet.vce.backend.backend import BackendConfig
    from flwr.serverapp import Grid

    from discreet.nodes.flower.flower_app import HostAddress

T = TypeVar("T")
_STARTING = 900.0


def simulate(program: Callable[[Nodes], T], hosts: Mapping[int, Answer]) -> T:
    """Run a program with hosts of this process, each in a thread, over Flower's simulation.

    Returns:
        What the program has returned.

    Raises:
        DiscreetError: if Flower, Ray or a free processor is missing.
        Exception: whatever the program raises.
    """
    require_flower(simulation=True)
    if not hosts:
        raise ValueError("a simulation needs at least one host")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True)))
        stack.enter_context(_environment(folder))
        sockets = {node: folder / "hosts" / str(node) for node in hosts}
        stack.enter_context(_served(hosts, sockets))
        return _run(program, [(node, str(sockets[node])) for node in sorted(hosts)], folder)


def _run(program: Callable[[Nodes], T], places: list[tuple[int, str]], folder: Path) -> T:
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from discreet.nodes.flower.flower_app import make_client
    from discreet.nodes.flower.flower_nodes import FlowerNodes

    server = ServerApp()
    results: list[T] = []
    failures: list[BaseException] = []
    watched = copy_context()

    @server.main()
    def main(grid: Grid, _: Context) -> None:
        try:
            nodes = FlowerNodes(grid)
            _wait_for_all(nodes, len(places))
            results.append(watched.run(program, nodes))
        except BaseException as failure:
            failures.append(failure)

    workers = min(len(places), os.cpu_count() or 1)
    backend: BackendConfig = {
        "init_args": {
            "num_cpus": workers,
            "num_gpus": 0,
            "include_dashboard": False,
            "logging_level": "ERROR",
            "log_to_driver": False,
            "_temp_dir": str(folder / "ray"),
        },
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
    with _quiet() as said:
        try:
            run_simulation(server, make_client(_Partitions(tuple(places))), len(places), backend_config=backend)
        except Exception as error:
            if not failures and not results:
                reason = said[-1] if said else str(error)
                raise DiscreetError(f"Flower's simulation has failed: {reason}") from error
    if failures:
        raise failures[0]
    if not results:
        raise DiscreetError(f"Flower's simulation has ended before its program: {said[-1] if said else 'no reason'}")
    return results[0]


def _wait_for_all(nodes: Nodes, number: int) -> None:
    """Flower starts the program before its nodes, and Ray takes a while."""
    deadline = time.monotonic() + _STARTING
    while len(nodes.present()) < number:
        if time.monotonic() > deadline:
            raise DiscreetError(f"Flower's simulation has not started its {number} nodes in {_STARTING:.0f} seconds")
        time.sleep(0.05)


@dataclass(frozen=True)
class _Partitions:
    """The places of simulated nodes, which Flower counts from 0."""

    places: tuple[tuple[int, str], ...]

    def __call__(self, context: Context) -> HostAddress:
        from discreet.nodes.flower.flower_app import HostAddress

        return HostAddress(*self.places[int(context.node_config["partition-id"])])


@contextmanager
def _served(hosts: Mapping[int, Answer], sockets: Mapping[int, Path]) -> Iterator[None]:
    """Every host in a thread of its own, at its socket."""
    stop = Event()
    threads = [Thread(target=serve_host, args=(sockets[node], hosts[node], stop), daemon=True) for node in hosts]
    for thread in threads:
        thread.start()
    try:
        while not all(listens(path) for path in sockets.values()):
            if not all(thread.is_alive() for thread in threads):
                raise DiscreetError("a host of the simulation could not open its socket")
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Flower's state in `folder`, no statistics sent by Ray; afterwards the environment is as it was."""
    before = dict(os.environ)
    (folder / "hosts").mkdir(mode=0o700)
    os.environ["FLWR_HOME"] = str(folder / "flower")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder / "ray", ignore_errors=True)


@contextmanager
def _quiet() -> Iterator[list[str]]:
    """Keep Flower's log off the terminal inside this block; yields the errors in it."""
    logger = logging.getLogger("flwr")
    said: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage().strip().splitlines()[-1] if record.getMessage().strip() else "")

    keep = Keep(level=logging.ERROR)
    handlers, propagate = logger.handlers[:], logger.propagate
    logger.handlers, logger.propagate = [keep], False
    try:
        yield said
    finally:
        logger.handlers, logger.propagate = handlers, propagate
