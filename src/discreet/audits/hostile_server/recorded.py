"""Whole devices whose releases were made beforehand, from no click, and whose stores are in memory.

A release that is due is debited and kept as ever. In place of the one that would be made from the clicks, the device
sends one that was made with secure noise from a fixed value, and is the same for every device of a conversation. Beside
it is written down what was released of what, at which cost, under which terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_in_memory import DeviceInMemory, ReaderClientInMemory
from discreet.edge.reader.http_client import Transport
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.privacy.mechanisms.mechanism import Mechanism
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release


@dataclass(frozen=True)
class Released:
    """One release: of which epoch and part, at which ε, and what the reader's limit and the first terms allow.

    Attributes:
        purpose: "sketch" or "label".
        epoch: Of which epoch.
        part: Of which slate.
        epsilon: Its cost.
        allowed: The most that a click may have cost afterwards.
        choices: Among how many articles a label hides one; None for a sketch.
        smallest_topic: How many articles the smallest topic had.
        epoch_seconds: How long an epoch was.
    """

    purpose: str
    epoch: int
    part: str
    epsilon: float
    allowed: float
    choices: int | None
    smallest_topic: int | None
    epoch_seconds: int


@dataclass
class Recordings:
    """Releases that come from no click, made once and then the same for all."""

    made: dict[tuple[object, ...], Release] = field(default_factory=dict)

    def of(self, purpose: str, epoch: int, mechanism: Mechanism, number: int) -> Release:
        """The release of a mechanism for an epoch."""
        key = (purpose, epoch, mechanism, number)
        if key not in self.made:
            value = 0 if isinstance(mechanism, SubsetSelection) else [0, 1]
            self.made[key] = mechanism.release(value, SecureNoise())
        return self.made[key]


class RecordedDevice(DeviceInMemory):
    """A device that releases recordings."""

    recordings: Recordings
    released: list[Released]

    def _apply(self, purpose: str, epoch: int, part: str, mechanism: Mechanism, clicked: list[int]) -> Release:
        mechanism.checked(clicked[0] if isinstance(mechanism, SubsetSelection) else clicked)
        choice, lifetime = self.settings.epsilon, self._ledger.budget.epsilon
        choices = mechanism.choices if isinstance(mechanism, SubsetSelection) else None
        epsilon, seconds = mechanism.guarantee().epsilon, self.terms.schedule.length_seconds
        allowed = lifetime if choice is None else min(choice, lifetime)
        smallest = _smallest_topic(self)
        self.released.append(Released(purpose, epoch, part, epsilon, allowed, choices, smallest, seconds))
        return self.recordings.of(purpose, epoch, mechanism, len(self.released))


class RecordedClient(ReaderClientInMemory):
    """A client of such a device, which forgets everything when it is gone."""

    def __init__(
        self,
        transport: Transport,
        recordings: Recordings,
        clock: Callable[[], float],
        random_id: Callable[[], str],
    ) -> None:
        self._recordings = recordings
        self.released: list[Released] = []
        super().__init__("http://news.test", Path("/nowhere"), transport=transport, clock=clock, random_id=random_id)

    def _open_device(self, terms: PublisherTerms) -> Device:
        catalogue = self._articles.catalogue
        device = RecordedDevice(self._folder, terms, catalogue, clock=self._clock, random_id=self._random_id)
        device.recordings, device.released = self._recordings, self.released
        return device


def _smallest_topic(device: Device) -> int | None:
    counts: dict[int, int] = {}
    for article in device.catalogue:
        counts[article.topic] = counts.get(article.topic, 0) + 1
    return min(counts.values(), default=None)
