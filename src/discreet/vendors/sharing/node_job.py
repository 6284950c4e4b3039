"""A vendor's node in a job of sharing: it opens the vendor's ratings, and answers each round once.

**All vendors or none.** The noise is counted for all of them, and a vendor's own part would not hide its users. If one
sum went without vendor v and another, of the same answers, with it, their difference would be v's answer alone. So a
vendor contributes only to a secure sum whose quorum is all vendors: one that leaves stops the round until it is back.

**The same answer again.** A sum that failed is asked for anew. The vendor then gives the very vector that it gave
before (`book`), masked afresh, which costs nothing more; another question in the place of that one is refused.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.federated.nodes import Assignment, Contribute
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.progress import notice
from discreet.vendors.sharing.book import Book, Given
from discreet.vendors.sharing.catalogue import on_catalogue, vendor_ratings
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.rounds import Vendor
from discreet.vendors.sharing.tasks import Task, length

BOOK = "shared"
"""The folder of the book in the node's folder."""


class VendorSettings(Protocol):
    """What the vendor itself has decided; no job can change it."""

    @property
    def number(self) -> int:
        """Of its node."""
        ...

    @property
    def folder(self) -> Path:
        """Where the node keeps what it must remember."""
        ...

    @property
    def data(self) -> Path:
        """Its ratings."""
        ...

    @property
    def part(self) -> str | None:
        """None for all of the data; k/N, to try things out, for the k-th of N parts."""
        ...

    @property
    def most_epsilon(self) -> float:
        """ε of a user for life."""
        ...

    @property
    def noise(self) -> str:
        """Either secure, or simulated from the job's seed, which protects nobody."""
        ...


def open_job(settings: VendorSettings, description: bytes) -> Contribute:
    """Take part in a job of sharing, on the vendor's own conditions.

    Raises:
        DiscreetError: it asks for more ε than the vendor allows for life, is about another catalogue or other vendors,
            or is no such job.
    """
    job = ShareJob.from_bytes(description)
    if settings.number not in job.nodes:
        raise DiscreetError(f"node {settings.number} is not one of the job's vendors")
    book = Book(settings.folder / BOOK, settings.most_epsilon)
    book.check(job)
    if settings.noise != "secure" and job.seed is None:
        raise DiscreetError(f"node {settings.number} is set to simulated noise, and the job has no seed for it")
    ratings = on_catalogue(vendor_ratings(settings.data, settings.part), job)
    notice(
        f"sharing '{job.name}': ε = {job.epsilon:g}, δ = {job.delta:g}, {len(job.nodes)} vendors,"
        f" {job.colluders} of whom may collude with one, {len(job.items):,} items, {settings.noise} noise"
    )
    return _Node(settings.number, settings.noise == "secure", job, book, ratings).contribute


@dataclass(frozen=True, eq=False)
class _Node:
    """A job that was opened. All that must outlive a restart is in the book."""

    number: int
    secure: bool
    job: ShareJob
    book: Book
    ratings: Ratings
    lock: threading.Lock = field(default_factory=threading.Lock)

    def contribute(self, assignment: Assignment) -> Integers:
        """The answer to a round: a new one, or the one that was given for it before."""
        vendors = len(self.job.nodes)
        if not assignment.parties == assignment.quorum == vendors:
            raise DiscreetError(
                f"a sum of at least {assignment.quorum} of {assignment.parties} nodes has too little noise;"
                f" all {vendors} vendors must be in it"
            )
        task = Task.from_bytes(assignment.task, len(self.job.items))
        with self.lock:
            given = self.book.given(self.job)
            if task.number < len(given):
                if given[task.number].task != assignment.task:
                    raise DiscreetError(f"round {task.number + 1} was another question before, which was answered")
                return given[task.number].values
            if task.number > len(given):
                raise DiscreetError(f"round {task.number + 1} comes after round {len(given)}, which was the last")
            try:
                answer = self._vendor(given).answer(task.round)
            except ValueError as error:
                raise DiscreetError(str(error)) from error
            self.book.keep(self.job, [*given, Given(assignment.task, answer)])
        return answer

    def _vendor(self, given: list[Given]) -> Vendor:
        vendor = Vendor(self.ratings, self.job.budget, self._noise())
        for one in given:
            asked = Task.from_bytes(one.task, len(self.job.items)).round
            vendor.answered_before(asked, length(asked))
        return vendor

    def _noise(self) -> Noise:
        if self.secure:
            return SecureNoise()
        sources = np.random.SeedSequence(self.job.seed).spawn(len(self.job.nodes))
        return SimulatedNoise(sources[self.job.nodes.index(self.number)])
