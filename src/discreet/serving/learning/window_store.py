"""Windows that have closed, and what was learnt from their sums: each sum is used once, whatever crashes.

A window is written down when it ends, with its cells. Its sum is used in the one transaction that marks the window and
writes what is then known. Whoever crashes before that collects the same sum again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, delete, insert, select, update

from discreet.serving.database_tables import learnt, windows
from discreet.serving.server_store import ServerStore


@dataclass(frozen=True, eq=False)
class ClosedWindow:
    """A window of a task that has ended.

    Attributes:
        task: The task's id, in hexadecimal digits.
        window: Its number.
        end: When it ended, in seconds since 1970.
        cells: The articles that its values stand for.
        share: Of each the share of all exposure that it is taken to have had.
    """

    task: str
    window: int
    end: int
    cells: list[str]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class Learnt:
    """What is known after so many sums; nothing before the first."""

    sums: int
    state: bytes


class WindowStore:
    """The windows of a served catalogue."""

    def __init__(self, store: ServerStore) -> None:
        self._engine, self._insert = store.engine, store.insert

    def close_window(self, closed: ClosedWindow) -> None:
        """Write down a window that has ended; the first who does it settles its cells."""
        row = {
            "task": closed.task,
            "window": closed.window,
            "end": closed.end,
            "cells": json.dumps(closed.cells),
            "share": closed.share.astype("<f8").tobytes(),
            "waits": True,
        }
        with self._engine.begin() as connection:
            connection.execute(self._insert(windows).values(**row).on_conflict_do_nothing())

    def cells(self, task: str, window: int) -> list[str] | None:
        """The cells of a window, if it was written down."""
        query = select(windows.c.cells).where((windows.c.task == task) & (windows.c.window == window))
        with self._engine.connect() as connection:
            found = connection.execute(query).scalar()
        return None if found is None else list(json.loads(found))

    def next_window(self, tasks: Sequence[str]) -> ClosedWindow | None:
        """Of the windows whose sum was not used yet, the one that ended first."""
        mine = windows.c.waits & windows.c.task.in_(tasks)
        with self._engine.connect() as connection:
            row = connection.execute(select(windows).where(mine).order_by(windows.c.end).limit(1)).first()
        if row is None:
            return None
        share = np.frombuffer(row.share, "<f8").astype(np.float64)
        return ClosedWindow(row.task, int(row.window), int(row.end), json.loads(row.cells), share)

    def learnt(self, model: str) -> Learnt:
        """What a model's sums have taught."""
        with self._engine.connect() as connection:
            row = connection.execute(select(learnt.c.sums, learnt.c.state).where(learnt.c.model == model)).first()
        return Learnt(0, b"") if row is None else Learnt(int(row.sums), bytes(row.state))

    def use(self, closed: ClosedWindow, model: str, before: Learnt, state: bytes) -> bool:
        """Mark a window as used and keep what is known then; False if another server was first."""
        with self._engine.begin() as connection:
            if not connection.execute(update(windows).where(_waiting(closed)).values(waits=False)).rowcount:
                return False
            new = {"model": model, "sums": before.sums + 1, "state": state}
            if before.sums == 0:
                connection.execute(insert(learnt).values(**new))
                return True
            mine = (learnt.c.model == model) & (learnt.c.sums == before.sums)
            if not connection.execute(update(learnt).where(mine).values(**new)).rowcount:
                connection.rollback()
                return False
            return True

    def drop(self, closed: ClosedWindow) -> None:
        """Use no sum of a window: there is none."""
        with self._engine.begin() as connection:
            connection.execute(update(windows).where(_waiting(closed)).values(waits=False))

    def forget(self, before: int) -> None:
        """Delete windows that ended before a moment, used or not. What was learnt from them stays."""
        with self._engine.begin() as connection:
            connection.execute(delete(windows).where(windows.c.end < before))


def _waiting(closed: ClosedWindow) -> ColumnElement[bool]:
    return (windows.c.task == closed.task) & (windows.c.window == closed.window) & windows.c.waits
