"""Audit of vendors' nodes against a server that lies, registered when this module is imported.

Between worlds, one vendor's ratings are others: an item that is in no catalogue, stars off every scale, one user or a
crowd, nothing that fits at all. What the nodes answer must not tell which world it is, whatever they are asked.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import numpy as np

from discreet.audits.audit_registry import Audit, register
from discreet.audits.hostile_nodes import HostileCoordinator
from discreet.audits.node_lies import damaged, json_changed
from discreet.edge.vendor.sharing_node import job_opener
from discreet.errors import DiscreetError
from discreet.nodes import OpenJob
from discreet.nodes.configuration import NodeSettings
from discreet.privacy.guarantee import Status
from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.sharing.contributions import Directions, Floats, Integers
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.sharing_rounds import Opening, Pairs, Projections, Round
from discreet.vendors.sharing.tasks import SharingTask

VENDORS = (1, 2, 3)
ITEMS = ("a", "b", "c", "d", "e", "f")
JOB = ShareJob("films", 2.0, 1e-6, 0, VENDORS, ITEMS, (1.0, 5.0), 3)
PURCHASES = replace(JOB, feedback="implicit", scale=(0.0, 1.0))
RATINGS = (
    "zoe,a,5\nzoe,b,1\nbob,a,4\nbob,c,2\n",
    "zoe,a,5\nzoe,a secret,4\nbob,a,4\nbob,c,2\n",
    "zoe,a,5\nzoe,b,77\nbob,a,-4\nbob,c,2\n",
    "zoe,another secret,5\n",
    "zoe,a,3\n",
    "".join(f"u{n},{item},{1 + (n * k) % 5}\n" for n in range(40) for k, item in enumerate(ITEMS) if (n + k) % 3),
)
"""The first vendor's, in each world."""


@dataclass
class VendorsWorld:
    """Three vendors' nodes, the first with ratings of this world."""

    folder: Path
    ratings: str
    opened: dict[int, OpenJob] = field(default_factory=dict)

    def openers(self) -> Mapping[int, OpenJob]:
        """How they open jobs; what they gave and spent in an earlier conversation is forgotten."""
        for node in VENDORS:
            own = self.folder / f"node-{node}"
            shutil.rmtree(own, ignore_errors=True)
            if node not in self.opened:
                data = self.folder / f"{node}.csv"
                data.write_text(f"user,item,rating\n{self.ratings if node == 1 else RATINGS[0]}")
                self.opened[node] = job_opener(NodeSettings(own, node, data, None, 5.0, "simulated"))
        return self.opened


class SharingScript:
    """Jobs and rounds that vendors might be asked for, and some that nobody should."""

    def description(self, rng: Random) -> bytes:
        """The agreed job mostly; one with another catalogue, scale or price; or what is no job."""
        kind = rng.random()
        if kind < 0.25:
            return JOB.to_bytes()
        if kind < 0.5:
            return PURCHASES.to_bytes()
        if kind < 0.75:
            return _another_job(rng).to_bytes()
        return json_changed(rng, json.loads(JOB.to_bytes()), ensure_ascii=False, separators=(",", ":"))

    def task(self, rng: Random, description: bytes, asked: int) -> tuple[bytes, int]:
        """A round on the job's catalogue, with numbers as large and as small as may be, or more so."""
        try:
            job = ShareJob.from_bytes(description)
        except DiscreetError:
            job = JOB
        items = len(job.items)
        number = asked if rng.random() < 0.85 else rng.choice((0, 0, 1, 2, 254))
        of_purchases = (job.feedback == "implicit") == (rng.random() < 0.95)
        asked_for = _purchases_round(rng, items) if of_purchases else _round(rng, items)
        data = SharingTask(number, asked_for).to_bytes(items)
        size = asked_for.length(items) if rng.random() < 0.95 else rng.choice((1, 2 * items, 1000))
        return damaged(rng, data) if rng.random() < 0.1 else data, max(1, size)


