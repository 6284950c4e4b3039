"""Running a program on a SuperLink: `flwr run` with a tiny app, its log shown here, its result or failure brought back.

The app that is sent says only which program of Discreet to run, with which arguments; the code itself is what is
installed where the ServerApp runs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InputError
from discreet.files import replacing_file
from discreet.nodes.flower.log_lines import Listener
from discreet.nodes.flower.processes import flower_environment, require_flower
from discreet.progress import notice

CONNECTION = "deployment"
"""The name of the SuperLink in Flower's configuration."""
_NOTICING = 90.0
_APP = """\
[project]
name = "discreet-nodes"
version = "1.0.0"
description = "Names the program of Discreet that the server runs."
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "discreet"

[tool.flwr.app.components]
serverapp = "discreet.nodes.flower.flower_app:server"
clientapp = "discreet.nodes.flower.flower_app:client"

[tool.flwr.app.config]
program = {program}
arguments = {arguments}
"""


@dataclass(frozen=True)
class SuperLink:
    """Where a SuperLink listens, and how to reach it.

    Attributes:
        address: host and port.
        root_certificates: the certificate that signs the server's; without one the connection is not encrypted.
        home: a folder for Flower's own state.
    """

    address: str
    root_certificates: Path | None
    home: Path

    @classmethod
    def of(cls, folder: Path) -> SuperLink:
        """The SuperLink of a deployment: what FOLDER/superlink.json says, a file with "address" and perhaps "ca".

        Raises:
            InputError: if it says nothing useful.
        """
        path = folder / "superlink.json"
        if not path.exists():
            raise InputError(path, f"no SuperLink is running here; start one: discreet nodes start {folder}")
        try:
            said = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(path, f"is not JSON: {error}") from error
        match said:
            case {"address": str(address), **rest} if re.fullmatch(r"\S+:\d{1,5}", address):
                certificate = rest.pop("ca", None)
                if not rest and (certificate is None or isinstance(certificate, str)):
                    return cls(address, folder / certificate if certificate else None, folder / "flower")
        raise InputError(path, 'holds {"address": "HOST:PORT"}, and perhaps "ca": the path of a certificate')

    def write(self, folder: Path) -> None:
        """Write FOLDER/superlink.json, for `of`."""
        said = {"address": self.address}
        if self.root_certificates is not None:
            said["ca"] = str(self.root_certificates.resolve())
        with replacing_file(folder / "superlink.json") as draft:
            draft.write_text(json.dumps(said) + "\n", "utf-8")

    def flwr(self, *arguments: str) -> list[str]:
        """The `flwr` command with these arguments, in this Python."""
        return [sys.executable, "-m", "flwr.cli.app", *arguments]

    def environment(self) -> dict[str, str]:
        """The environment of the `flwr` command; its configuration is written as needed."""
        lines = [f"[superlink.{CONNECTION}]", f"address = {_toml(self.address)}"]
        if self.root_certificates is None:
            lines.append("insecure = true")
        else:
            lines.append(f"root-certificates = {_toml(str(self.root_certificates.resolve()))}")
        with replacing_file(self.home / "config.toml") as draft:
            draft.write_text("\n".join(lines) + "\n", "utf-8")
        return flower_environment(self.home)

    def call(self, *arguments: str) -> dict[str, Any]:
        """What a `flwr` command says with `--format json`.

        Raises:
            DiscreetError: if it fails.
        """
        command = self.flwr(*arguments, CONNECTION, "--format", "json")
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True, check=False)
        start = done.stdout.find("{")
        try:
            said = json.loads(done.stdout[start:]) if start >= 0 else {}
        except ValueError:
            said = {}
        if not isinstance(said, dict) or not said.get("success"):
            reason = said.get("error-message") if isinstance(said, dict) else None
            raise DiscreetError(f"the SuperLink at {self.address}: {_one_line(reason or done.stdout + done.stderr)}")
        return said


def submit(program: str, arguments: Mapping[str, Any], superlink: SuperLink, *, alone: bool = True) -> Any:
    """Run a program on a SuperLink and wait for it; its progress and notices are shown here. Ctrl-C stops the run.

    Args:
        program: `discreet.module:function`, called there with the nodes and the arguments.
        arguments: what can be written as JSON; paths in it are absolute, and mean the server's disk.
        superlink: where.
        alone: refuse to run at the same time as another program. A node is in one secure sum at a time, and a run whose
            terminal was killed goes on.

    Returns:
        What the program has returned.

    Raises:
        DiscreetError: if it has failed, with the reason that it gave.
    """
    require_flower()
    if alone:
        _check_alone(superlink)
    listener = Listener()
    run = _start(program, arguments, superlink)
    heard = 0
    try:
        while True:
            heard = _listen(run, superlink, listener, heard)
            status, details = _status(run, superlink)
            if status.startswith("finished"):
                break
    except BaseException:
        subprocess.run(
            superlink.flwr("stop", run, CONNECTION), env=superlink.environment(), capture_output=True, check=False
        )
        raise
    finally:
        listener.close()
    if listener.failure is not None:
        raise DiscreetError(listener.failure)
    if status != "finished:completed":
        raise DiscreetError(f"the run on the SuperLink has not finished: {_one_line(details or status)}")
    return listener.result


def _check_alone(superlink: SuperLink) -> None:
    """Wait until no other program is running: Flower takes a minute to notice that one was killed."""
    deadline, noticed = time.monotonic() + _NOTICING, False
    while True:
        running = [run for run in superlink.call("list")["runs"] if not str(run["status"]).startswith("finished")]
        if not running:
            return
        if time.monotonic() > deadline:
            stop = f"FLWR_HOME={superlink.home} flwr stop {running[0]['run-id']} {CONNECTION}"
            raise DiscreetError(
                f"another program is running at {superlink.address}; wait for its end, or stop it: {stop}"
            )
        if not noticed:
            notice(f"another program is running at {superlink.address}; waiting a while for its end")
            noticed = True
        time.sleep(2.0)


def _start(program: str, arguments: Mapping[str, Any], superlink: SuperLink) -> str:
    """Start the run; returns its number."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as app:
        text = _APP.format(program=_toml(program), arguments=_toml(json.dumps(arguments, allow_nan=False)))
        (Path(app) / "pyproject.toml").write_text(text, "utf-8")
        return str(superlink.call("run", app)["run-id"])


def _listen(run: str, superlink: SuperLink, listener: Listener, heard: int) -> int:
    """Follow the log of the run, which starts from its first line each time; returns how many lines were read."""
    lines = 0
    with subprocess.Popen(
        superlink.flwr("log", run, CONNECTION, "--stream"),
        env=superlink.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as follower:
        assert follower.stdout is not None
        try:
            for line in follower.stdout:
                lines += 1
                if lines > heard:
                    listener.hear(line.rstrip("\n"))
        finally:
            follower.terminate()
    return max(lines, heard)


def _status(run: str, superlink: SuperLink) -> tuple[str, str]:
    runs = superlink.call("list", "--run-id", run)["runs"]
    return str(runs[0]["status"]), str(runs[0].get("status-details", ""))


def _toml(text: str) -> str:
    """A TOML string: JSON's, where TOML has no escape for half of a character, and wants one for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    """The last line with words in it, without frames drawn around it."""
    lines = [line.strip("│╭╮╰╯─ \t") for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "no reason given")
