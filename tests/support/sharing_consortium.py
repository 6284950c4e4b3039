"""Vendors' nodes in one process: their hosts, which can be stopped, started anew and made to miss a step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet.aggregation.secure_sum import Identity
from discreet.data.open import open_ratings
from discreet.data.ratings import Ratings
from discreet.edge.node.host import Host
from discreet.edge.vendor.sharing_node import job_opener
from discreet.nodes import SecureSums
from discreet.nodes.configuration import NodeSettings
from discreet.vendors.partition import partition
from discreet.vendors.sharing.job import ShareJob


def write_csv(ratings: Ratings, path: Path) -> Path:
    lines = [
        f"{ratings.users[user]},{ratings.items.ids[item]},{value:g}"
        for user, item, value in zip(ratings.user, ratings.item, ratings.value, strict=True)
    ]
    path.write_text("\n".join(["user,item,rating", *lines]))
    return path


def catalogue_options(path: Path, items: Iterable[str], scale: str = "1,5") -> list[str]:
    """Write the list of items, and name it and the scale to a command."""
    path.write_text("\n".join(items), encoding="utf-8")
    return ["--catalogue", str(path), "--scale", scale]


def parts(data: Path, vendors: int) -> list[Ratings]:
    """What `vendors` nodes have, each with its part of one file."""
    return partition(open_ratings(data), vendors)


def job_for(data: Path, vendors: int, epsilon: float, *, seed: int | None = 7, name: str = "films") -> ShareJob:
    ratings = open_ratings(data)
    nodes = tuple(range(1, vendors + 1))
    return ShareJob(name, epsilon, 1e-5, 0, nodes, tuple(ratings.items.ids), ratings.scale, seed)


@dataclass
class Consortium:
    """Nodes 1 to N, each with its part of one file of ratings (or as `change` says), as the server reaches them.

    `before` is called with every node and the number of the request it is about to get, and may say that the node
    misses it (False).
    """

    data: Path
    folder: Path
    vendors: int
    change: Callable[[NodeSettings], NodeSettings] = field(default=lambda settings: settings)
    before: Callable[[int, int], bool] = field(default=lambda node, asked: True)
    asked: int = 0

    def __post_init__(self) -> None:
        self.identities = {number: Identity.generate(number) for number in range(1, self.vendors + 1)}
        self.roster = {number: identity.public for number, identity in self.identities.items()}
        self.hosts: dict[int, Host] = {}
        self.away: set[int] = set()
        for number in self.roster:
            self.start(number)

    def settings(self, number: int) -> NodeSettings:
        part = f"{number}/{self.vendors}"
        return self.change(NodeSettings(self.folder / str(number), number, self.data, part, 20.0, "simulated"))

    def start(self, number: int) -> None:
        """Start a node's host (anew): it knows no job and is in no round."""
        opened = job_opener(self.settings(number))
        self.hosts[number] = Host(self.identities[number], self.roster, opened)

    def sums(self, job: ShareJob, timeout: float = 0.4) -> SecureSums:
        return SecureSums(self, self.roster, job.to_bytes(), job.budget.guarantee(), timeout=timeout, everybody=True)

    def present(self) -> frozenset[int]:
        return frozenset(self.roster.keys() - self.away)

    def ask(self, requests: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
        self.asked += 1
        return {
            node: self.hosts[node].answer(request)
            for node, request in requests.items()
            if self.before(node, self.asked) and node not in self.away
        }


def with_limit(max_epsilon: float) -> Callable[[NodeSettings], NodeSettings]:
    return lambda settings: replace(settings, max_epsilon=max_epsilon)