def _another_job(rng: Random) -> ShareJob:
    few = tuple(rng.sample(ITEMS, rng.randrange(2, len(ITEMS) + 1)))
    return rng.choice((
        replace(JOB, name=rng.choice(("books", "", "é" * 200))),
        replace(JOB, items=few),
        replace(JOB, items=(*ITEMS, "a secret")),
        replace(JOB, scale=rng.choice(((1.0, 3.0), (4.0, 5.0), (-100.0, 100.0), (0.5, 1.0)))),
        replace(JOB, epsilon=rng.choice((0.01, 1.0, 4.9, 5.1, 20.0))),
        replace(JOB, delta=rng.choice((1e-12, 1e-5, 0.9))),
        replace(JOB, colluders=1),
        replace(PURCHASES, threshold=rng.choice((-100.0, 0.0, 3.0, 77.0))),
        replace(JOB, seed=rng.choice((None, 0, 2**63 - 1))),
        replace(JOB, nodes=rng.choice(((1, 2), (2, 3), (1, 2, 3, 4)))),
    ))  # fmt: skip


def _share(rng: Random) -> float:
    usual, odd = (0.05, 0.1, 0.2, 0.3, 0.5), (0.0, 1.0, -1.0, 1.5, math.nan)
    return rng.choice(usual if rng.random() < 0.9 else odd)


def _popular(rng: Random, draws: np.random.Generator, items: int) -> Integers:
    popular: Integers = draws.permutation(items)[: max(2, items // 2)].astype(np.int64)
    if rng.random() < 0.1:
        popular[0] = rng.choice((-1, items, 2**62, popular[-1]))
    return popular


def _purchases_round(rng: Random, items: int) -> Round:
    share, draws = _share(rng), np.random.default_rng(rng.getrandbits(32))
    popular = _popular(rng, draws, items)
    match rng.randrange(3):
        case 0:
            return Sales(share)
        case 1:
            return SalesPairs(share, popular)
        case _:
            rank = rng.randrange(1, 9)
            basis = draws.choice([0.0, 1.0, -1e3, 1e3], (len(popular), rank))
            kept = np.arange(items, dtype=np.int64) if rng.random() < 0.7 else np.sort(popular)
            return SalesProjections(share, popular, basis, kept)


def _round(rng: Random, items: int) -> Round:
    share, draws = _share(rng), np.random.default_rng(rng.getrandbits(32))
    popular = _popular(rng, draws, items)
    match rng.randrange(3):
        case 0:
            return Opening(share, _numbers(rng, draws, items, 1e-6, 1e6), _numbers(rng, draws, items, -1e6, 1e6))
        case 1:
            return Pairs(share, _numbers(rng, draws, items, -1e6, 1e6), popular)
        case _:
            rank = rng.randrange(1, 9)
            basis = _numbers(rng, draws, len(popular) * rank, -1e3, 1e3).reshape(len(popular), rank)
            offset, emphasis = _numbers(rng, draws, items, -1e6, 1e6), _numbers(rng, draws, items, 1e-6, 1e6)
            return Projections(share, Directions(offset, popular, basis, emphasis))


def _numbers(rng: Random, draws: np.random.Generator, size: int, low: float, high: float) -> Floats:
    """Usual numbers, the largest and smallest that are allowed, and now and then one that is not."""
    match rng.randrange(4):
        case 0:
            values = np.ones(size)
        case 1:
            values = draws.choice([0.0, low, high], size)
        case _:
            values = np.abs(draws.normal(size=size)) + 0.01
    if rng.random() < 0.05:
        values[0] = rng.choice((math.nan, math.inf, -math.inf, 1e300, -1e-300))
    return np.asarray(values, np.float64)


@contextmanager
def stage() -> Iterator[tuple[Sequence[VendorsWorld], SharingScript]]:
    """All worlds, in folders that are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        worlds = [VendorsWorld(Path(folder) / str(number), ratings) for number, ratings in enumerate(RATINGS)]
        for world in worlds:
            world.folder.mkdir()
        yield worlds, SharingScript()


CONVERSATIONS = 500
register(
    Audit("vendors", f"a lying server, {CONVERSATIONS} conversations", Status.PROVED, 0.0,
          HostileCoordinator(stage, CONVERSATIONS))
)  # fmt: skip
