"""The device: what it releases, when, from which clicks, and what it never does."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from device_server import PublisherServer
from device_tools import Clock, catalogue_of, device_of, terms_of

from discreet.device.catalogue import Article, Catalogue
from discreet.device.device import MOST_CLICKS, Device
from discreet.device.history import Slate
from discreet.device.settings import Settings
from discreet.device.terms import Terms
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Status
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release


class NoNoise(SecureNoise):
    """Bytes that make discrete Laplace noise 0, so that a release shows what it was computed from."""

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)


@pytest.fixture
def server() -> PublisherServer:
    return PublisherServer()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def device(server: PublisherServer, tmp_path: Path, clock: Clock) -> Device:
    return device_of(server, tmp_path, clock)


def slate_of(count: int, name: str = "slate-1") -> Slate:
    return Slate(name, "model-1", tuple(f"N{number}" for number in range(count)), "signed")


def integers(release: bytes) -> list[int]:
    return Release.from_bytes(release).payload.integers.tolist()


def exact_device(server: PublisherServer, folder: Path, clock: Clock, terms: Terms | None = None) -> Device:
    return Device(folder, terms or terms_of(server), catalogue_of(server), clock=clock, noise=NoNoise())


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


def test_a_sketch_counts_the_epochs_own_clicks_by_topic(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = exact_device(server, tmp_path, clock)
    for name in ("N1", "N7", "N5"):
        device.clicked(name)
    clock.next_epoch()
    device.clicked("N0")
    clock.next_epoch()
    assert [integers(sketch.release) for sketch in device.sketches()] == [[0, 2, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]


def test_what_is_debited_is_what_is_released(device: Device, clock: Clock) -> None:
    device.clicked("N1", "slate-1")
    label = device.label(slate_of(5), ["N1"])
    clock.next_epoch()
    (sketch,) = device.sketches()
    assert label is not None
    released = [label.guarantee, Release.from_bytes(sketch.release).guarantee]
    debits = device.statement().ledger.debits
    assert [(d.epsilon, d.mechanism) for d in debits] == [(g.epsilon, g.mechanism) for g in released]
    assert [d.epsilon for d in debits] == [0.3, 0.7]
    assert all(guarantee.status is Status.PROVED for guarantee in released)
    assert device.statement().ledger.worst.epsilon == 1.0


def test_an_unknown_article_counts_on_topic_0(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = exact_device(server, tmp_path, clock)
    device.clicked("never heard of")
    clock.next_epoch()
    assert integers(device.sketches()[0].release) == [1, 0, 0, 0, 0, 0]


def test_more_clicks_than_a_server_takes(server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
    device = exact_device(server, tmp_path, clock)
    device.clicked("N0")
    click = device.history.clicks()[0]
    with device.history._transaction() as connection:
        row = (click.time, click.epoch, "N1", "health", 0, None, click.space, 1, b"")
        connection.executemany("INSERT INTO click VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [row] * MOST_CLICKS)
    clock.next_epoch()
    (sketch,) = device.sketches()
    assert sketch.clicks == MOST_CLICKS
    assert integers(sketch.release)[:2] == [0, MOST_CLICKS]


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
        device.clicked("N1", "slate-1")
        assert device.label(slate_of(5), ["N1"]) is None
        assert device.statement().ledger.debits == ()


class TestLabels:
    def test_one_release_per_impression(self, device: Device) -> None:
        for name in ("N1", "N4"):
            device.clicked(name, "slate-1")
        first = device.label(slate_of(9), ["N1", "N4"])
        assert first is not None
        assert all(0 <= place < 9 for place in first.payload.integers)
        assert device.label(slate_of(9), ["N1", "N4"]) == first
        assert len(device.statement().ledger.debits) == 1

    def test_each_of_several_clicks_may_be_the_one(self, server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
        device = device_of(server, tmp_path, clock, epsilon={"sketch": 0.7, "label": 20.0, "lifetime": 21.0})
        drawn: Counter[int] = Counter()
        for number in range(40):
            slate = slate_of(6, f"slate-{number}")
            for name in ("N2", "N5"):
                device.clicked(name, slate.id)
            label = device.label(slate, ["N2", "N5"])
            assert label is not None
            drawn.update(label.payload.integers.tolist())
        assert set(drawn) == {2, 5}

    @pytest.mark.parametrize(("articles", "clicked"), [(1, ["N0"]), (6, [])])
    def test_nothing_to_tell(self, device: Device, articles: int, clicked: list[str]) -> None:
        for name in clicked:
            device.clicked(name, "slate-1")
        assert device.label(slate_of(articles), clicked) is None
        assert device.statement().ledger.debits == ()

    def test_a_click_that_was_not_remembered_is_refused(self, device: Device) -> None:
        device.clicked("N1", "another slate")
        with pytest.raises(ValueError, match="N1"):
            device.label(slate_of(5), ["N1"])

    def test_a_label_is_paid_by_the_epoch_of_its_click(self, device: Device, clock: Clock) -> None:
        device.clicked("N1", "slate-1")
        clock.next_epoch()
        device.clicked("N2", "slate-1")
        assert device.label(slate_of(5), ["N1", "N2"]) is not None
        (debit,) = device.statement().ledger.debits
        assert (debit.last_epoch, debit.clicks) == (10, 1)


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
        [{"adjacency": "add/remove"}, {"schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 86400}}],
    )
    def test_another_promise_stops_releases(
        self, server: PublisherServer, tmp_path: Path, clock: Clock, change: dict[str, object]
    ) -> None:
        device = device_of(server, tmp_path, clock)
        device.clicked("N1", "slate-1")
        clock.next_epoch()
        changed = device_of(server, tmp_path, clock, **change)
        assert changed.stopped is not None
        assert changed.sketches() == []
        assert changed.label(slate_of(5), ["N1"]) is None
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
        new = Device(tmp_path, terms, Catalogue(moved), clock=clock, noise=NoNoise())
        assert [(s.epoch, integers(s.release)) for s in new.sketches()] == [(11, [0, 0, 1])]
        back = device_of(server, tmp_path, clock)
        assert [sketch.epoch for sketch in back.sketches()] == [10]
        assert len(back.statement().ledger.debits) == 2

    def test_articles_that_are_gone_count_in_the_old_space_and_on_0_in_a_new_one(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        terms = terms_of(server)
        Device(tmp_path, terms, catalogue_of(server), clock=clock).clicked("N4")
        clock.next_epoch()
        same = Device(tmp_path, terms, Catalogue(), clock=clock, noise=NoNoise())
        assert integers(same.sketches()[0].release) == [0, 0, 0, 0, 1, 0]
        same.clicked("N4")
        clock.next_epoch()
        new = Device(tmp_path, terms_of(server, space="space-2"), Catalogue(), clock=clock, noise=NoNoise())
        assert integers(new.sketches()[0].release) == [1, 0, 0, 0, 0, 0]


class TestSettings:
    def test_open_categories_are_counted_exactly_and_cost_nothing(
        self, server: PublisherServer, tmp_path: Path, clock: Clock
    ) -> None:
        device = exact_device(server, tmp_path, clock)
        device.settings = Settings(open_categories=frozenset({"sports"}))
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

    def test_a_change_applies_to_later_clicks_only(self, server: PublisherServer, tmp_path: Path, clock: Clock) -> None:
        device = exact_device(server, tmp_path, clock)
        device.clicked("N0")
        device.settings = Settings(open_categories=frozenset({"sports"}))
        assert device.open_counts() is None
        device.clicked("N4")
        device.settings = Settings()
        clock.next_epoch()
        assert device.open_counts() == [0, 0, 0, 0, 1, 0]
        assert integers(device.sketches()[0].release) == [1, 0, 0, 0, 0, 0]

    @pytest.mark.parametrize(("epsilon", "sketches", "labels"), [(1.0, 1, 1), (0.8, 1, 0), (0.5, 0, 0), (0.0, 0, 0)])
    def test_a_smaller_epsilon_limits_what_is_released(
        self, device: Device, clock: Clock, epsilon: float, sketches: int, labels: int
    ) -> None:
        device.settings = Settings(epsilon=epsilon)
        device.clicked("N1", "slate-1")
        label = device.label(slate_of(5), ["N1"])
        clock.next_epoch()
        assert (len(device.sketches()), int(label is not None)) == (sketches, labels)
        assert device.statement().ledger.worst.epsilon <= epsilon

    @pytest.mark.parametrize("epsilon", [1.5, -0.1, math.nan, math.inf])
    def test_other_epsilons_are_refused(self, device: Device, epsilon: float) -> None:
        with pytest.raises(DiscreetError):
            device.settings = Settings(epsilon=epsilon)
        assert device.settings == Settings()


class TestForget:
    def test_the_history_goes_and_the_debits_stay(self, device: Device, clock: Clock, tmp_path: Path) -> None:
        device.clicked("a-telling-name", "slate-1")
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
        terms = device.terms
        ranked = {shown.article.id: shown for shown in device.rank()}
        assert set(ranked) == set(server.articles) - {"N3"}
        vector = {a.id: [int.from_bytes(bytes([b]), signed=True) for b in a.vector] for a in device.catalogue}
        interest = [terms.vector_scale * h - c for h, c in zip(vector["N3"], terms.centre, strict=True)]
        expected = 2.0 * terms.vector_scale * sum(v * i for v, i in zip(vector["N5"], interest, strict=True))
        assert ranked["N5"].personal == pytest.approx(expected)
        assert ranked["N5"].score == pytest.approx(expected + server.articles["N5"]["base"])
        scores = [shown.score for shown in device.rank()]
        assert scores == sorted(scores, reverse=True)

    def test_without_clicks_the_base_decides(self, device: Device) -> None:
        assert [shown.article.id for shown in device.rank()] == [f"N{number}" for number in range(40)]

    def test_an_article_without_a_vector_has_its_base(self, device: Device) -> None:
        device.clicked("N3")
        blank = Article("N99", "", "", 0, b"", 0.0)
        assert device.rank([blank], [0.25])[0].score == 0.25
