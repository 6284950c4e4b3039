"""The device: its budget, a new space, what its reader chooses, forgetting and ranking."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from device_releases import click_in, integers, labels
from device_server import PublisherServer
from device_tools import Clock, catalogue_of, device_of, slate_of, terms_of

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue
from discreet.edge.reader.publisher_terms import HistoryWeights
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.errors import DiscreetError


class TestBudget:
    def test_old_sketches_answer_when_the_budget_is_gone(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device = device_of(server, tmp_path, clock)
        device.clicked("N1")
        clock.next_epoch()
        first = device.sketches()
        device.clicked("N2")
        clock.next_epoch()
        dearer = {"sketch": 2.0, "label": 0.0, "lifetime": 2.0}
        changed = device_of(server, tmp_path, clock, epsilon=dearer)
        assert changed.sketches() == first, "the first lifetime ε holds for life"
        assert changed.statement().ledger.worst.epsilon == 0.7

    @pytest.mark.parametrize(
        "change",
        [
            {"adjacency": "add/remove"},
            {"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 86400}},
            {"epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 2.0}},
        ],
    )
    def test_another_promise_stops_releases(
        self, server: PublisherServer, tmp_path: Path, clock: Clock, change: dict[str, object]
    ) -> None:
        device = device_of(server, tmp_path, clock)
        click_in(device, slate_of(12), "N1")
        clock.next_epoch()
        changed = device_of(server, tmp_path, clock, **change)
        assert changed.stopped is not None
        assert changed.sketches() == []
        assert labels(changed) == []
        assert "Nothing more is released" in str(changed.statement())
        assert changed.statement().ledger.debits == ()

    def test_terms_that_do_not_add_up_are_refused(self, server: PublisherServer) -> None:
        with pytest.raises(DiscreetError, match="lifetime"):
            terms_of(server, epsilon={"sketch": 0.7, "label": 0.4, "lifetime": 1.0})

    def test_a_damaged_ledger_is_written_off_and_goes_on(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device_of(server, tmp_path, clock).clicked("N1")
        for file in (tmp_path / "ledger").iterdir():
            if "sqlite" in file.name or file.suffix == ".db":
                file.write_bytes(b"damaged" * 200)
        clock.next_epoch()
        device = device_of(server, tmp_path, clock)
        assert device.recovered
        assert device.sketches() == []
        clock.next_epoch()
        device.clicked("N1")
        clock.next_epoch()
        assert [sketch.epoch for sketch in device.sketches()] == [12]


class TestNewSpace:
    @pytest.mark.usefixtures("no_noise")
    def test_old_epochs_are_never_released_in_a_new_space(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device = device_of(server, tmp_path, clock)
        device.clicked("N1")
        clock.next_epoch()
        assert len(device.sketches()) == 1
        device.clicked("N2")
        clock.next_epoch()
        terms = terms_of(server, space="space-2", topics=3)
        moved = [replace(article, topic=2) for article in catalogue_of(server)]
        new = Device(tmp_path, terms, DeviceCatalogue(moved), clock=clock)
        assert [(s.epoch, integers(s.release)) for s in new.sketches()] == [(11, [0, 0, 1])]
        back = device_of(server, tmp_path, clock)
        assert [sketch.epoch for sketch in back.sketches()] == [10]
        assert len(back.statement().ledger.debits) == 2

    @pytest.mark.usefixtures("no_noise")
    def test_articles_that_are_gone_count_in_the_old_space_and_on_0_in_a_new_one(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        terms = terms_of(server)
        Device(tmp_path, terms, catalogue_of(server), clock=clock).clicked("N4")
        clock.next_epoch()
        others = DeviceCatalogue(article for article in catalogue_of(server) if article.id != "N4")
        same = Device(tmp_path, terms, others, clock=clock)
        assert integers(same.sketches()[0].release) == [0, 0, 0, 0, 1, 0]
        same.clicked("N4")
        clock.next_epoch()
        new = Device(tmp_path, terms_of(server, space="space-2"), others, clock=clock)
        assert integers(new.sketches()[0].release) == [1, 0, 0, 0, 0, 0]


class TestSettings:
    @pytest.mark.usefixtures("no_noise")
    def test_open_categories_are_counted_exactly_and_cost_nothing(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device = device_of(server, tmp_path, clock)
        device.settings = ReaderSettings(open_categories=frozenset({"sports"}))
        for name in ("N0", "N4", "N1"):  # sports, sports, health
            device.clicked(name)
        clock.next_epoch()
        (sketch,) = device.sketches()
        assert (sketch.clicks, integers(sketch.release)) == (1, [0, 1, 0, 0, 0, 0])
        assert device.open_counts() == [1, 0, 0, 0, 1, 0]
        statement = device.statement()
        assert statement.open_guarantee is not None
        assert math.isinf(statement.open_guarantee.epsilon)
        assert "protected by nothing: 2 clicks (sports)" in str(statement)

    @pytest.mark.usefixtures("no_noise")
    def test_a_change_applies_to_later_clicks_only(self, server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
        device = device_of(server, tmp_path, clock)
        device.clicked("N0")
        device.settings = ReaderSettings(open_categories=frozenset({"sports"}))
        assert device.open_counts() is None
        device.clicked("N4")
        device.settings = ReaderSettings()
        clock.next_epoch()
        assert device.open_counts() == [0, 0, 0, 0, 1, 0]
        assert integers(device.sketches()[0].release) == [1, 0, 0, 0, 0, 0]

    @pytest.mark.parametrize(("epsilon", "sketches", "labelled"), [(1.0, 1, 1), (0.8, 1, 0), (0.5, 0, 0), (0.0, 0, 0)])
    def test_a_smaller_epsilon_limits_what_is_released(
        self, device: Device, clock: Clock, epsilon: float, sketches: int, labelled: int
    ) -> None:
        device.settings = ReaderSettings(epsilon=epsilon)
        click_in(device, slate_of(12), "N1")
        made = labels(device)
        clock.next_epoch()
        assert (len(device.sketches()), len(made)) == (sketches, labelled)
        assert device.statement().ledger.worst.epsilon <= epsilon

    @pytest.mark.parametrize("epsilon", [1.5, -0.1, math.nan, math.inf])
    def test_other_epsilons_are_refused(self, device: Device, epsilon: float) -> None:
        with pytest.raises(DiscreetError):
            device.settings = ReaderSettings(epsilon=epsilon)
        assert device.settings == ReaderSettings()


class TestForget:
    def test_under_terms_below_the_readers_own_limit(self, device: Device, server: PublisherServer) -> None:
        device.settings = ReaderSettings(epsilon=0.8)
        device.terms = terms_of(server, epsilon={"sketch": 0.5, "label": 0.0, "lifetime": 0.5})
        device.forget()
        assert device.settings == ReaderSettings(epsilon=0.8)

    def test_the_history_goes_and_the_debits_stay(self, device: Device, clock: Clock, tmp_path: Path) -> None:
        device.clicked("a-telling-name")
        clock.next_epoch()
        device.sketches()
        device.clicked("N2")
        device.forget()
        clock.next_epoch()
        assert device.sketches() == []
        assert device.history.clicks() == []
        assert [debit.epsilon for debit in device.statement().ledger.debits] == [0.7]
        files = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
        assert not any(b"a-telling-name" in data for data in files)

    def test_clicks_after_forgetting_are_told_from_the_next_epoch_on(self, device: Device, clock: Clock) -> None:
        device.forget()
        device.clicked("N1")
        clock.next_epoch()
        device.clicked("N2")
        clock.next_epoch()
        assert [sketch.epoch for sketch in device.sketches()] == [11]


class TestRanking:
    def test_score_is_base_plus_likeness_to_the_history(self, device: Device, server: PublisherServer) -> None:
        device.clicked("N3")
        device.terms = terms = replace(device.terms, weights=HistoryWeights(interest=2.0))
        ranked = {shown.article.id: shown for shown in device.rank()}
        assert set(ranked) == set(server.articles) - {"N3"}
        vector = {a.id: [int.from_bytes(bytes([b]), signed=True) for b in a.vector] for a in device.catalogue}
        interest = [terms.vector_scale * h - c for h, c in zip(vector["N3"], terms.centre, strict=True)]
        expected = 2.0 * terms.vector_scale * sum(v * i for v, i in zip(vector["N5"], interest, strict=True))
        assert ranked["N5"].personal == pytest.approx(expected)
        assert ranked["N5"].score == pytest.approx(expected + server.bases["N5"])
        scores = [shown.score for shown in device.rank()]
        assert scores[:12] == sorted(scores[:12], reverse=True)
        assert scores[12:] == sorted(scores[12:], reverse=True)

    def test_without_clicks_the_base_decides(self, device: Device) -> None:
        assert [shown.article.id for shown in device.rank()] == [f"N{number}" for number in range(40)]

    def test_an_article_without_a_vector_has_its_base(self, device: Device) -> None:
        device.clicked("N3")
        blank = Article("N99", "", "", 0, b"")
        assert device.rank([blank], [0.25])[0].score == 0.25
