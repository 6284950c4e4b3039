"""Progress bars and notices on standard error.

Library code calls `track` and `notice` without knowing whether anybody is: both are silent unless a command line
has opened `shown()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import repeat
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")

_DAY_SECONDS = 86_400.0
"""The time left is told from the steps of so long: one step may take hours, and rich's 30 seconds would see none."""

_progress: ContextVar[Progress | None] = ContextVar("discreet_progress", default=None)
_verbose: ContextVar[bool] = ContextVar("discreet_verbose", default=False)
_following: ContextVar[int] = ContextVar("discreet_following", default=0)
_write: ContextVar[Callable[[str], None] | None] = ContextVar("discreet_notices", default=None)
_said: ContextVar[set[str] | None] = ContextVar("discreet_said", default=None)


@contextmanager
def shown() -> Iterator[None]:
    """Show progress and notices on standard error inside this block (bars only where it is a terminal)."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=_DAY_SECONDS,
    )
    with shown_by(progress):
        yield


@contextmanager
def shown_by(progress: Progress) -> Iterator[None]:
    """Let `progress` show bars and notices inside this block."""
    token, quiet, said, write = (
        _progress.set(progress),
        _verbose.set(_verbose.get()),
        _said.set(set()),
        _write.set(None),
    )
    try:
        yield
    finally:
        progress.stop()
        _write.reset(write)
        _said.reset(said)
        _progress.reset(token)
        _verbose.reset(quiet)


def write_notices(write: Callable[[str], None]) -> None:
    """Give notices to a log, and show no bars, until the end of the `shown()` block."""
    if _progress.get() is not None:
        _progress.set(None)
        _write.set(write)


@contextmanager
def hidden() -> Iterator[None]:
    """Show no bars and no notices inside this block."""
    token = _progress.set(None)
    try:
        yield
    finally:
        _progress.reset(token)


def be_verbose() -> None:
    """Show details until the end of the `shown()` block."""
    _verbose.set(True)


def is_shown() -> bool:
    """Whether anybody sees bars and notices."""
    return _progress.get() is not None


def is_verbose() -> bool:
    """Whether details are asked for."""
    return _verbose.get()


def track(items: Iterable[T], what: str, total: int | None = None, sizes: Iterable[int] | None = None) -> Iterator[T]:
    """Yield `items`, advancing a bar labelled `what`. `total` is needed only where `items` has no length.

    With `sizes` the bar counts what is in the items, as many in each.
    """
    progress = _progress.get()
    if progress is None or progress.disable:
        yield from items
        return
    if sizes is not None:
        sizes = list(sizes)
        total = sum(sizes)
    elif total is None and isinstance(items, Sized):
        total = len(items)
    progress.start()
    task = progress.add_task(what, total=total)
    try:
        for item, size in zip(items, repeat(1) if sizes is None else sizes, strict=False):
            yield item
            progress.advance(task, size)
    finally:
        progress.remove_task(task)
        if not progress.tasks:
            progress.stop()


@contextmanager
def bars_aside() -> Iterator[None]:
    """Take the bars away inside this block, which prints to the same terminal."""
    progress = _progress.get()
    live = progress is not None and not progress.disable and bool(progress.tasks)
    if progress is not None and live:
        progress.stop()
    try:
        yield
    finally:
        if progress is not None and live:
            progress.start()


def status(text: str) -> None:
    """Put a few words behind the label of the innermost bar."""
    progress = _progress.get()
    if progress is not None and progress.tasks:
        task = progress.tasks[-1]
        label = task.description.split(" · ")[0]
        progress.update(task.id, description=f"{label} · {text}")


def detail(message: str) -> None:
    """Say one line if details were asked for (`--verbose`)."""
    if _verbose.get():
        notice(message)


def notice(message: str) -> None:
    """Say one line on standard error, as it is: square brackets are no markup."""
    progress, write = _progress.get(), _write.get()
    if write is not None:
        write(message)
    elif progress is not None:
        progress.console.print(message, style="dim", highlight=False, markup=False, soft_wrap=True)


def notice_once(message: str) -> None:
    """Say one line that several parts of the work have to say, once in a `shown()` block."""
    said = _said.get()
    if said is not None and message not in said:
        said.add(message)
        notice(message)


LONG_SECONDS = 60.0
"""Work that takes longer is worth an estimate beforehand."""


@contextmanager
def followed_by(trainings: int) -> Iterator[None]:
    """Let `say_time_left` know how many trainings follow the one in this block."""
    token = _following.set(trainings)
    try:
        yield
    finally:
        _following.reset(token)


def say_time_left(rounds: int, each: float) -> None:
    """Say how long so many rounds will take, at so many seconds each, and the trainings after them; if that is long."""
    left, following = rounds * each, _following.get()
    if left * (1 + following) <= LONG_SECONDS:
        return
    others = "1 more training, if it is" if following == 1 else f"{following} more trainings, if they are"
    more = f"; with {others} like this one, about {in_short(left * (1 + following))}"
    notice(f"{rounds} rounds are left: about {in_short(left)}{more if following else ''}")


def in_short(seconds: float) -> str:
    """A time to wait in words: 40 s, 3 min, 2.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
