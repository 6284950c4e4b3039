"""Clicks in slates, and the releases that a device makes of them."""

from __future__ import annotations

from device_tools import slate_of

from discreet.edge.reader.device import Device
from discreet.edge.reader.history import ShownSlate
from discreet.privacy.release import Release


def click_in(device: Device, slate: ShownSlate, *articles: str) -> None:
    name = device.show(slate)
    for article in articles:
        device.clicked(article, name)


def labels(device: Device) -> list[Release]:
    """The labels of all slates so far, after one more has come."""
    device.show(slate_of(12, 10_000 + len(device.history.clicks())))
    made = list(device.finished_slates())
    for slate, release in made:
        device.history.close_slate(slate.name, None if release is None else "a report")
    return [Release.from_bytes(release) for _, release in made if release is not None]


def integers(release: bytes) -> list[int]:
    return Release.from_bytes(release).payload.integers.tolist()
