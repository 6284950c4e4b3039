"""The device: what it sketches, when, from which clicks, and what it labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from device_releases import click_in, integers, labels
from device_server import PublisherServer
from device_tools import Clock, device_of, slate_of

from discreet.edge.reader.device import Device
from discreet.edge.reader.history import ShownSlate
from discreet.privacy.guarantee import Adjacency, Status
from discreet.privacy.release import Release
from discreet.protocol.check import limits


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
        connection.executemany(
            "INSERT INTO click VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, '')", [row] * limits.max_clicks
        )
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
