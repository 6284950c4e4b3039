"""`discreet serve` in a process of its own, for tests of feeds."""

import contextlib
import json
import subprocess
import sys
import threading
import time

import httpx

PATIENCE = 120
DISCREET = [sys.executable, "-m", "discreet"]


def until(condition, what):
    """Wait for a condition; its value."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"no {what} in {PATIENCE} seconds"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def discreet_serve(folder, *arguments, discreet=DISCREET):
    """A server started in `folder` on a free port; its base URL when it is ready. Its log is `folder/log`."""
    command = [*discreet, "serve", *arguments, "--port", "0", "--json"]
    with (folder / "log").open("a") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    guard = threading.Timer(PATIENCE, server.kill)
    guard.start()
    try:
        shown = ""
        while not shown.rstrip().endswith("}") and (line := server.stdout.readline()):
            shown += line
        assert shown, (folder / "log").read_text()
        base = json.loads(shown)["url"]
        until(lambda: httpx.get(f"{base}/readyz", timeout=PATIENCE).status_code == 200, "readiness")
        guard.cancel()
        yield base
    finally:
        guard.cancel()
        server.terminate()
        server.wait(60)
        server.stdout.close()


def catalogue(base):
    """The titles of all articles that devices are given, by id."""
    listed = httpx.get(f"{base}/v1/catalogue", timeout=PATIENCE).json()
    pages = [httpx.get(f"{base}/v1/catalogue/{page['name']}", timeout=PATIENCE) for page in listed["pages"]]
    return {one["id"]: one["title"] for page in pages if page.status_code == 200 for one in page.json()["articles"]}
