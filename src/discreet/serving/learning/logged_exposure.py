"""Exposure that the publisher tells: how often each article was in a slate that was sent, and what of it is summed.

A slate of C articles gives each of them 1/C. Totals only grow; of each task the database knows the total at which an
article was last due, so what it was shown since is a difference. Which articles are due is decided as in the simulator
(`methods.front_page.held`). All of it is public: no click is in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.task import DAY, Task
from discreet.methods.front_page.held import is_due
from discreet.serving.database_tables import articles, due, exposure, pending
from discreet.serving.server_store import LISTED, ServerStore


@dataclass(frozen=True)
class LoggedSlate:
    """Articles that were shown together, and how often."""

    articles: tuple[str, ...]
    shown: int = 1


def add_slates(store: ServerStore, slates: Iterable[LoggedSlate]) -> None:
    """Add slates that were sent to the totals; an article that is twice in a slate counts once."""
    more: defaultdict[str, float] = defaultdict(float)
    for slate in slates:
        different = dict.fromkeys(slate.articles)
        for article in different:
            more[article] += slate.shown / len(different)
    if not more:
        return
    add = store.insert(exposure)
    summed = {"total": exposure.c.total + add.excluded.total}
    rows = [{"article": article, "total": value} for article, value in sorted(more.items())]
    with store.engine.begin() as connection:
        connection.execute(add.on_conflict_do_update(index_elements=["article"], set_=summed), rows)


@dataclass(frozen=True, eq=False)
class DueCells:
    """The cells of a window, their exposure since they were last due, and their totals by now."""

    cells: list[str]
    shown: NDArray[np.float64]
    totals: NDArray[np.float64]


def due_cells(connection: Connection, task: Task, window: int, listed: Sequence[str]) -> DueCells:
    """The listed articles that are due in a window; those that were shown most, if there is no room for all."""
    totals: dict[str, float] = dict(connection.execute(select(exposure)).all())
    mine = select(due.c.article, due.c.total).where(due.c.task == task.id.hex())
    before: dict[str, float] = dict(connection.execute(mine).all())
    total = np.array([totals.get(article, 0.0) for article in listed])
    shown = total - np.array([before.get(article, 0.0) for article in listed])
    closes_day = task.begins(window + 1) % DAY == 0
    rows = np.flatnonzero(is_due(shown, noise_deviation(task), closes_day=closes_day))
    rows = np.sort(rows[np.argsort(-shown[rows], kind="stable")[: task.length]])
    return DueCells([listed[row] for row in rows.tolist()], shown[rows], total[rows])


def settle_due(connection: Connection, insert: Any, task: str, found: DueCells) -> None:
    """Write down that cells have been due, in the transaction that settles them."""
    if not found.cells:
        return
    add = insert(due)
    new = {"total": add.excluded.total}
    rows = [
        {"task": task, "article": article, "total": total}
        for article, total in zip(found.cells, found.totals.tolist(), strict=True)
    ]
    connection.execute(add.on_conflict_do_update(index_elements=["task", "article"], set_=new), rows)


def forget_exposure(connection: Connection) -> None:
    """Delete what is known of articles that are neither listed nor waiting."""
    here = select(articles.c.id).where(articles.c.state == LISTED).union(select(pending.c.id))
    for table in (exposure, due):
        connection.execute(delete(table).where(table.c.article.not_in(here)))
