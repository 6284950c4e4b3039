"""The two ends of the wire between the server and the nodes, for every engine that carries the bytes.

The server asks, nodes answer; both sides see opaque bytes. `Nodes` is what the server asks through, `Answer` is what a
node answers with. An engine implements the first and calls the second; `LocalNodes` joins them in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.aggregation.contribution import Contribution
from discreet.privacy.guarantee import Guarantee

Answer = Callable[[bytes], bytes]
"""A host's answer to one request. It never raises for what the server sent: it answers with a refusal."""


Aggregation = Literal["secure sum", "two aggregators"]
"""How vectors are summed: among the nodes themselves, or by a leader and a helper that do not collude."""


class Nodes(Protocol):
    """The nodes as the server sees them."""

    def present(self) -> frozenset[int]:
        """The numbers of the nodes that can be asked now."""
        ...

    def ask(self, requests: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
        """Ask several nodes at once, and wait for at most `timeout` seconds.

        Returns:
            The answers that came in time. Who has left, is late or failed is missing.
        """
        ...


@dataclass(frozen=True)
class LocalNodes:
    """Nodes whose hosts live in this process, asked one after the other; nobody is late.

    What a host raises is a mistake in the program, and is not hidden.
    """

    hosts: Mapping[int, Answer]

    def present(self) -> frozenset[int]:
        """All of them."""
        return frozenset(self.hosts)

    def ask(self, requests: Mapping[int, bytes], timeout: float) -> dict[int, bytes]:
        """Every host's answer, however long it takes."""
        return {node: self.hosts[node](request) for node, request in requests.items() if node in self.hosts}


@dataclass(frozen=True)
class Assignment:
    """What a node is to contribute to one sum.

    Attributes:
        task: what to compute, in the job's own words.
        invited: the numbers of the nodes that are asked to be in the sum, this one among them.
        quorum: how many of them will be in the sum at least. The secure sum gives nothing away with fewer, so a node
            may count on the noise of `quorum` − 1 others.
        aggregation: how the vectors will be summed.
        known: how many nodes are in this one's own roster. The server chose whom to invite, so all of those that
            collude with it may be among the invited.
    """

    task: bytes
    invited: tuple[int, ...]
    quorum: int
    known: int
    aggregation: Aggregation = "secure sum"


Contribute = Callable[[Assignment], Contribution]
"""A node's part in the sums of a job. A sum that is begun again asks again, and that is one more contribution. It may
raise DiscreetError to refuse. The server sees the reason, so no reason may depend on the data."""

OpenJob = Callable[[bytes], Contribute]
"""From a job's description to the function that contributes to its sums. It may raise DiscreetError to refuse."""


class NodeSum(NamedTuple):
    """The sum of the nodes' contributions, just which nodes are in it, ascending, and what it promises."""

    values: NDArray[np.int64]
    nodes: tuple[int, ...]
    guarantee: Guarantee
