"""Starting the server: from a run's folder to a process that answers."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy.exc import SQLAlchemyError

from discreet.aggregation.task import Task
from discreet.data.shown_articles import ShownArticles
from discreet.database import problem_of, shown_database
from discreet.errors import DiscreetError, InputError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Schedule
from discreet.protocol.check import SCHEMA
from discreet.serving.about import Offer, Ranking, learns_from_reports, read_qualities
from discreet.serving.addresses import Proxies
from discreet.serving.database_tables import open_engine
from discreet.serving.endpoints import Extension, create_app
from discreet.serving.feeds.follow import Feeds, FeedSettings
from discreet.serving.foreign_pages import ForeignPages
from discreet.serving.front_page_head import FrontPageHead
from discreet.serving.http import http_server, within_reach
from discreet.serving.learning.experiment import Experiment
from discreet.serving.learning.sum_weights import learns_head
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import configure
from discreet.serving.model import Served
from discreet.serving.public_model import MAX_REFERENCE, PublicModel
from discreet.serving.server_store import ServerStore, Waiting
from discreet.serving.service import Service

DATABASE = "serving.sqlite"
"""The database, in the folder of the run or, without one, in the working directory."""
_WEEK = timedelta(days=7)
_TITLE, _ABSTRACT, _CATEGORY = (
    SCHEMA["article"]["properties"][name]["maxLength"] for name in ("title", "abstract", "category")
)
_DIRECTED = 5000
"""Articles in whose main directions a head is learnt."""
_START = datetime(2026, 1, 1, tzinfo=UTC)


def open_service(
    run: Path | None,
    model: Served | None,
    *,
    database: str | Path | None = None,
    data: ShownArticles | None = None,
    ranking: Ranking = "local",
    reports: bool = True,
    may_be_empty: bool = False,
    epoch: timedelta | None = None,
    as_of: int | None = None,
    diversity: float = Offer.diversity,
    report_days: int = Offer.report_days,
    feeds: FeedSettings | None = None,
    text: str = "auto",
    popularity_weight: float = 1.0,
    weights: tuple[float, ...] | None = None,
    training: Guarantee | None = None,
    head: FrontPageHead | None = None,
    sums: Sequence[str] = (),
    experiment: Experiment | None = None,
    tasks: Sequence[Task] = (),
    warning: str = "",
    clock: Callable[[], float] = time.time,
) -> Service:
    """A service of a run's model, its catalogue filled from `data`, or from `feeds`, if it never had an article.

    Without a model articles are ranked with public weights, their titles encoded by `text`, and with the popularity
    that sums teach, weighted; or with `weights` and a `head` that a run has learnt, which cost its readers `training`.
    `sums` says in plain sentences what devices contribute to, `tasks` are the terms of it, and `warning` is what
    everybody must know of it first; `experiment` has the ways to rank of which each device draws one.
    `epoch` is how long the public epochs last, a week unless said otherwise; it is settled when a database is first
    used. `as_of` moves the times of `data` so that it ends at this moment. `clock` tells seconds since 1970.
    """
    place = database if database is not None else (run or Path()) / DATABASE
    try:
        store = ServerStore(open_engine(place))
        followed = Feeds(store, feeds or FeedSettings(), clock=clock)
        if store.is_empty():
            if data is not None:
                store.put_articles(first_articles(data, as_of))
            else:
                followed.fill()
        store.require_room()
        if store.is_empty() and (model is None or not may_be_empty):
            store.close()
            raise DiscreetError(
                f"{shown_database(place)}: the catalogue is empty; fill it from a feed with --feed, or from a data set"
                " with --data, by 'discreet serve', or with 'discreet articles add'"
            )
        if model is None:
            begins = head is None and any(map(learns_head, tasks))
            model = public_model(store, text, popularity_weight, weights, training, head, begins_head=begins)
        offer = Offer(
            ranking,
            _schedule(store, epoch),
            reports and learns_from_reports(model, ranking),
            diversity=diversity,
            qualities=None if run is None else read_qualities(run),
            report_days=report_days,
            sums=tuple(sums),
            experiment=experiment,
            tasks=tuple(tasks),
            warning=warning,
        )
        return Service(model, store, offer, clock, feeds=followed)
    except SQLAlchemyError as error:
        raise DiscreetError(f"{shown_database(place)}: the database cannot be used ({problem_of(error)})") from error


def public_model(
    store: ServerStore,
    text: str,
    popularity_weight: float = 1.0,
    weights: tuple[float, ...] | None = None,
    training: Guarantee | None = None,
    head: FrontPageHead | None = None,
    *,
    begins_head: bool = False,
) -> PublicModel:
    """The model of `front_page`. Its reference titles are the first that a database has had, and stay.

    With `begins_head` sums teach a head that begins at zero. Its directions stay, too, for as long as everything else
    of the model is the same.
    """
    titles = sorted({title for title, *_ in store.titles(MAX_REFERENCE) if title})
    reference = json.loads(store.setting("reference titles", json.dumps(titles)))
    public = PublicModel(tuple(reference), text, popularity_weight, training=training, head=head)
    public = public if weights is None else replace(public, weights=weights)
    if not begins_head:
        return public
    name = f"head of {public.version}"
    kept = store.known_setting(name)
    if kept is None:
        found = store.titles(_DIRECTED)
        vectors, places = public.title_vectors([title for title, *_ in found]), [place for _, *place in found]
        first = FrontPageHead.of_articles(vectors, [(one, other) for one, other in places], public.text_centre)
        kept = store.setting(name, first.to_text())
    return replace(public, head=FrontPageHead.from_text(kept))


def first_articles(data: ShownArticles, as_of: int | None = None) -> Iterator[Waiting]:
    """The articles of a data set, with when each was first shown and how often.

    With `as_of` all times are moved so that the last impression was at that moment.
    """
    a = data.articles
    later = 0 if as_of is None else as_of - data.latest
    published = np.where(a.published >= 0, a.published + later, -1)
    for row in range(len(a)):
        numbers = int(published[row]), int(data.first_shown[row]) + later, int(data.times_shown[row])
        texts = a.titles[row][:_TITLE], a.abstracts[row][:_ABSTRACT], a.categories[row][:_CATEGORY]
        yield Waiting(a.ids[row], *texts, *numbers, section=a.subcategories[row][:_CATEGORY])


def run_server(
    service: Service,
    listener: socket.socket,
    *,
    limits: ServerLimits | None = None,
    proxies: Proxies | None = None,
    admin_token: str | None = None,
    extend: Extension | None = None,
    foreign: ForeignPages | None = None,
    level: str = "info",
) -> None:
    """Serve until the process is told to stop (SIGTERM or Ctrl-C), then finish what was begun."""
    configure(level)
    app = create_app(service, within_reach(limits or ServerLimits()), admin_token, proxies, extend, foreign)
    http_server(app).run([listener])


def read_token(path: Path) -> str:
    """The administrator's token: the first line of a file."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read as a token ({error})") from error
    if len(token) < 16 or any(character.isspace() for character in token):
        raise InputError(path, "must hold one token of at least 16 characters; make one with 'openssl rand -hex 32'")
    return token


def _schedule(store: ServerStore, epoch: timedelta | None) -> Schedule:
    """The public epochs, kept in the database, since devices have paid by them."""
    fields = json.loads(store.setting("schedule", json.dumps(Schedule(_START, epoch or _WEEK).to_json())))
    schedule = Schedule(datetime.fromisoformat(fields["start"]), timedelta(seconds=fields["length_seconds"]))
    if epoch not in (None, schedule.length):
        store.close()
        raise DiscreetError(f"the epochs of this database last {schedule.length}, and devices count by them; keep that")
    return schedule
