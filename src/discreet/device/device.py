"""A reader's device: keeps the clicks, and turns them into releases that were paid for first."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.device.account import DeviceStatement, open_ledger
from discreet.device.catalogue import Article, Catalogue, Ranked, rank
from discreet.device.history import Click, History, SketchPlan, Slate
from discreet.device.reports import label, label_mechanism, sketch_mechanism
from discreet.device.settings import Settings
from discreet.device.terms import Terms
from discreet.privacy.ledger import Answer, BudgetExhausted
from discreet.privacy.mechanisms.base import Mechanism
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release

MOST_SKETCHES = 128
"""How many epochs back sketches are made and sent: as many as a server takes."""


MOST_CLICKS = 1000
"""From how many clicks at most a sketch is computed where their number is told: as many as a server takes."""


@dataclass(frozen=True)
class Sketch:
    """The release of one epoch. `clicks`, how many it was computed from, is None where that is a secret."""

    epoch: int
    clicks: int | None
    release: bytes
    epsilon: float


class Device:
    """What a reader's device keeps in a folder and what it may tell.

    The first terms' lifetime ε, adjacency and schedule hold for the device's life. If a publisher comes with another
    adjacency or schedule, nothing more is released (`stopped` says why); what was released before still serves.

    Args:
        folder: Where history and ledger live. Readable by its owner only.
        terms: The publisher's terms.
        catalogue: Its articles.
        noise: Where randomness comes from.
        clock: Seconds since 1970.
        random_id: Makes names that say nothing: 32 hexadecimal digits.
    """

    def __init__(
        self,
        folder: Path,
        terms: Terms,
        catalogue: Catalogue,
        *,
        noise: SecureNoise | None = None,
        clock: Callable[[], float] = time.time,
        random_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        folder = Path(folder)
        self.terms = terms
        self.catalogue = catalogue
        self.history = History(folder / "history.sqlite")
        self._ledger, self.stopped, self.recovered = open_ledger(folder / "ledger", terms, clock)
        self._noise = noise or SecureNoise()
        self._clock = clock
        self._random_id = random_id
        self._sketched: dict[int, Sketch] = {}
        self._first_epoch = self._first_not_forgotten()

    @property
    def settings(self) -> Settings:
        """The reader's choices."""
        kept = self.history.setting("choices")
        return Settings() if kept is None else Settings.from_json(json.loads(kept))

    @settings.setter
    def settings(self, choices: Settings) -> None:
        choices.require_within(self.terms)
        self.history.keep_setting("choices", json.dumps(choices.to_json()))

    def current_epoch(self) -> int:
        """The epoch of the public schedule that a click of this moment belongs to."""
        return self._ledger.current_epoch()

    def clicked(self, article_id: str, slate_id: str | None = None) -> None:
        """Remember a click; `slate_id` names the slate it was made in, if that came from the server.

        An article that is not in the catalogue counts on topic 0: every click must count somewhere.
        """
        article = self.catalogue.get(article_id) or Article(article_id, "", "", 0, b"", 0.0)
        self.history.add_click(
            Click(
                time=int(self._clock()),
                epoch=self.current_epoch(),
                article=article_id,
                category=article.category,
                is_open=int(article.category in self.settings.open_categories),
                slate=slate_id,
                space=self.terms.space,
                topic=article.topic,
                vector=article.vector,
            )
        )

    def sketches(self) -> list[Sketch]:
        """A sketch of each finished epoch, made when it is first asked for and then kept.

        Asking again releases nothing new. Where the budget does not allow a new one, the old ones answer. An epoch
        without sensitive clicks has none, unless their number is a secret: then it has noise alone. Sketches in an
        older topic space are not among them, and their epochs are never sketched again.
        """
        if not self.settings.makes_sketches(self.terms):
            return []
        current = self.current_epoch()
        first = max(self._first_epoch, current - MOST_SKETCHES, 0)
        made = (self._sketched.get(epoch) or self._sketch(epoch) for epoch in range(first, current))
        return [sketch for sketch in made if sketch is not None]

    def open_counts(self) -> list[int] | None:
        """How many clicks on open categories lie on each topic, exactly; None if there are none. Not protected."""
        clicks = [click for click in self.history.clicks() if click.is_open]
        return np.bincount(self._topics(clicks), minlength=self.terms.topics).tolist() if clicks else None

    def label(self, slate: Slate, clicked: Sequence[str]) -> Release | None:
        """The label of one impression, for the slate as the server sent it: made once, then kept.

        It is computed from the clicks that were made in the epoch of the slate's first click, of which one is drawn
        at random. None if there is nothing to report: no click, a slate of one article, a reader or a publisher who
        does not want labels, or no budget left.
        """
        made = [click for click in self.history.clicks(slate=slate.id) if click.article in set(clicked)]
        unknown = set(clicked) - {click.article for click in made}
        if unknown or not set(clicked) <= set(slate.articles):
            raise ValueError(f"no click on {sorted(unknown) or list(clicked)} was remembered in slate {slate.id!r}")
        if not made or len(slate.articles) < 2 or not self.settings.makes_labels(self.terms) or self.stopped:
            return None
        epoch = min(click.epoch for click in made)
        places = sorted({slate.articles.index(click.article) for click in made if click.epoch == epoch})
        mechanism = label_mechanism(len(slate.articles), self.terms.epsilon_label)
        try:
            answer = self._release(
                "label", epoch, mechanism, lambda: label(places, mechanism, self._noise), len(places), part=slate.id
            )
        except BudgetExhausted:
            return None
        return Release.from_bytes(answer.payload)

    def rank(self, candidates: Sequence[Article] | None = None, bases: Sequence[float] | None = None) -> list[Ranked]:
        """Candidates (or the whole catalogue) in the order of their scores for this reader, without what was read.

        Nothing leaves the device for it. `bases` are fresher base scores than the catalogue's.
        """
        candidates = list(self.catalogue) if candidates is None else candidates
        bases = [article.base for article in candidates] if bases is None else bases
        clicks = self.history.clicks()
        known = [(self.catalogue.get(click.article), click) for click in clicks]
        vectors = [
            article.vector if article else click.vector
            for article, click in known
            if article or (click.space == self.terms.space and click.vector)
        ]
        return rank(candidates, bases, vectors, {click.article for click in clicks}, self.terms)

    def forget(self) -> None:
        """The history goes, and all releases kept from it. The debits stay: what was told was told."""
        self._ledger.forget()
        self.history.forget()
        self._sketched.clear()
        self._first_epoch = self._first_not_forgotten()

    def statement(self) -> DeviceStatement:
        """What was told, at which cost, and what is kept here."""
        clicks = self.history.clicks()
        counted = Counter(click.category for click in clicks)
        opened = sum(click.is_open for click in clicks)
        return DeviceStatement(
            self._ledger.statement(), self.settings, len(clicks), opened, dict(counted), self.stopped
        )

    def _sketch(self, epoch: int) -> Sketch | None:
        clicked = self._sensitive(epoch)
        plan = self.history.sketch_plan(epoch) or self._plan(epoch, len(clicked))
        if plan is None or plan.space != self.terms.space:
            return None
        topics = self._topics(clicked)
        mechanism = sketch_mechanism(self.terms.topics, self.terms.epsilon_sketch, hide_length=self.terms.hide_length)
        try:
            answer = self._release(
                "sketch", epoch, mechanism, lambda: mechanism.release(topics, self._noise), len(topics)
            )
        except BudgetExhausted:
            return None
        clicks = None if self.terms.hide_length else plan.clicks
        self._sketched[epoch] = Sketch(epoch, clicks, answer.payload, answer.guarantee.epsilon)
        return self._sketched[epoch]

    def _first_not_forgotten(self) -> int:
        """The first epoch that may have a sketch: that in which the device began, or began anew."""
        statement = self._ledger.statement()
        return max(statement.schedule.epoch_at(statement.since), statement.forgotten_through + 1)

    def _plan(self, epoch: int, clicks: int) -> SketchPlan | None:
        if self.stopped or (not clicks and not self.terms.hide_length):
            return None
        plan = SketchPlan(epoch, self.terms.space, clicks, self._random_id())
        self.history.plan_sketch(plan)
        return plan

    def _sensitive(self, epoch: int) -> list[Click]:
        """The clicks that an epoch's sketch is computed from.

        Of more than a server takes, the latest. Under substitution their number does not change, so neither does which
        of them these are. With one click more or less it would, and two counts would move: there, all are taken.
        """
        clicks = [click for click in self.history.clicks(epoch=epoch) if not click.is_open]
        return clicks if self.terms.hide_length else clicks[-MOST_CLICKS:]

    def _release(
        self,
        purpose: str,
        epoch: int,
        mechanism: Mechanism,
        apply: Callable[[], Release],
        clicks: int,
        part: str = "",
    ) -> Answer:
        """The one place where a mechanism is applied: after the ledger debited that mechanism's own guarantee."""
        guarantee = mechanism.guarantee()

        def make() -> bytes:
            release = apply()
            if release.guarantee != guarantee:
                raise ValueError(f"released {release.guarantee}, but paid for {guarantee}")
            return release.to_bytes()

        return self._ledger.release(purpose, epoch, guarantee, make, part=part, clicks=clicks)

    def _topics(self, clicks: Sequence[Click]) -> list[int]:
        """The topic of each click in the current space; 0 for an article that is known in an older space only."""
        return [self._topic(click) for click in clicks]

    def _topic(self, click: Click) -> int:
        article = self.catalogue.get(click.article)
        topic = article.topic if article else click.topic if click.space == self.terms.space else 0
        return topic if 0 <= topic < self.terms.topics else 0
