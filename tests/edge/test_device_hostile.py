"""Devices against a publisher that lies: nothing is found, and each hole is found again when its check is taken out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from discreet.audits.hostile_server.conversation import problems
from discreet.audits.hostile_server.recorded import Recordings
from discreet.edge.reader import catalogue_file as catalogue
from discreet.edge.reader import device
from discreet.edge.reader import reader_client as client
from discreet.edge.reader.device import Device, OwnSketch
from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.history import Click, History, ShownSlate, SketchPlan
from discreet.edge.reader.http_client import HttpReply
from discreet.edge.reader.reader_client import Front, ReaderClient
from discreet.privacy.ledger import Ledger, LedgerAnswer

CONVERSATIONS, FEW = 1000, 75
ENOUGH = 600


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_conversations_with_a_liar(part: int) -> None:
    assert wrong(range(part * FEW, (part + 1) * FEW)) == []


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("part", range(10))
def test_many_conversations_with_a_liar(part: int) -> None:
    assert wrong(range((part + 1) * CONVERSATIONS, (part + 2) * CONVERSATIONS)) == []


def wrong(seeds: range) -> list[str]:
    releases = Recordings()
    return [problem for seed in seeds for problem in problems(seed, releases)]


def slates_under_the_servers_names(patch: pytest.MonkeyPatch) -> None:
    add = History.add_slate

    def again(self: History, slate: ShownSlate, epoch: int) -> bool:
        with self._transaction() as connection:
            connection.execute("DELETE FROM shown WHERE name = ? AND slate IS NULL", (slate.name,))
        return add(self, slate, epoch)

    def clicks_among_these(self: Device) -> Any:
        for slate in self.history.finished_slates(self.current_epoch()):
            clicks = [click for click in self.history.clicks(slate=slate.name) if click.article in slate.articles]
            yield slate, self._label(slate, min((click.epoch for click in clicks), default=0), clicks)

    patch.setattr(ShownSlate, "name", property(lambda slate: slate.id))
    patch.setattr(History, "add_slate", again)
    patch.setattr(Device, "finished_slates", clicks_among_these)


def clicks_bound_to_any_slate(patch: pytest.MonkeyPatch) -> None:
    add = History.add_click
    slates: dict[int, str] = {}

    def bound(self: Device, article_id: str, slate_name: str | None = None) -> None:
        slates[id(self.history)] = slate_name or ""
        honest(self, article_id, slate_name)

    honest = Device.clicked
    patch.setattr(Device, "clicked", bound)
    patch.setattr(History, "add_click", lambda self, click: add(self, replace(click, slate=slates[id(self)] or None)))


def answers_that_nobody_checked(patch: pytest.MonkeyPatch) -> None:
    def unchecked(kind: str, data: bytes) -> Any:
        return json.loads(data)

    def believed(cls: type[Article], fields: Mapping[str, Any], base: float, terms: object) -> Article:
        return cls(fields["id"], fields["title"], fields["category"], fields["topic"], b"", base)

    patch.setattr(catalogue, "read", unchecked)
    patch.setattr(client, "read", unchecked)
    patch.setattr(Article, "from_json", classmethod(believed))


def a_number_told_by_the_terms_of_today(patch: pytest.MonkeyPatch) -> None:
    sketches = Device.sketches

    def told(self: Device) -> list[OwnSketch]:
        hidden = self.terms.hide_length
        return [replace(s, clicks=None if hidden else len(self._sensitive(s.epoch))) for s in sketches(self)]

    patch.setattr(Device, "sketches", told)


def a_limit_that_the_ledger_does_not_know(patch: pytest.MonkeyPatch) -> None:
    release: Callable[..., LedgerAnswer] = Ledger.release
    patch.setattr(Ledger, "release", lambda self, *args, limit, **more: release(self, *args, **more))


def categories_that_the_server_defines(patch: pytest.MonkeyPatch) -> None:
    def is_open(self: History, article: Article) -> bool:
        return article.category in json.loads(self.setting("choices") or '{"open_categories": []}')["open_categories"]

    patch.setattr(History, "is_open", is_open)


def terms_without_floors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("discreet.edge.reader.publisher_terms.floors", lambda terms: [])


def slates_that_hide_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(device, "limits", replace(device.limits, min_slate_articles=0))


def topics_that_name_an_article(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(device, "limits", replace(device.limits, min_topic_articles=0))


def marks_that_are_sent_back(patch: pytest.MonkeyPatch) -> None:
    def ask(self: ReaderClient, method: str, path: str, body: str | None = None) -> HttpReply | None:
        mark = getattr(self, "_mark", "")
        try:
            reply = self._transport(method, self._url + path, {"If-None-Match": mark} if mark else {}, body)
        except OSError:
            return None
        self._mark = reply.headers["etag"]  # type: ignore[attr-defined]
        return reply

    patch.setattr(ReaderClient, "_ask", ask)


def terms_that_do_not_hold_for_life(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Device, "stopped", None)


def sections_that_are_asked_for(patch: pytest.MonkeyPatch) -> None:
    front = ReaderClient.front

    def asked(self: ReaderClient, limit: int = 20, *, section: str | None = None) -> Front:
        return front(self, limit) if section is None else Front([], None, "local")

    patch.setattr(ReaderClient, "front", asked)


def epochs_that_are_sketched_again(patch: pytest.MonkeyPatch) -> None:
    add = History.add_plan

    def anew(self: History, plan: SketchPlan) -> None:
        with self._transaction() as connection:
            connection.execute("DELETE FROM plan WHERE epoch = ?", (plan.epoch,))
        add(self, plan)

    def release(self: Ledger, purpose: str, epoch: int, guarantee: object, make: Callable[[], bytes], **_: Any) -> Any:
        return LedgerAnswer(make(), guarantee, epoch, None)  # type: ignore[arg-type]

    patch.setattr(History, "add_plan", anew)
    patch.setattr(History, "plans", lambda self: {})
    patch.setattr(Ledger, "is_paid", lambda self, *_, **__: False)
    patch.setattr(Ledger, "release", release)


def open_clicks_beside_the_sketch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Device, "open_counts", lambda self: [len(_topics(self.history.clicks()))])


def _topics(clicks: list[Click]) -> set[int]:
    return {click.topic for click in clicks}


HOLES = {
    slates_under_the_servers_names: 25,
    clicks_bound_to_any_slate: 1,
    answers_that_nobody_checked: 1,
    a_number_told_by_the_terms_of_today: 5,
    a_limit_that_the_ledger_does_not_know: 32,
    categories_that_the_server_defines: 21,
    terms_without_floors: 13,
    slates_that_hide_nothing: 39,
    topics_that_name_an_article: 10,
    marks_that_are_sent_back: 0,
    terms_that_do_not_hold_for_life: 5,
    sections_that_are_asked_for: 10,
    epochs_that_are_sketched_again: 1,
    open_clicks_beside_the_sketch: 1,
}
"""Each with a conversation that finds it; most do not."""


@pytest.mark.parametrize("hole", HOLES, ids=lambda hole: hole.__name__)
def test_a_hole_is_found_again(hole: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    hole(monkeypatch)
    assert any(problems(seed) for seed in [HOLES[hole], *range(ENOUGH)])
