"""A reader's device: keeps the clicks, and turns them into releases that were paid for first."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.edge.reader.account import DeviceStatement, open_ledger, stopped
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue, address_of
from discreet.edge.reader.first_page import FIRST_PAGE, FirstPage
from discreet.edge.reader.history import Click, History, ShownSlate, SketchPlan
from discreet.edge.reader.local_ranking import Ranked, rank, shown_features
from discreet.edge.reader.personal_scores import ReadArticle
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.edge.reader.reports import label, label_mechanism, sketch_mechanism
from discreet.edge.reader.views import NO_ARM, VIEW, Arm
from discreet.privacy.ledger import BudgetExhausted, Ledger
from discreet.privacy.mechanisms.mechanism import Mechanism
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release
from discreet.protocol.check import limits


@dataclass(frozen=True)
class OwnSketch:
    """The release of one epoch. `clicks`, how many it was computed from, is None where that is a secret."""

    epoch: int
    clicks: int | None
    release: bytes
    epsilon: float


class Device:
    """What a reader's device keeps in a folder and what it may tell.

    The first terms' lifetime ε, adjacency and schedule hold for the device's life. If a publisher comes with others,
    nothing more is released (`stopped` says why); what was released before still serves, as it was made.

    Args:
        folder: Where history and ledger live. Readable by its owner only.
        terms: The publisher's terms; others may come later.
        catalogue: Its articles; others may come later.
        clock: Seconds since 1970.
        random_id: Makes names that say nothing: 32 hexadecimal digits.
        first_page: What holds of the first places, whatever was read.
    """

    def __init__(
        self,
        folder: Path,
        terms: PublisherTerms,
        catalogue: DeviceCatalogue,
        *,
        clock: Callable[[], float] = time.time,
        random_id: Callable[[], str] = lambda: secrets.token_hex(16),
        first_page: FirstPage = FIRST_PAGE,
    ) -> None:
        self.terms = terms
        self.first_page = first_page
        self.catalogue = catalogue
        self._clock = clock
        self._random_id = random_id
        self._sketched: dict[int, OwnSketch] = {}
        self.history, self._ledger, self.recovered = self._open(Path(folder))

    @property
    def stopped(self) -> str | None:
        """Why nothing is released under the present terms, or None."""
        return stopped(self._ledger, self.terms)

    @property
    def settings(self) -> ReaderSettings:
        """The reader's choices."""
        kept = self.history.setting("choices")
        return ReaderSettings() if kept is None else ReaderSettings.from_json(json.loads(kept))

    @settings.setter
    def settings(self, choices: ReaderSettings) -> None:
        before = self.settings
        if choices.epsilon != before.epsilon:
            choices.require_within(self.terms)
        newly = choices.open_categories - before.open_categories
        opened = [article for article in self.catalogue if article.category in newly]
        self.history.open_articles(opened, choices.open_categories)
        self.history.keep_setting("choices", json.dumps(choices.to_json()))

    def current_epoch(self) -> int:
        """The epoch of the public schedule that a click of this moment belongs to."""
        return self._ledger.current_epoch()

    def show(self, slate: ShownSlate) -> str | None:
        """Remember a slate that came from the server; its name, or None if clicks in it belong to no slate.

        It takes clicks if it is new, names no article twice, and has enough articles of the catalogue that a label
        hides one among them.
        """
        known = self.catalogue.holds(slate.articles)
        if known < limits.min_slate_articles or len(set(slate.articles)) < len(slate.articles):
            return None
        return slate.name if self.history.add_slate(slate, self.current_epoch()) else None

    def clicked(self, name: str, slate_name: str | None = None) -> None:
        """Remember a click on an article, by id or address; `slate_name` is what `show` gave for its slate.

        An article that is not in the catalogue counts on topic 0: every click must count somewhere. So does one that
        leaves it later, if too few articles share its topic now.
        """
        article = self.catalogue.get(name) or Article.unknown(name)
        is_shared = self.catalogue.topic_sizes[article.topic] >= limits.min_topic_articles
        slate = self.history.slate(slate_name) if slate_name is not None else None
        self.history.add_click(
            Click(
                time=int(self._clock()),
                epoch=self.current_epoch(),
                article=article.id,
                category=article.category,
                is_open=int(self.history.is_open(article)),
                slate=slate.name if slate is not None and article.id in slate.articles else None,
                space=self.terms.space,
                topic=article.topic if is_shared else 0,
                vector=article.vector,
                section=article.section,
            )
        )

    def sketches(self) -> list[OwnSketch]:
        """A sketch of each finished epoch, made when it is first asked for and then kept.

        Asking again releases nothing new. Where the budget does not allow a new one, the old ones answer. An epoch
        without sensitive clicks has none, unless their number is a secret: then it has noise alone. Sketches in an
        older topic space are not among them, nor those above the reader's limit. No epoch is ever sketched again.
        """
        if not self.settings.makes_sketches(self.terms):
            return []
        limit = self._limit()
        current = self.current_epoch()
        plans, busy = self.history.plans(), self.history.epochs()
        made = []
        for epoch in range(max(self._ledger.first_epoch(), current - limits.max_sketches, 0), current):
            plan = plans.get(epoch)
            if plan is None and (self.terms.hide_length or epoch in busy):
                plan = self._new_sketch(epoch)
            if plan is not None and plan.space == self.terms.space:
                made.append(self._sketched.get(epoch) or self._kept_sketch(plan))
        return [sketch for sketch in made if sketch is not None and sketch.epsilon <= limit]

    def open_counts(self) -> list[int] | None:
        """How many clicks on open articles lie on each topic, exactly; None if there are none. Not protected."""
        topics = [self._topic(click) for click in self.history.clicks() if click.is_open]
        return np.bincount(topics, minlength=self.terms.topics).tolist() if topics else None

    def finished_slates(self) -> Iterator[tuple[ShownSlate, bytes | None]]:
        """The slates whose labels are due, each with its label, if there is one to report.

        A slate is due when another one followed or its epoch is over.
        """
        current = self.current_epoch()
        for slate in self.history.finished_slates(current):
            clicks = self.history.clicks(slate=slate.name)
            epoch = min((click.epoch for click in clicks), default=current)
            if epoch <= current:
                yield slate, self._label(slate, epoch, [click for click in clicks if click.epoch == epoch])

    @property
    def arm(self) -> Arm:
        """Which way to rank the device has drawn, where the publisher makes an experiment."""
        experiment = self.terms.experiment
        return NO_ARM if experiment is None else experiment.drawn(bytes.fromhex(self.history.secret()))

    def remember_view(self, articles: Sequence[Article]) -> None:
        """Remember what is shown now, the first articles of it, to measure how good it was."""
        shown = articles[:VIEW]
        features = shown_features(shown, self._read(), self.terms).tolist()
        self.history.add_view(int(self._clock()), self.arm.name, [article.id for article in shown], features)

    def rank(
        self,
        candidates: Sequence[Article] | None = None,
        bases: Sequence[float] | None = None,
        current: str | None = None,
    ) -> list[Ranked]:
        """Candidates (or the whole catalogue) in the order of their scores for this reader, without what was read.

        Nothing leaves the device for it. `bases` are fresher base scores than the catalogue's; `current` is the id or
        address of the article that is open.
        """
        candidates = list(self.catalogue) if candidates is None else candidates
        bases = [article.base for article in candidates] if bases is None else bases
        arm = self.arm
        if arm.popularity != 1:
            more = arm.popularity - 1
            both = zip(bases, candidates, strict=True)
            bases = [base + more * article.popularity for base, article in both]
        read = {click.article for click in self.history.clicks()} | ({address_of(current)} if current else set())
        return rank(candidates, bases, self._read(), read, self.terms.in_arm(arm), self.first_page)

    def forget(self) -> None:
        """The history goes, and all releases kept from it. The debits stay: what was sent stays sent."""
        self._ledger.forget()
        self.history.forget()
        self.settings = ReaderSettings(self.settings.epsilon)
        self._sketched.clear()

    def statement(self) -> DeviceStatement:
        """What was sent, what it cost, and what is kept here."""
        clicks = self.history.clicks()
        counted = Counter(click.category for click in clicks)
        opened = sum(click.is_open for click in clicks)
        return DeviceStatement(
            self._ledger.statement(), self.settings, len(clicks), opened, dict(counted), self.stopped
        )

    def _open(self, folder: Path) -> tuple[History, Ledger, bool]:
        history = History(folder / "history.sqlite")
        return history, *open_ledger(folder / "ledger", self.terms, self._clock, history.last_epoch())

    def _kept_sketch(self, plan: SketchPlan) -> OwnSketch | None:
        answer = self._ledger.kept("sketch", plan.epoch)
        if answer is None:
            return None
        sketch = OwnSketch(plan.epoch, plan.told, answer.payload, answer.guarantee.epsilon)
        self._sketched[plan.epoch] = sketch
        return sketch

    def _new_sketch(self, epoch: int) -> SketchPlan | None:
        """Plan an epoch's sketch and make it. An epoch with a plan or a debit is never released again.

        A topic of one or two articles would name them, so there are no sketches while there is one, or no catalogue.
        """
        smallest = min(self.catalogue.topic_sizes.values(), default=0)
        if self.stopped or smallest < limits.min_topic_articles:
            return None
        clicks, terms = self._sensitive(epoch), self.terms
        if (not clicks and not terms.hide_length) or self._ledger.is_paid("sketch", epoch):
            return None
        plan = SketchPlan(epoch, terms.space, None if terms.hide_length else len(clicks), self._random_id())
        self.history.add_plan(plan)
        mechanism = sketch_mechanism(terms.topics, terms.epsilon_sketch, hide_length=terms.hide_length)
        payload = self._release("sketch", epoch, "", mechanism, [self._topic(click) for click in clicks])
        if payload is not None:
            self._sketched[epoch] = OwnSketch(epoch, plan.told, payload, terms.epsilon_sketch)
        return plan

    def _label(self, slate: ShownSlate, epoch: int, clicks: Sequence[Click]) -> bytes | None:
        """One of the clicks in the epoch of the slate's first one, drawn at random, for the slate as it was sent."""
        kept = self._ledger.kept("label", epoch, part=slate.name) if clicks else None
        if kept is not None:
            return kept.payload
        unwanted = self.stopped or not self.settings.makes_labels(self.terms)
        if not clicks or unwanted or self._ledger.is_paid("label", epoch, part=slate.name):
            return None
        places = sorted({slate.articles.index(click.article) for click in clicks})
        mechanism = label_mechanism(len(slate.articles), self.terms.epsilon_label)
        return self._release("label", epoch, slate.name, mechanism, places)

    def _sensitive(self, epoch: int) -> list[Click]:
        """The clicks that an epoch's sketch is computed from.

        Of more than a server takes, the latest. Under substitution their number does not change, so neither does which
        of them these are. With one click more or less it would, and two counts would move: there, all are taken.
        """
        clicks = [click for click in self.history.clicks(epoch=epoch) if not click.is_open]
        return clicks if self.terms.hide_length else clicks[-limits.max_clicks :]

    def _release(self, purpose: str, epoch: int, part: str, mechanism: Mechanism, clicked: list[int]) -> bytes | None:
        """The one place where a release is made: after the ledger debited the mechanism's own guarantee.

        None if the budget, or the reader's own limit, does not allow it.
        """
        guarantee = mechanism.guarantee()

        def make() -> bytes:
            release = self._apply(purpose, epoch, part, mechanism, clicked)
            if release.guarantee != guarantee:
                raise ValueError(f"released {release.guarantee}, but paid for {guarantee}")
            return release.to_bytes()

        limit = self._limit()
        try:
            answer = self._ledger.release(purpose, epoch, guarantee, make, part=part, clicks=len(clicked), limit=limit)
        except BudgetExhausted:
            return None
        return answer.payload

    def _apply(self, purpose: str, epoch: int, part: str, mechanism: Mechanism, clicked: list[int]) -> Release:
        if isinstance(mechanism, SubsetSelection):
            return label(clicked, mechanism, SecureNoise())
        return mechanism.release(clicked, SecureNoise())

    def _limit(self) -> float:
        """The most that a click may cost, as the reader chose."""
        choice = self.settings.epsilon
        return math.inf if choice is None else choice

    def _read(self) -> list[ReadArticle]:
        return [self._as_read(click) for click in self.history.clicks()]

    def _as_read(self, click: Click) -> ReadArticle:
        """The article of a click as the catalogue has it, or as it was; a vector of another space is not known."""
        article = self.catalogue.get(click.article)
        if article is not None:
            return ReadArticle(article.vector, article.category, article.section)
        vector = click.vector if click.space == self.terms.space else b""
        return ReadArticle(vector, click.category, click.section)

    def _topic(self, click: Click) -> int:
        """The topic of a click in the current space; 0 for an article that is known in an older space only."""
        article = self.catalogue.get(click.article)
        topic = article.topic if article else click.topic if click.space == self.terms.space else 0
        return topic if 0 <= topic < self.terms.topics else 0
