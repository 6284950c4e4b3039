"""Which modules a raw click or rating passes through: in a training, in serving, and in a comparison of vendors.

Every call of a function of Discreet is watched. A module is *called* if one of its functions runs (imports do not
count), and *holds raw data* if one of them is given raw data: clicks or ratings as these classes have them, something
that has such an object, or an array that is a view of theirs. An array that was computed from clicks is not followed,
so the count is a lower bound.

    python benchmarks/click_path.py train serve compare
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.cli import run

RAW = {"NewsData", "Impressions", "Ratings", "Clicks", "Clients", "Samples", "History", "Click"}
"""Classes that have clicks or ratings as they were, before any noise."""


class TrainingMonitor:
    """The modules that were called, and those that were given raw data."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        self.raw: set[str] = set()
        self._arrays: set[int] = set()
        self._kept: list[object] = []

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that start inside this block."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    def _look(self, frame: FrameType, event: str, given: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        code = frame.f_code
        if not module.startswith("discreet.") or event not in ("call", "return") or not code.co_flags & CO_OPTIMIZED:
            return
        if module not in self.called and not _importing(frame):
            self.called.add(module)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(name) for name in names] if event == "call" else [given]
        if any(self._is_raw(value, 2) for value in values):
            self.raw.add(module)

    def _is_raw(self, value: object, depth: int) -> bool:
        if isinstance(value, np.ndarray):
            return id(_root(value)) in self._arrays
        if type(value).__name__ in RAW and type(value).__module__.startswith("discreet."):
            for inner in getattr(value, "__dict__", {}).values():
                if isinstance(inner, np.ndarray) and id(_root(inner)) not in self._arrays:
                    self._arrays.add(id(_root(inner)))
                    self._kept.append(_root(inner))
            return True
        if not depth:
            return False
        if isinstance(value, list | tuple):
            return any(self._is_raw(one, depth - 1) for one in value[:8])
        if isinstance(value, dict):
            return any(self._is_raw(one, depth - 1) for one in list(value.values())[:8])
        if type(value).__module__.startswith("discreet."):
            return any(self._is_raw(one, depth - 1) for one in list(getattr(value, "__dict__", {}).values()))
        return False


def _importing(frame: FrameType | None) -> bool:
    """Whether a call is part of an import; a decorator's, for instance."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("discreet."):
            return True
        frame = frame.f_back
    return False


def _root(array: np.ndarray[Any, Any]) -> object:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def discreet(*arguments: object) -> None:
    """Run one command line, which must succeed."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run([str(argument) for argument in arguments])
    if code:
        raise SystemExit(f"discreet {' '.join(map(str, arguments))} has failed")


def train(folder: Path, watch: TrainingMonitor) -> None:
    """Two rounds of `discreet train --method privaterec`."""
    discreet("data", "synth", folder / "world", "--readers", 60)
    few = ("--set", "rounds=2", "--text", "hashed")
    with watch.watching():
        discreet("train", folder / "world", "--method", "privaterec", *few, "--out", folder / "run")


def serve(folder: Path, watch: TrainingMonitor) -> None:
    """`discreet serve` from its start, and one reader's device that asks, clicks and reports."""
    from discreet.serving import server
    from discreet.serving.endpoints import create_app
    from discreet.serving.limits import ServerLimits

    discreet("data", "synth", folder / "world", "--readers", 60)
    discreet("train", folder / "world", "--method", "click_reports", "--text", "hashed", "--out", folder / "run")
    services: list[Any] = []
    with watch.watching(), patch.object(server, "run_server", lambda service, *_, **__: services.append(service)):
        discreet("serve", folder / "run", "--data", folder / "world", "--ranking", "shortlist", "--port", 0)
        services[0].updater.step()
        _read_news(create_app(services[0], ServerLimits(), None, None), folder / "device")


def _read_news(app: Any, folder: Path) -> None:
    from starlette.testclient import TestClient

    try:
        from discreet.edge.reader.http_client import HttpReply
        from discreet.edge.reader.reader_client import ReaderClient
    except ImportError:  # where they stood before
        from discreet.device.client import ReaderClient  # type: ignore[import-not-found, no-redef]
        from discreet.device.transport import HttpReply  # type: ignore[import-not-found, no-redef]

    now = [1_800_000_000.0]
    with TestClient(app, base_url="http://news.test") as http:

        def transport(method: str, url: str, headers: Any, body: str | None) -> HttpReply:
            content = {"content-type": "application/json"} if body else {}
            answer = http.request(method, url, headers={**headers, **content}, content=body)
            return HttpReply(answer.status_code, answer.content, dict(answer.headers))

        client = ReaderClient("http://news.test", folder, transport=transport, clock=lambda: now[0])
        client.refresh()
        for _ in range(2):
            front = client.front(5)
            client.clicked(front.articles[0].article.id, front.slate)
            now[0] += 7 * 86_400
            client.refresh()
            client.send_due()
        client.front(5)


def compare(folder: Path, watch: TrainingMonitor) -> None:
    """`discreet vendors compare` of local models with private sharing."""
    discreet("data", "synth", folder / "films.csv", "--ratings", "--readers", 60)
    methods = ("--methods", "local,sharing", "--epsilon", "5", "--vendors", 3, "--iterations", 4, "--rank", 2)
    with watch.watching():
        discreet("vendors", "compare", folder / "films.csv", *methods, "--out", folder / "report")


PATHS: dict[str, Callable[[Path, TrainingMonitor], None]] = {"train": train, "serve": serve, "compare": compare}


def main() -> None:
    """Print the counts as a table, or with --json everything."""
    names = [name for name in sys.argv[1:] if name in PATHS] or list(PATHS)
    found = {}
    for name in names:
        watch = TrainingMonitor()
        with tempfile.TemporaryDirectory() as folder:
            PATHS[name](Path(folder), watch)
        found[name] = {"called": sorted(watch.called), "raw": sorted(watch.raw)}
    if "--json" in sys.argv:
        print(json.dumps(found, indent=1))
        return
    print("| path | modules called | that hold raw data | of these in serving, aggregation, nodes |\n|---|---|---|---|")
    for name, modules in found.items():
        server = [m for m in modules["raw"] if m.split(".")[1] in ("serving", "aggregation", "nodes")]
        print(f"| {name} | {len(modules['called'])} | {len(modules['raw'])} | {len(server)} |")


if __name__ == "__main__":
    main()
