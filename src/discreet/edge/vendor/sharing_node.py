"""A vendor's node in a job of sharing: it opens the vendor's ratings or purchases, and answers each round once.

**Nothing is refused for what users rated or bought.** The data is read before any message of a server; what does not
fit the job is left out or moved to the ends of its scale; and if the program fails over it, noise goes out alone.

**All vendors or none.** The noise is counted for all of them, and a vendor's own part would not hide its users. If one
sum went without vendor v and another, of the same answers, with it, their difference would be v's answer alone. So a
vendor contributes only to a sum whose quorum is all vendors, by the way that the job names: the secure sum, or two
aggregators, of whom one may collude with vendors. A vendor that leaves stops the round until it is back.

**The same answer again.** A sum that failed is asked for again. The vendor then gives the very vector that it gave
before (`contribution_record`), masked afresh, which costs nothing more. It refuses another
question in the place of that one.

**ε for life.** A job is charged as a whole (`Spending`) with its first answer; ε of all jobs ever charged add up, and
one that would go beyond what the vendor allows is refused when it is opened, before any vendor has given anything.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

import numpy as np

from discreet.aggregation.contribution import Contribution
from discreet.data.purchases import Purchases
from discreet.data.ratings import Ratings
from discreet.edge.node.spending import Spending
from discreet.edge.vendor.contribution_record import ContributionRecord, RecordedContribution
from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
from discreet.errors import DiscreetError
from discreet.nodes import Assignment, Contribute, OpenJob
from discreet.nodes.configuration import NodeSettings
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.progress import notice
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.sharing_rounds import Round, Vendor
from discreet.vendors.sharing.tasks import SharingTask

BOOK = "shared"
"""The folder of the book in the node's folder."""
_log = logging.getLogger(__name__)


def job_opener(settings: NodeSettings) -> OpenJob:
    """How a vendor's node opens jobs, on the vendor's own conditions. Its ratings are read now.

    Raises:
        InputError: the ratings cannot be read.
    """
    ratings = vendor_ratings(settings)

    def open_job(description: bytes) -> Contribute:
        job = ShareJob.from_bytes(description)
        if settings.number not in job.nodes:
            raise DiscreetError(f"node {settings.number} is not one of the job's vendors")
        if job.feedback == "explicit" and isinstance(ratings, Purchases):
            raise DiscreetError(f"node {settings.number} hosts purchases, and the job is about ratings")
        spending, promised = Spending(settings.folder / "spent", settings.max_epsilon), job.guarantee()
        spending.check(job.digest, promised)
        if settings.noise != "secure" and job.seed is None:
            raise DiscreetError(f"node {settings.number} is set to simulated noise, and the job has no seed for it")
        notice(
            f"node {settings.number}: '{job.name}', {promised}, {settings.noise} noise, {len(job.nodes)} vendors,"
            f" colluding {job.colluders}"
        )
        book = ContributionRecord(settings.folder / BOOK)
        return VendorNode(settings, job, spending, book, on_catalogue(ratings, job)).contribute

    return open_job


@dataclass(frozen=True, eq=False)
class VendorNode:
    """A job that was opened. All that must outlive a restart is in the book."""

    settings: NodeSettings
    job: ShareJob
    spending: Spending
    book: ContributionRecord
    ratings: Ratings
    lock: threading.Lock = field(default_factory=threading.Lock)

    def contribute(self, assignment: Assignment) -> Contribution:
        """The answer to a round: a new one, or the one that was given for it before."""
        vendors = len(self.job.nodes)
        if assignment.invited != self.job.nodes or assignment.quorum != vendors:
            raise DiscreetError(
                f"a sum of at least {assignment.quorum} of the nodes {assignment.invited} has too little noise;"
                f" all {vendors} vendors must be in it, and nobody else"
            )
        if assignment.aggregation != self.job.aggregation:
            raise DiscreetError(f"the job is summed by {self.job.aggregation}, not by {assignment.aggregation}")
        task = SharingTask.from_bytes(assignment.task, self.job)
        with self.lock:
            answer = self._answer(assignment.task, task)
            self.spending.charge(self.job.digest, self.job.guarantee())
        return Contribution(answer, self.job.guarantee())

    def _answer(self, sent: bytes, task: SharingTask) -> Integers:
        """The kept answer, or a new one, which is kept when this returns."""
        given = self.book.given(self.job)
        if not given and self.spending.charged(self.job.digest):
            raise DiscreetError("what this vendor gave to the job before is lost; share again, under another name")
        if task.number < len(given):
            if given[task.number].task != sent:
                raise DiscreetError(f"round {task.number + 1} was another question before, which was answered")
            return given[task.number].values
        if task.number > len(given):
            raise DiscreetError(f"round {task.number + 1} comes after round {len(given)}, which was the last")
        self.spending.check(self.job.digest, self.job.guarantee())
        try:
            answer = self._vendor(given).answer(_Unfailing(task.round)).values
        except ValueError as error:
            raise DiscreetError(str(error)) from error
        self.book.keep(self.job, [*given, RecordedContribution(sent, answer)])
        return answer

    def _vendor(self, given: list[RecordedContribution]) -> Vendor:
        vendor = Vendor(self.ratings, self.job.budget, self._noise())
        for one in given:
            asked = SharingTask.from_bytes(one.task, self.job).round
            vendor.answered_before(asked, asked.length(len(self.job.items)))
        return vendor

    def _noise(self) -> Noise:
        if self.settings.noise == "secure":
            return SecureNoise()
        sources = np.random.SeedSequence(self.job.seed).spawn(len(self.job.nodes))
        return SimulatedNoise(sources[self.job.nodes.index(self.settings.number)])


@dataclass(frozen=True, eq=False)
class _Unfailing:
    """A round whose contribution is nothing where the program fails over the ratings: noise goes out alone."""

    asked: Round

    @property
    def share(self) -> float:
        return self.asked.share

    @property
    def sensitivity(self) -> float:
        return self.asked.sensitivity

    def contribution(self, ratings: Ratings) -> Integers:
        try:
            return self.asked.contribution(ratings)
        except Exception:
            _log.exception("nothing is contributed to a round, for the ratings here cannot be used")
            return np.zeros(self.length(len(ratings.items)), np.int64)

    def length(self, items: int) -> int:
        return self.asked.length(items)
