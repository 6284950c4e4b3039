"""The public tasks of a leader, and what their values stand for, as devices fetch them: the same bytes for everybody.

A list of cells is a file in the leader's folder of cells: `{digest}.json` for a task whose list is fixed, and
`{task id}/{window}.json` where each window has a list of its own. Whoever counts what was shown writes it there.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import Response

from discreet.aggregation.task import Task
from discreet.errors import DiscreetError
from discreet.files import replacing_file
from discreet.protocol.check import limits
from discreet.serving.api_messages import CellsAnswer, Problem, TasksAnswer
from discreet.serving.catalogue_pages import Sent
from discreet.serving.polled_route import PolledRoute

_DIGEST = re.compile("[0-9a-f]{64}")
_KEPT_WINDOWS = 100
_WINDOW = re.compile("0|[1-9][0-9]{0,12}")


def mount_tasks(
    app: FastAPI, tasks: Sequence[Task], cells: Path | None, clock: Callable[[], float] = time.time
) -> None:
    """Announce tasks under /v1/tasks of an application, and their lists of cells under /v1/cells."""

    @lru_cache(maxsize=1)
    def announced(ids: tuple[bytes, ...]) -> Sent:
        here = [task.to_json() for task in tasks if task.id in ids]
        return Sent.of(json.dumps({"tasks": here[: limits.max_tasks]}, ensure_ascii=False).encode())

    def announce() -> Sent:
        """The public tasks that devices may contribute to. For all the same."""
        now = clock()
        return announced(tuple(task.id for task in tasks if now < task.sent_until(task.windows - 1)))

    async def fixed(digest: str) -> Response:
        """What the values of a task stand for, if that is the same in all windows; its name is its SHA-256."""
        return _file(cells, f"{digest}.json" if _DIGEST.fullmatch(digest) else None)

    async def of_window(task: str, window: str) -> Response:
        """What the values of one window of a task stand for, from the window's end on."""
        is_name = _DIGEST.fullmatch(task) and _WINDOW.fullmatch(window)
        return _file(cells, f"{task}/{window}.json" if is_name else None)

    app.router.routes.append(PolledRoute("/v1/tasks", announce, response_model=TasksAnswer, tags=["devices"]))
    unknown: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "There is no such list."}}
    for path, answer in (("/v1/cells/{digest}", fixed), ("/v1/cells/{task}/{window}", of_window)):
        app.add_api_route(path, answer, response_model=CellsAnswer, responses=unknown, tags=["devices"])


def cells_digest(cells: Sequence[str]) -> str:
    """What a task's terms name a fixed list of cells by."""
    return hashlib.sha256(_page(cells)).hexdigest()


def publish_cells(folder: Path, cells: Sequence[str]) -> str:
    """Write what the values of a task stand for, the same in all windows; returns what its terms name it by."""
    digest = cells_digest(cells)
    _write(folder / f"{digest}.json", _page(cells))
    return digest


def read_cells(folder: Path, task: Task) -> list[str] | None:
    """The fixed list of cells of a task, if it is published."""
    path = folder / f"{task.cells}.json"
    if not _DIGEST.fullmatch(task.cells) or not path.is_file():
        return None
    return list(json.loads(path.read_bytes())["cells"])


def publish_window_cells(folder: Path, task: Task, window: int, articles: Sequence[str]) -> None:
    """Write what the values of one window stand for: once, when the window ends. Devices fetch it from then on."""
    task.require_window(window)
    if len(articles) > task.length:
        raise DiscreetError(f"task {task.name} has room for {task.length} cells, not {len(articles)}")
    _write(window_file(folder, task, window), _page(articles))
    window_file(folder, task, window - _KEPT_WINDOWS).unlink(missing_ok=True)


def has_window_cells(folder: Path, task: Task, window: int) -> bool:
    """Whether the cells of a window are published."""
    return window_file(folder, task, window).is_file()


def window_file(folder: Path, task: Task, window: int) -> Path:
    """Where the list of cells of a window is."""
    return folder / task.id.hex() / f"{window}.json"


def _page(articles: Sequence[str]) -> bytes:
    if len(set(articles)) < len(articles):
        raise DiscreetError("a list of cells names an article twice")
    return json.dumps({"cells": list(articles)}, ensure_ascii=False, separators=(",", ":")).encode()


def _write(path: Path, page: bytes) -> None:
    with replacing_file(path, 0o600) as draft:
        draft.write_bytes(page)


def _file(folder: Path | None, name: str | None) -> Response:
    if folder is not None and name is not None and (folder / name).is_file():
        return Response((folder / name).read_bytes(), media_type="application/json")
    return _json({"error": "there is no such list of cells"}, 404)


def _json(answer: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(answer, ensure_ascii=False).encode(), status, media_type="application/json")
