"""The device's audits hold, and would not hold for a device that tells more."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from device_server import PublisherServer
from device_tools import Clock, catalogue_of, terms_of
from device_vectors import PATH, ScriptedNoise, text

from discreet.device.audits import BESIDE_OPEN, REPLACED, Log, Requests
from discreet.device.client import Client
from discreet.device.device import Device
from discreet.device.history import Slate
from discreet.device.reports import label, label_mechanism, sketch_mechanism
from discreet.privacy.audit import leaks, registered, run


@pytest.mark.parametrize("audit", [a for a in registered() if a.mechanism == "device"], ids=lambda audit: audit.setting)
def test_registered_audits_hold(audit) -> None:
    (finding,) = run([audit], seed=0)
    assert finding.holds
    if audit.examination.is_statistical:
        assert finding.lower_bound > 0.6 * audit.claim, "an audit that finds nothing says nothing"


def test_a_limit_that_follows_what_was_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Client._recommend_body

    def telling(self: Client, limit: int, category: str | None) -> str:
        topics = sum(click.topic for click in self.device.history.clicks())
        return json.dumps({**json.loads(honest(self, limit, category)), "limit": 100 + topics})

    monkeypatch.setattr(Client, "_recommend_body", telling)
    assert leaks(Requests(), REPLACED, 1)


def test_the_number_of_clicks_is_told_under_substitution_only() -> None:
    shorter: tuple[Log, ...] = (REPLACED[0], (((1,), ()), ((4,),), ((5, 7, 8),)))
    assert leaks(Requests(), shorter, 1)
    assert not leaks(Requests(hide_length=True), shorter, 1)


def test_whether_a_click_was_sensitive_is_not_protected() -> None:
    first, _ = BESIDE_OPEN
    opened: Log = (((0, 3), (3,)), *first[1:])
    assert leaks(Requests(open_categories=frozenset({"sports"})), (first, opened), 1)


@dataclass(frozen=True)
class Rig:
    server: PublisherServer
    clock: Clock
    folder: Path

    def device(self, noise: ScriptedNoise) -> Device:
        return Device(self.folder, terms_of(self.server), catalogue_of(self.server), clock=self.clock, noise=noise)


def test_the_device_releases_what_the_audited_functions_make(tmp_path: Path) -> None:
    rig = Rig(PublisherServer(), Clock(), tmp_path)
    device = rig.device(ScriptedNoise("", 5))
    for name in ("N2", "N7"):
        device.clicked(name, "slate-1")
    slate = Slate("slate-1", "model-1", tuple(rig.server.articles), "signed")
    made = device.label(slate, ["N2", "N7"])
    rig.clock.next_epoch()
    (sketch,) = device.sketches()
    noise = ScriptedNoise("", 5)
    assert made == label([2, 7], label_mechanism(40, 0.3), noise)
    assert sketch.release == sketch_mechanism(6, 0.7).release([2, 1], noise).to_bytes()


def test_the_vectors_for_other_devices_are_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == text()
