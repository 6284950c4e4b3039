"""The device's audits hold, and would not hold for a device that tells more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from device_server import PublisherServer
from device_tools import Clock, device_of, slate_of
from device_vectors import PATH, Scripted, system_bytes, text

from discreet.audits import leaks, registered, run
from discreet.audits.hostile_server.recorded import Recordings
from discreet.audits.reader import BESIDE_OPEN, REPLACED, Log, Requests
from discreet.edge.reader.device import Device
from discreet.edge.reader.reader_client import ReaderClient
from discreet.edge.reader.reports import label, label_mechanism, sketch_mechanism


@pytest.mark.parametrize("audit", [a for a in registered() if a.mechanism == "device"], ids=lambda audit: audit.setting)
@pytest.mark.long
def test_registered_audits_hold(audit) -> None:
    (finding,) = run([audit], seed=0)
    assert finding.holds
    if audit.examination.is_statistical:
        assert finding.lower_bound > 0.6 * audit.claim, "an audit that finds nothing says nothing"


def test_a_limit_that_follows_what_was_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ReaderClient._recommend_body

    def telling(self: ReaderClient, device: Device, limit: int) -> str:
        topics = sum(click.topic for click in device.history.clicks())
        return json.dumps({**json.loads(honest(self, device, limit)), "limit": 100 + topics})

    monkeypatch.setattr(ReaderClient, "_recommend_body", telling)
    assert leaks(Requests(), REPLACED, Recordings())


def test_the_number_of_clicks_is_told_under_substitution_only() -> None:
    shorter: tuple[Log, ...] = (REPLACED[0], (((1,), ()), ((4,),), ((5, 7, 8),)))
    assert leaks(Requests(), shorter, Recordings())
    assert not leaks(Requests(hide_length=True), shorter, Recordings())


def test_whether_a_click_was_sensitive_is_not_protected() -> None:
    first, _ = BESIDE_OPEN
    opened: Log = (((0, 4), (4,)), *first[1:])
    assert leaks(Requests(open_categories=frozenset({"sports"})), (first, opened), Recordings())


def test_the_device_releases_what_the_audited_functions_make(tmp_path: Path) -> None:
    server, clock = PublisherServer(), Clock()
    device = device_of(server, tmp_path, clock)
    slate = slate_of(40)
    name = device.show(slate)
    for article in ("N2", "N7"):
        device.clicked(article, name)
    clock.next_epoch()
    with system_bytes(Scripted("", 5)):
        ((_, made),) = list(device.finished_slates())
        (sketch,) = device.sketches()
    with system_bytes(Scripted("", 5)) as noise:
        assert made == label([2, 7], label_mechanism(40, 0.3), noise).to_bytes()
        assert sketch.release == sketch_mechanism(6, 0.7).release([2, 1], noise).to_bytes()


@pytest.mark.long
def test_the_vectors_for_other_devices_are_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == text()
