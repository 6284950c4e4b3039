"""What the server keeps, on SQLite and on PostgreSQL."""

import dataclasses

import numpy as np
import pytest
from served_world import StandInModel, small_world

from discreet.data.shown_articles import ShownArticles
from discreet.database import shown_database
from discreet.errors import DiscreetError
from discreet.protocol.check import limits
from discreet.serving.database_tables import open_engine
from discreet.serving.server import first_articles
from discreet.serving.server_store import DELETED, EXPIRED, KeptReport, Outcome, ServerStore, Waiting
from discreet.serving.updater import SnapshotUpdater

ARTICLES = [
    Waiting(f"A{n}", f"storm number {n} hits the harbour", "", "weather", 1000 + n, 1000 + n) for n in range(30)
]


@pytest.fixture(scope="module")
def model():
    return StandInModel(list(small_world().articles.titles))


@pytest.fixture
def store(database):
    store = ServerStore(open_engine(database))
    yield store
    store.close()


@pytest.fixture
def updater(store, model):
    return SnapshotUpdater(model, store, clock=lambda: 10_000.0)


def listed(updater):
    return set(updater.snapshot.ids)


def test_articles_wait_are_encoded_and_listed(store, updater):
    assert store.is_empty()
    store.put_articles(ARTICLES)
    assert not store.is_empty()
    updater.step()
    assert listed(updater) == {article.id for article in ARTICLES}
    assert store.waiting(10) == []
    assert len(updater.snapshot.entries) == 30
    assert updater.snapshot.revision == 30


def test_a_catalogue_has_no_more_articles_than_devices_take(store, updater, monkeypatch):
    monkeypatch.setattr("discreet.serving.server_store.limits", dataclasses.replace(limits, max_articles=30))
    store.put_articles(ARTICLES)
    updater.step()
    store.put_articles(ARTICLES[:3])  # known ones take no place
    with pytest.raises(DiscreetError, match="would have 31 articles; devices take at most 30"):
        store.put_articles([*ARTICLES[3:5], Waiting("B1", "one too many", "", "", -1, 9)])
    assert [article.id for _, article in store.waiting(10)] == ["A0", "A1", "A2"], "all or none"
    store.take_down("A5", EXPIRED)
    store.put_articles([Waiting("B1", "now there is room", "", "", -1, 9)])
    store.require_room()
    monkeypatch.setattr("discreet.serving.server_store.limits", dataclasses.replace(limits, max_articles=29))
    with pytest.raises(DiscreetError, match="devices take at most 29"):
        store.require_room()


def test_articles_are_replaced_taken_down_and_listed_again(store, updater):
    store.put_articles(ARTICLES)
    updater.step()
    store.put_articles(
        [Waiting("A3", "another title now", "", "", -1, 1000), Waiting("B1", "a new one", "", "", -1, 9)]
    )
    assert store.take_down("A5", DELETED)
    assert store.take_down("A6", EXPIRED)
    assert not store.take_down("nobody", DELETED)
    updater.step()
    assert listed(updater) == ({a.id for a in ARTICLES} | {"B1"}) - {"A5", "A6"}
    assert updater.snapshot.ids[-2:] == ["A3", "B1"]  # in the order of their revisions
    assert b"another title now" in updater.snapshot.entries[-2]
    store.put_articles([ARTICLES[5]])
    updater.step()
    assert updater.snapshot.ids[-1] == "A5"


def test_readers_keep_their_snapshot_while_it_changes(store, updater):
    store.put_articles(ARTICLES)
    updater.step()
    held = updater.snapshot
    rows = list(held.ids), held.scores.exact.copy()
    store.take_down("A1", DELETED)
    updater.step()
    assert updater.snapshot is not held
    assert held.ids == rows[0]
    assert (held.scores.exact == rows[1]).all()


def test_a_second_server_follows_the_database(store, updater, model):
    other = SnapshotUpdater(model, store, clock=lambda: 10_000.0)
    store.put_articles(ARTICLES)
    updater.step()
    other.step()
    assert listed(other) == listed(updater)
    assert other.scale == updater.scale
    store.take_down("A9", EXPIRED)
    updater.step()
    other.step()
    assert listed(other) == listed(updater)
    assert "A9" not in listed(other)


