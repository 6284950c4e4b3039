"""Exposure that the publisher tells: how often each article was in a slate that was sent, and what of it is summed.

A slate of C articles gives each of them 1/C. Totals only grow; of each task the database knows the total at which an
article was last due, and that of the last window that had cells, so what it was shown since is a difference. Which
articles are due is decided as in the simulator (`methods.front_page.held`). All of it is public: no click is in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, func, literal, select

from discreet.aggregation.aggregator_noise import noise_deviation
from discreet.aggregation.task import DAY, Task
from discreet.methods.front_page.held import is_due
from discreet.serving.article_names import resolve
from discreet.serving.database_tables import articles, due, exposure, pending
from discreet.serving.server_store import LISTED, ServerStore


@dataclass(frozen=True)
class LoggedSlate:
    """Articles that were shown together, by ids or addresses, and how often."""

    articles: tuple[str, ...]
    shown: int = 1


def add_slates(store: ServerStore, slates: Iterable[LoggedSlate]) -> None:
    """Add slates that were sent to the totals; an article that is twice in a slate counts once."""
    more: defaultdict[str, float] = defaultdict(float)
    given = list(slates)
    ids = resolve(store, {name for slate in given for name in slate.articles})
    for slate in given:
        different = dict.fromkeys(ids[name] for name in slate.articles)
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
    """What the publisher told of the listed articles, and which of them are the cells of a window.

    Attributes:
        listed: Articles, due or not.
        totals: Of each the exposure by now.
        last_due: Of each the exposure when it was last due.
        told: Of each the exposure at the last window that had cells.
        rows: Which are due.
    """

    listed: Sequence[str]
    totals: NDArray[np.float64]
    last_due: NDArray[np.float64]
    told: NDArray[np.float64]
    rows: NDArray[np.int64]

    @property
    def cells(self) -> list[str]:
        """The articles that are due."""
        return [self.listed[row] for row in self.rows.tolist()]

    @property
    def exposure(self) -> NDArray[np.float64]:
        """Of each cell the exposure since it was last due."""
        return (self.totals - self.last_due)[self.rows]

    @property
    def shown(self) -> dict[str, float]:
        """What was shown since the last window that had cells, and its exposure in that time."""
        more = self.totals - self.told
        return {self.listed[row]: float(more[row]) for row in np.flatnonzero(more > 0).tolist()}


def take_over(connection: Connection, insert: Any, task: str) -> None:
    """Let a new task begin where those before it ended: its sums have no clicks on what was shown earlier."""
    if connection.execute(select(due.c.task).where(due.c.task == task).limit(1)).first() is None:
        ended = select(literal(task), due.c.article, func.max(due.c.total), func.max(due.c.told))
        ended = ended.where(due.c.task != task).group_by(due.c.article)
        connection.execute(
            insert(due).from_select(["task", "article", "total", "told"], ended).on_conflict_do_nothing()
        )


def due_cells(connection: Connection, task: Task, window: int, listed: Sequence[str]) -> DueCells:
    """The listed articles that are due in a window; those that were shown most, if there is no room for all."""
    totals: dict[str, float] = dict(connection.execute(select(exposure)).all())
    mine = connection.execute(select(due.c.article, due.c.total, due.c.told).where(due.c.task == task.id.hex()))
    before: dict[str, tuple[float, float]] = {article: (total, told) for article, total, told in mine}
    total = np.array([totals.get(article, 0.0) for article in listed])
    last_due, told = np.array([before.get(article, (0.0, 0.0)) for article in listed]).reshape(-1, 2).T
    shown = total - last_due
    closes_day = task.begins(window + 1) % DAY == 0
    rows = np.flatnonzero(is_due(shown, noise_deviation(task), closes_day=closes_day))
    rows = np.sort(rows[np.argsort(-shown[rows], kind="stable")[: task.length]])
    return DueCells(listed, total, last_due, told, rows)


def settle_due(connection: Connection, insert: Any, task: str, found: DueCells) -> None:
    """Write down which cells have been due and what was told, in the transaction that settles them.

    A window without any cell has no sum: what was shown in it is told with the next one.
    """
    if not len(found.rows):
        return
    last_due = found.last_due.copy()
    last_due[found.rows] = found.totals[found.rows]
    add = insert(due)
    new = {"total": add.excluded.total, "told": add.excluded.told}
    changed = np.flatnonzero((found.totals > found.told) | (last_due > found.last_due)).tolist()
    rows = [
        {"task": task, "article": found.listed[row], "total": float(last_due[row]), "told": float(found.totals[row])}
        for row in changed
    ]
    connection.execute(add.on_conflict_do_update(index_elements=["task", "article"], set_=new), rows)


def forget_exposure(connection: Connection) -> None:
    """Delete what is known of articles that are neither listed nor waiting."""
    here = select(articles.c.id).where(articles.c.state == LISTED).union(select(pending.c.id))
    for table in (exposure, due):
        connection.execute(delete(table).where(table.c.article.not_in(here)))
