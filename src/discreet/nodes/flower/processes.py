"""Processes that belong to a deployment: each in a group of its own, its output in a log, and gone when asked to go."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from discreet.errors import DiscreetError, install_command

_POLITELY = 5.0
"""How many seconds a process has to end by itself."""


class Process:
    """A running process and all that it has started."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = log
        self._from = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's number, which is also its group's."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def said(self) -> str:
        """What it has written to its log so far."""
        with self.log.open("rb") as log:
            log.seek(self._from)
            return log.read().decode(errors="replace")

    def wait_until_said(self, words: str, deadline: float) -> None:
        """Wait until these words are in the log.

        Raises:
            DiscreetError: if the process ends before, or the deadline (of time.monotonic) passes.
        """
        while words not in self.said():
            self.check()
            if time.monotonic() > deadline:
                raise DiscreetError(f"{self.name} is not ready in time; its log is {self.log}")
            time.sleep(0.1)

    def check(self) -> None:
        """Raise DiscreetError if the process has ended."""
        if not self.is_running():
            lines = [line.strip() for line in self.said().splitlines() if line.strip()] or ["nothing"]
            telling = [line for line in lines if "error" in line.lower() or "failed" in line.lower()]
            raise DiscreetError(f"{self.name} has ended; in {self.log} it said: {(telling or lines)[-1]}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and all that it has started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def stop(processes: Sequence[Process]) -> None:
    """End processes, politely first; after this, none of them nor what they have started is left."""
    for process in processes:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + _POLITELY
    while any(process.is_running() for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in processes:
        process.signal(signal.SIGKILL)
        process._process.wait()


def flower_environment(home: Path) -> dict[str, str]:
    """The environment of Flower's processes: this Python's commands, state in `home`, nothing sent to anybody else."""
    here = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join((here, os.environ.get("PATH", os.defpath))),
        "FLWR_HOME": str(home.resolve()),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.5",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
    }


def free_ports(number: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def require_flower(*, simulation: bool = False) -> None:
    """Raise DiscreetError if Flower, or what its simulation needs, is not installed."""
    from importlib.util import find_spec

    if find_spec("flwr") is None or (simulation and find_spec("ray") is None):
        raise DiscreetError(f"Flower is not installed; it comes with: {install_command('flower')}")