def test_another_model_encodes_the_catalogue_again(store, updater):
    store.put_articles(ARTICLES)
    updater.step()
    newer = StandInModel(list(small_world().articles.titles), topics=5)
    after = SnapshotUpdater(newer, store, clock=lambda: 10_000.0)
    after.step()
    assert listed(after) == listed(updater)
    assert after.snapshot.scores.exact.shape == (30, 5)
    assert min(after.snapshot.revisions) > updater.snapshot.revision


def test_shows_survive_a_restart(store, updater, model):
    store.put_articles(ARTICLES)
    updater.step()
    updater.snapshot.shows[4] += 3
    updater.close()
    again = SnapshotUpdater(model, store, clock=lambda: 10_000.0)
    again.step()
    shows = dict(zip(again.snapshot.ids, again.snapshot.shows.tolist(), strict=True))
    assert shows[updater.snapshot.ids[4]] == 3
    assert sum(shows.values()) == 3


def test_texts_that_are_longer_than_devices_take_are_cut():
    data = small_world()
    long = dataclasses.replace(data.articles, titles=["t" * 5000, *data.articles.titles[1:]])
    first = next(iter(first_articles(ShownArticles.of(dataclasses.replace(data, articles=long)))))
    assert len(first.title) == 2000
    assert first.section == data.articles.subcategories[0]


def test_the_first_articles_of_a_data_set_know_when_they_were_shown_but_not_clicked():
    data = small_world()
    articles = list(first_articles(ShownArticles.of(data)))
    assert len(articles) == len(data.articles)
    assert sum(a.shows for a in articles) == sum(len(part.shown) for part in data.splits.values())
    unclicked = {s: dataclasses.replace(p, clicked=np.zeros_like(p.clicked)) for s, p in data.splits.items()}
    assert list(first_articles(ShownArticles.of(dataclasses.replace(data, splits=unclicked)))) == articles


def report(name, **fields):
    plain = {"kind": "sketch", "digest": b"d", "version": "v", "epoch": 3, "received": 3, "release": b"r"}
    return KeptReport(id=name * 32, **{**plain, **fields})


def test_a_report_is_kept_once(store):
    first = report("a", device="d1")
    kept = store.keep_reports(
        [
            first,
            first,
            report("a", device="d1", digest=b"e"),
            report("b", device="d1"),
            report("c", device="d1", epoch=4),
            report("d", kind="label", slate="s"),
            report("e", kind="label", slate="s"),
            report("f", kind="label", slate="t"),
        ]
    )
    assert [outcome.name for outcome in kept] == [
        "KEPT",
        "KNOWN",
        "OTHER_BODY",
        "SECOND_SKETCH",
        "KEPT",
        "KEPT",
        "SECOND_LABEL",
        "KEPT",
    ]
    assert store.keep_reports([first]) == [Outcome.KNOWN]


def test_settings_and_the_key_stay(store, database):
    assert store.setting("colour", "red") == "red"
    assert store.setting("colour", "blue") == "red"
    key = store.signing_key()
    again = ServerStore(open_engine(database))
    assert again.signing_key() == key
    assert len(key) == 32
    again.close()


def test_a_database_that_cannot_be_opened_is_one_clear_line(tmp_path):
    (tmp_path / "broken").write_bytes(b"this is no database, however long it is" * 100)
    for address in (
        tmp_path / "broken",
        tmp_path / "no" / "such",
        "mysql://x/y",
        "postgresql://u:secret@127.0.0.1:1/d",
    ):
        with pytest.raises(DiscreetError) as error:
            ServerStore(open_engine(address))
        assert "secret" not in str(error.value)
        assert "\n" not in str(error.value)


def test_a_shown_address_has_no_password():
    assert shown_database("postgresql://u:secret@host/d") == "postgresql://…@host/d"
    assert shown_database("serving.sqlite") == "serving.sqlite"
