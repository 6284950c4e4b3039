"""Firefox without a driver: its own WebDriver BiDi, over a websocket. The few commands that tests need."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools import require
from websockets.sync.client import connect

FIREFOX = os.environ.get("DISCREET_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
PATIENCE = 120.0
_READY = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class FirefoxPage:
    """One page. `evaluate` takes a JavaScript function as text, as playwright does, and gives plain values."""

    def __init__(self, socket: Any, context: str) -> None:
        self._socket, self._context, self._number = socket, context, 0
        self.errors: list[str] = []

    def command(self, method: str, **parameters: Any) -> Any:
        """One command of WebDriver BiDi, and its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("type") == "event":
                entry = message["params"]
                if entry.get("level") == "error":
                    self.errors.append(entry.get("text") or "")
            elif message["id"] == self._number:
                assert message["type"] == "success", message
                return message["result"]

    def before(self, script: str) -> None:
        """Run a function in every page before its own scripts."""
        self.command("script.addPreloadScript", functionDeclaration=script)

    def goto(self, url: str) -> None:
        """Open an address, and wait until it is loaded."""
        self.command("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def evaluate(self, function: str, *given: Any) -> Any:
        """The value of a function, when it has come."""
        called = f"(async () => JSON.stringify((await ({function})(...{json.dumps(given)})) ?? null))()"
        target = {"context": self._context}
        found = self.command("script.evaluate", expression=called, target=target, awaitPromise=True)
        assert found["type"] == "success", found["exceptionDetails"]["text"]
        return json.loads(found["result"]["value"])

    def wait_for(self, function: str, *given: Any) -> Any:
        """The value of a function, when it is true."""
        return until_true(lambda: self.evaluate(function, *given), function)

    def screenshot(self, path: Path) -> None:
        """A picture of the page."""
        found = self.command("browsingContext.captureScreenshot", context=self._context, origin="document")
        path.write_bytes(base64.b64decode(found["data"]))


def until_true(value: Callable[[], Any], what: str) -> Any:
    """The value of a condition, when it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := value()):
        assert time.monotonic() < deadline, f"not in {PATIENCE:g} seconds: {what}"
        time.sleep(0.1)
    return found


@contextmanager
def firefox() -> Iterator[FirefoxPage]:
    """A page in a Firefox of its own."""
    require(FIREFOX, "there is no Firefox here; install one (Debian: firefox-esr) or set DISCREET_FIREFOX to its path")
    with tempfile.TemporaryDirectory() as profile:
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        with (Path(profile) / "log").open("w+") as log:
            process = subprocess.Popen([*command, "about:blank"], stderr=log, stdout=subprocess.DEVNULL)
            try:
                address = _address(process, Path(profile) / "log")
                with connect(f"{address}/session", max_size=None, open_timeout=PATIENCE) as socket:
                    page = FirefoxPage(socket, "")
                    page.command("session.new", capabilities={})
                    page.command("session.subscribe", events=["log.entryAdded"])
                    page._context = page.command("browsingContext.getTree")["contexts"][0]["context"]
                    yield page
            finally:
                process.terminate()
                process.wait(60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while not (found := _READY.search(log.read_text(errors="replace"))):
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, "Firefox does not listen"
        time.sleep(0.1)
    return found[1]
