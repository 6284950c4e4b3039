"""The server as processes: Flower's SuperLink, and the SuperExec that starts ServerApps."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from discreet.nodes.flower.deployment import SuperLink
from discreet.nodes.flower.processes import Process, flower_environment, stop

STARTING = 300.0
"""How many seconds the server may take to start, by default; if it ends, that is noticed at once."""
_SERVING = "Uvicorn running on"


class ServerProcesses:
    """A SuperLink in the folder of a deployment, and its SuperExec.

    With FOLDER/tls there, connections are encrypted, and only SuperNodes with keys that were registered are let in.
    While it runs, FOLDER/superlink.json says where.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder.resolve()
        tls = self._folder / "tls"
        self._tls = tls if tls.is_dir() else None
        self.superlink = SuperLink(address, tls / "ca.crt" if self._tls else None, self._folder / "flower")
        self._processes: list[Process] = []

    @property
    def authenticates(self) -> bool:
        """Whether only nodes with registered keys are let in."""
        return self._tls is not None

    def start(self) -> None:
        """Start both, without waiting for them."""
        host, _, port = self.superlink.address.rpartition(":")
        secret = self.superlink.home / "superexec.secret"
        secret.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_hex(32), "ascii")
        superlink = ["flower-superlink", "--host", host, "--port", port, "--isolation", "process"]
        superlink += ["--disable-runtime-dependency-installation", "--superexec-auth-secret-file", str(secret)]
        superexec = ["flower-superexec", "--runtime-api-address", self.superlink.address]
        superexec += ["--superexec-auth-secret-file", str(secret)]
        if self._tls is None:
            superlink += ["--insecure"]
            superexec += ["--insecure"]
        else:
            superlink += ["--ssl-ca-certfile", str(self._tls / "ca.crt"), "--ssl-certfile"]
            superlink += [str(self._tls / "server.crt"), "--ssl-keyfile", str(self._tls / "server.key")]
            superlink += ["--enable-supernode-auth"]
            superexec += ["--root-certificates", str(self._tls / "ca.crt")]
        environment, logs = flower_environment(self.superlink.home), self._folder / "logs"
        self._processes = [
            Process("the SuperLink", superlink, logs / "superlink.log", environment),
            Process("the SuperExec", superexec, logs / "superexec.log", environment),
        ]

    def wait(self, starting: float = STARTING) -> None:
        """Wait, for so many seconds at most, until the SuperLink serves.

        Raises:
            DiscreetError: if it ends, or takes too long.
        """
        self._processes[0].wait_until_said(_SERVING, time.monotonic() + starting)
        self.superlink.write(self._folder)

    def register(self, keys: Sequence[Path]) -> None:
        """Let SuperNodes with these public keys in."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(lambda key: self.superlink.call("supernode", "register", str(key)), keys))

    def check(self) -> None:
        """Raise DiscreetError if one of the processes has ended."""
        for process in self._processes:
            process.check()

    def stop(self) -> None:
        """End both; nothing of them is left."""
        (self._folder / "superlink.json").unlink(missing_ok=True)
        stop(self._processes)
        self._processes = []
