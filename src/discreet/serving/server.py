"""Starting the server: from a run's folder to a process that answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import uvicorn

from discreet.data.news import NewsData
from discreet.errors import DiscreetError, InputError
from discreet.privacy.ledger import Schedule
from discreet.serving.about import Offer, Ranking, read_qualities
from discreet.serving.app import create_app
from discreet.serving.gate import Limits
from discreet.serving.logs import configure
from discreet.serving.model import Served
from discreet.serving.service import Service
from discreet.serving.store import Store, Waiting
from discreet.serving.tables import open_engine

_WEEK = timedelta(days=7)
_START = datetime(2026, 1, 1, tzinfo=UTC)


def open_service(
    run: Path,
    model: Served,
    *,
    database: str | Path | None = None,
    data: NewsData | None = None,
    ranking: Ranking = "shortlist",
    reports: bool = True,
    may_be_empty: bool = False,
    epoch: timedelta | None = None,
    as_of: int | None = None,
) -> Service:
    """A service of a run's model, its catalogue filled from `data` if it never had an article.

    `epoch` is how long the public epochs last, a week unless said otherwise; it is settled when a database is first
    used. `as_of` moves the times of `data` so that it ends at this moment.
    """
    store = Store(open_engine(database if database is not None else run / "serving.sqlite"))
    if data is not None and store.is_empty():
        store.put_articles(first_articles(data, as_of))
    if store.is_empty() and not may_be_empty:
        store.close()
        raise DiscreetError(f"{run}: the catalogue is empty; pass --data to fill it from a news data set")
    offer = Offer(ranking, _schedule(store, epoch), reports, qualities=read_qualities(run))
    return Service(model, store, offer)


def first_articles(data: NewsData, as_of: int | None = None) -> Iterator[Waiting]:
    """The articles of a data set, with when each was first shown and how often. Clicks are not looked at.

    With `as_of` all times are moved so that the last impression was at that moment.
    """
    count = len(data.articles)
    first, shows = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
    latest = 0
    for part in data.splits.values():
        np.minimum.at(first, part.shown, part.time[part.impression_of_shown])
        shows += np.bincount(part.shown, minlength=count)
        latest = max(latest, int(part.time.max(initial=0)))
    a = data.articles
    never = np.where(a.published >= 0, a.published, latest)
    first = np.where(shows > 0, first, never)
    later = 0 if as_of is None else as_of - latest
    published = np.where(a.published >= 0, a.published + later, -1)
    for row in range(count):
        numbers = int(published[row]), int(first[row]) + later, int(shows[row])
        yield Waiting(a.ids[row], a.titles[row], a.abstracts[row], a.categories[row], *numbers)


def run_server(
    service: Service,
    *,
    host: str,
    port: int,
    limits: Limits,
    admin_token: str | None = None,
    level: str = "info",
) -> None:
    """Serve until the process is told to stop (SIGTERM or Ctrl-C), then finish what was begun."""
    configure(level)
    config = uvicorn.Config(
        create_app(service, limits, admin_token),
        host=host,
        port=port,
        access_log=False,
        log_config=None,
        ws="none",
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
    )
    uvicorn.Server(config).run()


def read_token(path: Path) -> str:
    """The administrator's token: the first line of a file."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read as a token ({error})") from error
    if len(token) < 16 or any(character.isspace() for character in token):
        raise InputError(path, "must hold one token of at least 16 characters; make one with 'openssl rand -hex 32'")
    return token


def _schedule(store: Store, epoch: timedelta | None) -> Schedule:
    """The public epochs, kept in the database, since devices have paid by them."""
    fields = json.loads(store.setting("schedule", json.dumps(Schedule(_START, epoch or _WEEK).to_json())))
    schedule = Schedule(datetime.fromisoformat(fields["start"]), timedelta(seconds=fields["length_seconds"]))
    if epoch not in (None, schedule.length):
        store.close()
        raise DiscreetError(f"the epochs of this database last {schedule.length}, which devices have paid by; keep it")
    return schedule
