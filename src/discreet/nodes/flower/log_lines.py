"""Progress, result and failure of a program that runs elsewhere, as lines of its log.

A line of ours begins with a mark and goes on in JSON: {"notice": …}, {"bar": what, "total": n}, {"advance": k},
{"status": …}, {"end": …}, {"result": …} or {"failed": …}. Everything else in the log is Flower's.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID

from discreet.progress import notice, shown_by, status, track

MARK = "discreet| "


def progress_in_log() -> AbstractContextManager[None]:
    """Tell progress and notices in lines on standard output inside this block."""
    return shown_by(_LoggedProgress())


def write_result(result: Any) -> None:
    """Tell what the program has returned."""
    _write_line(result=result)


def write_failure(reason: str) -> None:
    """Tell why the program has failed."""
    _write_line(failed=reason)


class Listener:
    """Shows here what the lines of a program's log say.

    Attributes:
        result: what the program has returned.
        failure: why it has failed.
    """

    def __init__(self) -> None:
        self.result: Any = None
        self.failure: str | None = None
        self._bars: list[Generator[int, None, None]] = []

    def hear(self, line: str) -> bool:
        """Show one line; whether it was one of ours."""
        if not line.startswith(MARK):
            return False
        try:
            said = json.loads(line.removeprefix(MARK))
        except ValueError:
            return False
        match said:
            case {"notice": str(text)}:
                notice(text)
            case {"bar": str(what), "total": total}:
                bar = _track(what, total)
                next(bar)
                self._bars.append(bar)
            case {"advance": int(steps)} if self._bars:
                for _ in range(steps):
                    next(self._bars[-1])
            case {"status": str(text)}:
                status(text)
            case {"end": _} if self._bars:
                self._bars.pop().close()
            case {"result": result}:
                self.result = result
            case {"failed": str(reason)}:
                self.failure = reason
            case _:
                return False
        return True

    def close(self) -> None:
        """Take down what bars are left."""
        while self._bars:
            self._bars.pop().close()


def _track(what: str, total: int | None) -> Generator[int, None, None]:
    yield from track(count(), what, total=total)


class _Lines:
    """A file that tells every line written to it as a notice."""

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                _write_line(notice=line.rstrip())
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""


class _LoggedProgress(Progress):
    """Progress bars that are written as log lines."""

    def __init__(self) -> None:
        console = Console(file=_Lines(), width=10_000, no_color=True, force_terminal=False)  # type: ignore[arg-type]
        super().__init__(console=console, auto_refresh=False)

    def start(self) -> None:
        """There is nothing to draw."""

    def stop(self) -> None:
        """There is nothing to draw."""

    def refresh(self) -> None:
        """There is nothing to draw."""

    def add_task(self, description: str, start: bool = True, total: float | None = 100.0, *a: Any, **k: Any) -> TaskID:
        _write_line(bar=description, total=total)
        return super().add_task(description, start, total, *a, **k)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        _write_line(advance=int(advance))
        super().advance(task_id, advance)

    def update(self, task_id: TaskID, *, description: str | None = None, **changes: Any) -> None:
        if description is not None:
            _write_line(status=description.partition(" · ")[2])
        super().update(task_id, description=description, **changes)

    def remove_task(self, task_id: TaskID) -> None:
        _write_line(end=int(task_id))
        super().remove_task(task_id)


def _write_line(**said: Any) -> None:
    sys.stdout.write(f"{MARK}{json.dumps(said)}\n")
    sys.stdout.flush()
