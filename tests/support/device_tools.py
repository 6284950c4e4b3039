"""Devices with a clock that is set by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from device_server import START, WEEK, PublisherServer

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue
from discreet.edge.reader.history import ShownSlate
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reader_client import ReaderClient
from discreet.protocol.check import check


class Clock:
    def __init__(self, epoch: int = 10) -> None:
        self.now = START + epoch * WEEK + 3600

    def __call__(self) -> float:
        return float(self.now)

    def next_epoch(self, epochs: int = 1) -> None:
        self.now += epochs * WEEK


def numbered_ids() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{number:032x}"


def terms_of(server: PublisherServer, **changes: Any) -> PublisherTerms:
    return PublisherTerms.from_json(check("model", {**server.model, **changes}))


def catalogue_of(server: PublisherServer) -> DeviceCatalogue:
    terms = terms_of(server)
    return DeviceCatalogue(
        Article.from_json(fields, server.bases[name], terms) for name, fields in server.articles.items()
    )


def slate_of(count: int, number: int = 1) -> ShownSlate:
    return ShownSlate(f"{number:032x}", "model-1", tuple(f"N{article}" for article in range(count)), "signed")


def device_of(server: PublisherServer, folder: Path, clock: Clock, **changes: Any) -> Device:
    return Device(folder, terms_of(server, **changes), catalogue_of(server), clock=clock)


def client_of(server: PublisherServer, folder: Path, clock: Clock, **settings: Any) -> ReaderClient:
    ids = numbered_ids()
    settings = {"transport": server, "clock": clock, "random_id": lambda: next(ids), **settings}
    return ReaderClient("http://news.test", folder, **settings)
