"""A served run, apart from HTTP: what each question is answered with."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.exc import SQLAlchemyError

from discreet.errors import DiscreetError
from discreet.protocol.check import limits
from discreet.serving.about import Offer, as_bytes, document
from discreet.serving.api_messages import (
    LabelReport,
    NewArticle,
    RecommendRequest,
    Sketch,
    SketchReport,
    SlateCount,
)
from discreet.serving.article_names import resolve, take_down
from discreet.serving.catalogue_pages import Sent
from discreet.serving.feeds.feed_store import FeedStore
from discreet.serving.feeds.follow import Feeds
from discreet.serving.journal import Journal
from discreet.serving.learning.logged_exposure import LoggedSlate, add_slates
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.learning.sum_weights import learns_weights
from discreet.serving.lease import Lease
from discreet.serving.model import Served
from discreet.serving.ranker import RankingQuery, rank
from discreet.serving.refusal import RequestRefusal
from discreet.serving.server_store import KeptReport, Outcome, ServerStore
from discreet.serving.sketch_terms import SketchTerms, label_positions
from discreet.serving.slates import Slates
from discreet.serving.snapshot import Snapshot
from discreet.serving.status import MeasuredQuality, Running, read_status
from discreet.serving.updater import SnapshotUpdater

_SKEW_EPOCHS = 1
_SECOND = {
    Outcome.OTHER_BODY: "a report with this id is kept already, and its contents are others",
    Outcome.SECOND_SKETCH: "this device has reported on this epoch already; one sketch for each device and epoch",
    Outcome.SECOND_LABEL: "this slate has been reported on already; one label for each slate",
}


class Service:
    """A model, its catalogue, the feeds that it comes from, and what devices may ask and report."""

    def __init__(
        self,
        model: Served,
        store: ServerStore,
        offer: Offer,
        clock: Callable[[], float] = time.time,
        feeds: Feeds | None = None,
    ) -> None:
        self.model, self.store, self.offer, self.feeds = model, store, offer, feeds
        self.lease = Lease(store, f"work for {model.version}")
        self.updater = SnapshotUpdater(
            model,
            store,
            clock,
            diversity=offer.diversity,
            with_popularity=offer.experiment is not None or any(map(learns_weights, offer.tasks)),
            forget_before=lambda: self._epoch() - offer.report_epochs,
            leads=self.lease.held,
        )
        self.versions = ModelVersions(store)
        self._quality = MeasuredQuality(store)
        self.running: Callable[[], Running] = Running
        """What is known of tasks and aggregators, where there are any."""
        self.takes_slates = False
        """Whether the publisher logs which slates were shown."""
        self.journal = Journal(store)
        self.clock = clock
        """Seconds since 1970."""
        self._slates = Slates(store.signing_key(), offer.report_epochs)
        terms = getattr(model, "sketch_terms", None)
        self._terms: SketchTerms = terms or SketchTerms.of_topics(
            len(model.space),
            model.epsilon_sketch,
            model.hide_length,
            limits.max_sketches,
        )
        self._nobody = np.zeros(len(model.space))
        self._about: tuple[Snapshot, Sent] | None = None

    def start(self) -> None:
        """Begin to work in the background."""
        self.updater.start()
        if self.feeds is not None:
            self.feeds.wake, self.feeds.leads = self.updater.wake, self.lease.held
            self.feeds.start()

    def close(self) -> None:
        """Finish what was begun, and let go of the database."""
        if self.feeds is not None:
            self.feeds.close()
        self.journal.close()
        self.updater.close()
        with suppress(SQLAlchemyError):
            self.lease.release()
        self.store.close()

    @property
    def snapshot(self) -> Snapshot:
        """The catalogue now, or a refusal before there is one."""
        self._require_ready()
        return self.updater.snapshot

    def about(self) -> Sent:
        """The answer of /v1/model."""
        snapshot = self.snapshot
        if self._about is None or self._about[0] is not snapshot:
            self._about = (
                snapshot,
                Sent.of(
                    as_bytes(
                        document(self.updater.model, self.offer, snapshot, self.updater.catalogue, self.updater.scale)
                    )
                ),
            )
        return self._about[1]

    def catalogue(self) -> Sent:
        """The list of the catalogue's pages, with the articles to show first."""
        self._require_ready()
        return self.updater.catalogue.listing

    def page(self, name: str) -> Sent:
        """A page of the catalogue."""
        self._require_ready()
        found = self.updater.catalogue.page(name)
        if found is None:
            raise RequestRefusal(404, "no page has this name; ask /v1/catalogue again")
        return found

    def recommend(self, asked: RecommendRequest) -> bytes:
        """The best articles for what was released, as JSON."""
        snapshot, model = self.snapshot, self.model
        self._require_current("space", asked.space, model.space.version)
        interest = self._interest(asked)
        wanted = RankingQuery(asked.limit, asked.category, asked.max_age_hours, asked.diversity or 0.0)
        rows, _ = rank(snapshot, self._nobody if interest is None else interest, wanted, int(self.clock()))
        snapshot.shows[rows] += 1
        free = asked.category is None and asked.max_age_hours is None
        slate, signature = self._slates.sign(model.version, snapshot.names[rows].tolist(), self._epoch(), labelled=free)
        entries = snapshot.shown(rows, details=asked.details)
        head = f'{{"model":"{model.version}","slate":"{slate}","signature":"{signature}","personal":'
        return b'%s%s,"articles":[%s]}' % (head.encode(), b"false" if interest is None else b"true", b",".join(entries))

    async def keep(self, report: LabelReport | SketchReport) -> bool:
        """Check a report and keep it; whether it is new. Refused if it is not what /v1/model asks for."""
        if not self.offer.reports:
            raise RequestRefusal(403, "this server takes no reports")
        kept = self._checked_label(report) if isinstance(report, LabelReport) else self._checked_sketch(report)
        outcome = await self.journal.keep(kept)
        if outcome in _SECOND:
            raise RequestRefusal(409, _SECOND[outcome])
        return outcome is Outcome.KEPT

    def put(self, new: Sequence[NewArticle]) -> None:
        """Let articles wait to be listed."""
        try:
            FeedStore(self.store).put_by_hand(new, int(self.clock()))
        except DiscreetError as error:
            raise RequestRefusal(422, str(error)) from None
        self.updater.wake()

    def take_down(self, name: str, state: str) -> str:
        """Expire or delete an article, named by its id or its address; its id."""
        try:
            article = take_down(self.store, name, state)
        except DiscreetError as error:
            raise RequestRefusal(404, str(error)) from None
        self.updater.wake()
        return article

    def add_slates(self, slates: Sequence[SlateCount]) -> None:
        """Count slates that the publisher has shown."""
        if not self.takes_slates:
            raise RequestRefusal(409, "this server estimates what was shown; start it with --exposure logged")
        add_slates(self.store, (LoggedSlate(tuple(slate.articles), slate.shown) for slate in slates))

    def end_experiment(self) -> None:
        """From now on all devices rank in one way."""
        self.offer, self._about = replace(self.offer, experiment=None), None

    def listing(self, state: str | None, after: str, limit: int) -> list[dict[str, object]]:
        """Articles with their states, in the order of their ids, after one that is named by its id or its address."""
        after = resolve(self.store, [after])[after]
        return [dict(row._mapping) for row in self.store.listing(state, after, limit)]

    def status(self, refused: Mapping[str, int]) -> dict[str, Any]:
        """What was learnt, how good it is, and what it cost; `refused` counts requests that were refused."""
        running = self.running()
        running = replace(running, refused={**refused, **running.refused})
        return read_status(self.store, running, self.clock, self._quality)

    def _interest(self, asked: RecommendRequest) -> NDArray[np.float64] | None:
        if not asked.sketches and asked.open is None:
            return None
        if self.offer.ranking == "local" and asked.sketches:
            raise RequestRefusal(409, "here devices rank by themselves; send no sketches")
        counts, clicks = self._summed(asked.sketches)
        if asked.open is not None:
            if len(asked.open) != len(counts):
                raise RequestRefusal(422, f"open has {len(asked.open)} counts; this space has {len(counts)}")
            counts = counts + np.asarray(asked.open, np.int64)
            clicks += sum(asked.open) if self._terms.counts_clicks else 0
        if clicks > limits.max_clicks_in_all:
            raise RequestRefusal(
                422, f"these are {clicks} clicks; send the sketches of at most {limits.max_clicks_in_all}"
            )
        interest = self.model.interest(counts, clicks if self._terms.counts_clicks else None, len(asked.sketches))
        if not np.isfinite(interest).all():
            raise RequestRefusal(422, "no interest can be computed from these sketches")
        return interest

    def _summed(self, sketches: Sequence[Sketch]) -> tuple[NDArray[np.int64], int]:
        terms = self._terms
        if len(sketches) > terms.max_releases:
            raise RequestRefusal(422, f"at most {terms.max_releases} sketches can be ranked with, not {len(sketches)}")
        if len({sketch.epoch for sketch in sketches}) < len(sketches):
            raise RequestRefusal(422, "two sketches are of the same epoch; send one for each")
        self._require_past(max((sketch.epoch for sketch in sketches), default=0))
        for sketch in sketches:
            terms.require_clicks(sketch.clicks)
        clicks = sum(sketch.clicks or 0 for sketch in sketches)
        return terms.total([sketch.release for sketch in sketches]), clicks

    def _checked_label(self, report: LabelReport) -> KeptReport:
        self._require_current("model", report.model, self.model.version)
        slate = report.slate
        self._slates.require(report.model, slate.id, slate.articles, slate.signature, self._epoch())
        label_positions(report.release, len(slate.articles), self.model.epsilon_label)
        return KeptReport(
            id=report.id,
            kind=report.kind,
            digest=_digest(report),
            version=report.model,
            epoch=self._epoch(),
            received=self._epoch(),
            slate=slate.id,
            articles=json.dumps(slate.articles, ensure_ascii=False),
            release=base64.b64decode(report.release),
        )

    def _checked_sketch(self, report: SketchReport) -> KeptReport:
        self._require_current("space", report.space, self.model.space.version)
        self._require_past(report.epoch)
        self._terms.require_clicks(report.clicks)
        self._terms.total([report.release])
        return KeptReport(
            id=report.id,
            kind=report.kind,
            digest=_digest(report),
            version=report.space,
            epoch=report.epoch,
            received=self._epoch(),
            device=report.device,
            clicks=report.clicks,
            release=base64.b64decode(report.release),
        )

    def _require_ready(self) -> None:
        if not self.updater.ready:
            raise RequestRefusal(503, "the catalogue is being prepared; try again in a moment", retry_after=2)

    def _epoch(self) -> int:
        return max(0, self.offer.schedule.epoch_at(int(self.clock())))

    def _require_past(self, epoch: int) -> None:
        latest = self._epoch() + _SKEW_EPOCHS
        if epoch > latest:
            raise RequestRefusal(
                422, f"epoch {epoch} is in the future (now is {latest - _SKEW_EPOCHS}); set the device's clock"
            )

    def _require_current(self, what: str, given: str, current: str) -> None:
        if given != current:
            raise RequestRefusal(409, f"this server's {what} is {current}; ask /v1/model again", current=current)


def _digest(report: LabelReport | SketchReport) -> bytes:
    text = json.dumps(report.model_dump(), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
