"""The device: what it releases, when, from which clicks, and what it never does."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from device_server import PublisherServer
from device_tools import Clock, catalogue_of, device_of, slate_of, terms_of

from discreet.edge.reader.device import Device
from discreet.edge.reader.device_catalogue import Article, DeviceCatalogue
from discreet.edge.reader.history import ShownSlate
from discreet.edge.reader.publisher_terms import HistoryWeights
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Status
from discreet.privacy.release import Release
from discreet.protocol.check import limits


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random bytes that make discrete Laplace noise 0, so that a release shows what it was computed from."""
    monkeypatch.setattr("discreet.privacy.noise.urandom", bytes)


@pytest.fixture
def server() -> PublisherServer:
    return PublisherServer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def device(server: PublisherServer, tmp_path: Path, clock: Clock) -> Device:
    return device_of(server, tmp_path, clock)


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


def test_an_unfinished_epoch_is_not_sketched(device: Device) -> None:
    device.clicked("N1")
    assert device.sketches() == []
    assert device.statement().ledger.debits == ()


def test_a_finished_epoch_is_sketched_once_and_then_kept(device: Device, clock: Clock) -> None:
    for name in ("N1", "N2", "N2"):
        device.clicked(name)
    clock.next_epoch()
    first = device.sketches()
    assert [(sketch.epoch, sketch.clicks) for sketch in first] == [(10, 3)]
    assert device.sketches() == first
    clock.next_epoch(5)
    assert device.sketches() == first, "weeks without clicks have nothing to tell"
    assert [debit.epsilon for debit in device.statement().ledger.debits] == [0.7]


