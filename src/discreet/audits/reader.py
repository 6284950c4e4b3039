"""Audits of the device, registered when this module is imported.

Three kinds. Black box: tell two neighbouring histories apart from the sketch, or two impressions from the label, as the
device makes them (`device/reports.py`). Non-interference: give two devices with different clicks the same releases, and
require that every byte they send is the same: addresses, headers, bodies, their order, length and number. And the same
in conversations with a publisher that lies (`hostile_server`), where also nothing may throw or cost more than allowed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np

from discreet.audits.audit_registry import Audit, Exact, register
from discreet.audits.black_box import BlackBox
from discreet.audits.hostile_server.conversation import problems
from discreet.audits.hostile_server.hostile_sums import sums_problems
from discreet.audits.hostile_server.publisher import START, WEEK, Publisher
from discreet.audits.hostile_server.recorded import RecordedClient, Recordings
from discreet.audits.noninterference import NonInterference
from discreet.audits.sampling import AHEAD, MechanismSampler
from discreet.audits.scores import Contains, Nearness, Outputs
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.edge.reader.reports import label, label_mechanism, sketch_mechanism
from discreet.privacy.guarantee import Status
from discreet.privacy.noise import SecureNoise

CONVERSATIONS = 300
_OPEN = "sports"
_FIRST_EPOCH = 3

Visit = tuple[int, ...]
Log = tuple[tuple[Visit, ...], ...]
"""For each epoch, for each visit to the front page, the numbers of the articles that were clicked there."""


@dataclass(frozen=True)
class SampledLabel:
    """Labels of an impression with these clicks, as the device makes them."""

    clicked: tuple[int, ...]
    choices: int
    epsilon: float

    def __call__(self, runs: int, seed: int) -> Outputs:
        """One row of positions per run."""
        mechanism, noise = label_mechanism(self.choices, self.epsilon), SecureNoise(AHEAD)
        return np.array([label(self.clicked, mechanism, noise).payload.integers for _ in range(runs)], np.float64)


@dataclass(frozen=True)
class Requests:
    """All that a device sends to an honest publisher while a log happens to it, given what it releases.

    Attributes:
        hide_length: Whether the publisher promises to hide the number of clicks.
        ranking: How it ranks.
        open_categories: What the reader declared open.
    """

    hide_length: bool = False
    ranking: str = "shortlist"
    open_categories: frozenset[str] = frozenset()

    def __call__(self, log: Log, releases: Recordings) -> bytes:
        """Every request, in order."""
        adjacency = "add/remove" if self.hide_length else "substitute"
        publisher = Publisher(adjacency=adjacency, ranking=self.ranking)
        heard: list[str] = []

        def listening(method: str, url: str, headers: Mapping[str, str], body: str | None) -> HttpReply:
            heard.append(json.dumps([method, url, sorted(headers.items()), body]))
            return publisher(method, url, headers, body)

        now, names = [START + _FIRST_EPOCH * WEEK + 60], count()
        client = RecordedClient(listening, releases, lambda: now[0], lambda: f"{next(names):032x}")
        client.refresh()
        client.settings = ReaderSettings(open_categories=self.open_categories)
        for visits in log:
            for clicked in visits:
                front = client.front(10)
                for article in clicked:
                    client.clicked(f"N{article}", front.slate)
                client.send_due()
            now[0] += WEEK
            client.refresh()
            client.send_due()
        return "\n".join(heard).encode()


@dataclass(frozen=True)
class Conversations(Exact):
    """Conversations with a publisher that lies: nothing is wrong in any (0), or it learns what it wants (ε = ∞)."""

    number: int = CONVERSATIONS

    def lower_bound(self, error: float, seed: int) -> float:
        """Infinity if there is a conversation in which something is wrong, else 0."""
        releases = Recordings()
        wrong = any(problems(seed * self.number + each, releases) for each in range(self.number))
        return math.inf if wrong else 0.0


@dataclass(frozen=True)
class SumConversations(Exact):
    """The same about tasks of sums, with a publisher that lies or does not."""

    honest: bool
    number: int = 60

    def lower_bound(self, error: float, seed: int) -> float:
        """Infinity if there is a conversation in which something is wrong, else 0."""
        seeds = range(seed * self.number, (seed + 1) * self.number)
        return math.inf if any(sums_problems(each, honest=self.honest) for each in seeds) else 0.0


# Numbers that are no multiple of 4 are articles of categories that stay sensitive.
REPLACED: tuple[Log, ...] = (
    (((1, 2), ()), ((4,),), ((5, 7, 8),)),
    (((22, 23), ()), ((1,),), ((10, 11, 13),)),
    (((1, 4), ()), ((2,),), ((1, 2, 4),)),
)
"""The same visits with as many clicks, on other articles, of other topics and vectors."""

LONGER: tuple[Log, ...] = (*REPLACED, (((), ()), ((),), ((),)), (((1, 2, 4, 5, 7), (8, 10)), ((11,),), ((),)))
"""Also no clicks at all, and many."""

BESIDE_OPEN: tuple[Log, ...] = (
    (((0, 1), (4,)), ((2,),), ((8, 5),)),
    (((0, 22), (4,)), ((7,),), ((8, 11),)),
)
"""The same open clicks, with other sensitive ones."""

_NO_NOISE_ELSE = "everything sent besides the releases"


def _register() -> None:
    for epsilon, hide_length in ((0.7, False), (3.0, False), (1.0, True)):
        mechanism = sketch_mechanism(12, epsilon, hide_length=hide_length)
        first, second = ([0] * 20, [0] * 20 + [1]) if hide_length else ([0] * 20, [0] * 19 + [1])
        counts = tuple(np.bincount(value, minlength=12).tolist() for value in (first, second))
        examination = BlackBox(
            MechanismSampler(mechanism, first),
            MechanismSampler(mechanism, second),
            runs=200_000,
            scores=(Nearness(1, (counts[0], counts[1])),),
        )
        setting = f"sketch ε={epsilon:g}" + (", length hidden" if hide_length else "")
        register(Audit("device", setting, Status.PROVED, mechanism.guarantee().epsilon, examination))
    for epsilon, first_clicks, second_clicks in ((1.0, (3,), (8,)), (3.0, (3, 5), (3, 8))):
        claim = label_mechanism(20, epsilon).guarantee().epsilon
        changed = (first_clicks[-1], second_clicks[-1])
        labels = (SampledLabel(first_clicks, 20, epsilon), SampledLabel(second_clicks, 20, epsilon))
        setting = f"label ε={epsilon:g}, {len(first_clicks)} clicked of 20"
        examination = BlackBox(*labels, runs=40_000, scores=(Contains(*changed),))
        register(Audit("device", setting, Status.PROVED, claim, examination))
    for setting, device, logs in (
        (_NO_NOISE_ELSE, Requests(), REPLACED),
        (f"{_NO_NOISE_ELSE}, ranked by the server", Requests(ranking="server"), REPLACED),
        (f"{_NO_NOISE_ELSE}, length hidden", Requests(hide_length=True), LONGER),
        (f"{_NO_NOISE_ELSE}, open categories", Requests(open_categories=frozenset({_OPEN})), BESIDE_OPEN),
        (f"{_NO_NOISE_ELSE}, ranked here", Requests(hide_length=True, ranking="local"), LONGER),
    ):
        register(Audit("device", setting, Status.PROVED, 0.0, NonInterference(device, logs, Recordings())))
    register(Audit("device", "a publisher that lies", Status.PROVED, 0.0, Conversations()))
    for honest, who in ((True, "an honest publisher"), (False, "a publisher that lies")):
        register(Audit("device", f"sums, {who}", Status.PROVED, 0.0, SumConversations(honest)))


_register()