def test_another_process_gets_the_kept_sketches(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = device_of(server, tmp_path, clock)
    device.clicked("N1")
    clock.next_epoch()
    first = device.sketches()
    again = device_of(server, tmp_path, clock)
    assert again.sketches() == first
    assert len(again.statement().ledger.debits) == 1


@pytest.mark.usefixtures("no_noise")
def test_a_sketch_counts_the_epochs_own_clicks_by_topic(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = device_of(server, tmp_path, clock)
    for name in ("N1", "N7", "N5"):
        device.clicked(name)
    clock.next_epoch()
    device.clicked("N0")
    clock.next_epoch()
    assert [integers(sketch.release) for sketch in device.sketches()] == [[0, 2, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]


def test_what_is_debited_is_what_is_released(device: Device, clock: Clock) -> None:
    click_in(device, slate_of(12), "N1")
    (label,) = labels(device)
    clock.next_epoch()
    (sketch,) = device.sketches()
    released = [label.guarantee, Release.from_bytes(sketch.release).guarantee]
    debits = device.statement().ledger.debits
    assert [(d.epsilon, d.mechanism) for d in debits] == [(g.epsilon, g.mechanism) for g in released]
    assert [d.epsilon for d in debits] == [0.3, 0.7]
    assert all(guarantee.status is Status.PROVED for guarantee in released)
    assert device.statement().ledger.worst.epsilon == 1.0


@pytest.mark.usefixtures("no_noise")
def test_an_unknown_article_counts_on_topic_0(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = device_of(server, tmp_path, clock)
    device.clicked("never heard of")
    clock.next_epoch()
    assert integers(device.sketches()[0].release) == [1, 0, 0, 0, 0, 0]


@pytest.mark.usefixtures("no_noise")
def test_more_clicks_than_a_server_takes(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = device_of(server, tmp_path, clock)
    device.clicked("N0")
    click = device.history.clicks()[0]
    with device.history._transaction() as connection:
        row = (click.time, click.epoch, "N1", "health", 0, None, click.space, 1, b"")
        connection.executemany("INSERT INTO click VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [row] * limits.max_clicks)
    clock.next_epoch()
    (sketch,) = device.sketches()
    assert sketch.clicks == limits.max_clicks
    assert integers(sketch.release)[:2] == [0, limits.max_clicks]


class TestHiddenLength:
    def test_epochs_without_clicks_release_noise_too(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device = device_of(server, tmp_path, clock, adjacency="add/remove")
        device.clicked("N1")
        clock.next_epoch(4)
        sketches = device.sketches()
        assert [(sketch.epoch, sketch.clicks) for sketch in sketches] == [(e, None) for e in (10, 11, 12, 13)]
        guarantees = {Release.from_bytes(sketch.release).guarantee for sketch in sketches}
        assert {(g.adjacency, g.epsilon) for g in guarantees} == {(Adjacency.ADD_REMOVE, 0.7)}

    def test_no_labels_are_made(self, server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
        device = device_of(server, tmp_path, clock, adjacency="add/remove")
        click_in(device, slate_of(12), "N1")
        assert labels(device) == []
        assert device.statement().ledger.debits == ()


class TestLabels:
    def test_one_release_per_impression(self, device: Device) -> None:
        click_in(device, slate_of(15), "N1", "N4")
        device.show(slate_of(15, 2))
        ((slate, first),) = list(device.finished_slates())
        assert first is not None
        assert all(0 <= place < 15 for place in integers(first))
        assert list(device.finished_slates()) == [(slate, first)]
        assert len(device.statement().ledger.debits) == 1

    def test_each_of_several_clicks_may_be_the_one(self, server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
        device = device_of(server, tmp_path, clock, epsilon={"sketch": 0.7, "label": 9.0, "lifetime": 10.0})
        drawn: Counter[int] = Counter()
        for number in range(40):
            click_in(device, slate_of(12, number), "N2", "N5")
            for label in labels(device):
                drawn.update(label.payload.integers.tolist())
        assert {place for place, _ in drawn.most_common(2)} == {2, 5}

    def test_a_slate_without_a_click_has_nothing_to_tell(self, device: Device) -> None:
        click_in(device, slate_of(12))
        assert labels(device) == []
        assert device.statement().ledger.debits == ()

    def test_a_label_is_paid_by_the_epoch_of_its_click(self, device: Device, clock: Clock) -> None:
        slate = slate_of(12)
        click_in(device, slate, "N1")
        clock.next_epoch()
        device.clicked("N2", slate.name)
        assert len(labels(device)) == 1
        (debit,) = device.statement().ledger.debits
        assert (debit.last_epoch, debit.clicks) == (10, 1)

    def test_the_name_of_a_slate_is_made_from_all_that_it_is(self) -> None:
        slate = ShownSlate("ab", "m", ("N1", "Ü2"), "s")
        text = '[3,"m","ab","s",["N1","Ü2"]]'
        assert slate.name == hashlib.sha256(text.encode()).hexdigest()[:32]
        others = [
            ShownSlate("ac", "m", ("N1", "Ü2"), "s"),
            ShownSlate("ab", "n", ("N1", "Ü2"), "s"),
            ShownSlate("ab", "m", ("Ü2", "N1"), "s"),
            ShownSlate("ab", "m", ("N1", "Ü2"), "t"),
        ]
        assert len({slate.name, *(other.name for other in others)}) == 5

    def test_a_slate_that_comes_again_takes_no_clicks(self, device: Device) -> None:
        click_in(device, slate_of(12), "N1")
        assert device.show(slate_of(12)) is None
        assert len(labels(device)) == 1
        assert device.show(slate_of(12)) is None
        device.clicked("N2", slate_of(12).name)
        assert device.history.clicks()[-1].slate is None
        assert labels(device) == []

    def test_a_server_cannot_ask_about_a_click_again_under_the_slates_own_id(self, device: Device) -> None:
        click_in(device, slate_of(20), "N15")
        assert len(labels(device)) == 1
        for first in (0, 10):
            again = replace(slate_of(20), articles=tuple(f"N{n}" for n in range(first, first + 10)))
            device.show(again)
            assert labels(device) == []
        assert len(device.statement().ledger.debits) == 1

    @pytest.mark.parametrize(
        "articles",
        [
            [f"N{n}" for n in range(9)],
            [*(f"N{n}" for n in range(9)), "X1", "X2"],
            ["N1"] + [f"N{n}" for n in range(12)],
        ],
    )
    def test_slates_that_hide_nothing_take_no_clicks(self, device: Device, articles: list[str]) -> None:
        assert device.show(replace(slate_of(1), articles=tuple(articles))) is None

    def test_a_click_outside_the_slate_belongs_to_none(self, device: Device) -> None:
        click_in(device, slate_of(12), "N30")
        assert device.history.clicks()[0].slate is None
        assert labels(device) == []


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
        assert scores == sorted(scores, reverse=True)

    def test_without_clicks_the_base_decides(self, device: Device) -> None:
        assert [shown.article.id for shown in device.rank()] == [f"N{number}" for number in range(40)]

    def test_an_article_without_a_vector_has_its_base(self, device: Device) -> None:
        device.clicked("N3")
        blank = Article("N99", "", "", 0, b"")
        assert device.rank([blank], [0.25])[0].score == 0.25
