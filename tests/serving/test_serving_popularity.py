"""What is learnt from label reports: honest ones teach, forged ones are bounded, none is counted twice or missed."""

import json
import threading
from functools import cache

import numpy as np
import pytest
from served_world import StandInModel, small_world

from discreet.edge.reader.reports import label_mechanism
from discreet.privacy.noise import SimulatedNoise
from discreet.privacy.release_format import encode
from discreet.serving.database_tables import open_engine
from discreet.serving.label_popularity import MAX_RATE, LabelPopularity
from discreet.serving.refusal import RequestRefusal
from discreet.serving.server_store import DELETED, KeptReport, ServerStore, Waiting
from discreet.serving.slates import Slates
from discreet.serving.updater import REFRESH_SECONDS, TIDY_SECONDS, SnapshotUpdater

EPSILON, SLATE = 3.0, 10
IDS = [f"A{n}" for n in range(200)]


@pytest.fixture
def store(database):
    store = ServerStore(open_engine(database))
    yield store
    store.close()


@pytest.fixture
def in_sqlite(tmp_path):
    """For what does not depend on the database."""
    store = ServerStore(open_engine(tmp_path / "serving.sqlite"))
    yield store
    store.close()


@cache
def guarantee(articles, epsilon):
    return label_mechanism(articles, epsilon).guarantee()


def kept(number, articles, positions, epoch=5, epsilon=EPSILON):
    release = encode(np.sort(positions).astype(np.int64), 1.0, guarantee(len(articles), epsilon))
    name = f"{number:032x}"
    return KeptReport(name, "label", b"", "v", epoch, epoch, release, slate=name, articles=json.dumps(articles))


def honest(count, appeal, start=0):
    rng, noise, mechanism = np.random.default_rng(start), SimulatedNoise(start), label_mechanism(SLATE, EPSILON)
    for number in range(start, start + count):
        rows = rng.choice(len(IDS), SLATE, replace=False)
        clicked = int(rng.choice(SLATE, p=appeal[rows] / appeal[rows].sum()))
        yield kept(number, [IDS[row] for row in rows], mechanism.release(clicked, noise).payload.integers)


def forged(count, target, start=10**6):
    rng, size = np.random.default_rng(start), label_mechanism(SLATE, EPSILON).subset_size
    others = [article for article in IDS if article != target]
    for number in range(start, start + count):
        slate = [target, *(others[n] for n in rng.choice(len(others), SLATE - 1, replace=False))]
        yield kept(number, slate, np.concatenate(([0], 1 + rng.choice(SLATE - 1, size - 1, replace=False))))


def learnt(store):
    popularity = LabelPopularity("v", EPSILON)
    popularity.count(store)
    popularity.read(store)
    return popularity.of(IDS)


@pytest.mark.long
def test_honest_labels_teach_which_articles_are_popular(in_sqlite):
    store, appeal = in_sqlite, np.where(np.arange(len(IDS)) < 40, 2.0, 0.8)
    store.keep_reports(list(honest(6000, appeal)))
    found = learnt(store)
    assert np.corrcoef(found, appeal)[0, 1] > 0.8
    assert found[:40].min() > found[40:].mean()
    assert 0.2 < found[:40].mean() < 1.0


@pytest.mark.long
def test_forged_labels_are_no_stronger_than_their_number(in_sqlite):
    store = in_sqlite
    store.keep_reports(list(honest(3000, np.ones(len(IDS)))))
    store.keep_reports(list(forged(100, "A7")))
    first = learnt(store)[7]
    store.keep_reports(list(forged(2000, "A7", start=2 * 10**6)))
    second = learnt(store)[7]
    assert 0 < first < 0.8
    assert first < second < MAX_RATE - 1
    assert np.abs(np.delete(learnt(store), 7)).max() < 1.0


def test_forged_labels_alone_teach_no_large_differences(in_sqlite):
    store = in_sqlite
    store.keep_reports(list(forged(100, "A7")))
    found = learnt(store)
    assert found[7] < 0.7
    assert np.abs(np.delete(found, 7)).max() < 0.3


def test_labels_are_counted_once_whoever_counts_them(store, database):
    reports = list(honest(300, np.ones(len(IDS))))
    store.keep_reports(reports[:200])
    whole = learnt(store)
    assert (learnt(store) == whole).all()  # a second start
    other = ServerStore(open_engine(database))
    other.keep_reports(reports[200:])
    after = store.counted("v")
    assert other.add_sums("v", after, after + 1, {"A1": [1.0, 1.0]})
    assert not store.add_sums("v", after, after + 1, {"A1": [1.0, 1.0]})
    other.close()


def test_sums_in_parts_are_the_sums_at_once(store, database, tmp_path):
    reports = list(honest(300, np.ones(len(IDS))))
    popularity = LabelPopularity("v", EPSILON)
    for start in range(0, 300, 60):
        store.keep_reports(reports[start : start + 60])
        popularity.count(store)
        popularity.read(store)
    other = ServerStore(open_engine(tmp_path / "other.sqlite"))
    other.keep_reports(reports)
    assert popularity.of(IDS) == pytest.approx(learnt(other))
    other.close()


def test_no_report_is_missed_that_was_committed_late(store, database):
    """Two servers write at once; the one that began first commits last."""
    slow, quick = ServerStore(open_engine(database)), ServerStore(open_engine(database))
    reports = list(honest(2, np.ones(len(IDS))))
    inside, go_on, done = threading.Event(), threading.Event(), threading.Event()
    keep = slow._keep_report

    def waits(connection, report):
        outcome = keep(connection, report)
        inside.set()
        assert go_on.wait(20)
        return outcome

    slow._keep_report = waits
    first = threading.Thread(target=lambda: slow.keep_reports(reports[:1]), daemon=True)
    first.start()
    assert inside.wait(20)
    second = threading.Thread(target=lambda: (quick.keep_reports(reports[1:]), done.set()), daemon=True)
    second.start()
    done.wait(0.3)
    popularity = LabelPopularity("v", EPSILON)
    popularity.count(store)
    go_on.set()
    first.join(20)
    second.join(20)
    assert done.is_set()
    popularity.count(store)
    popularity.read(store)
    assert np.count_nonzero(popularity.of(IDS)) > SLATE  # the articles of both
    slow.close()
    quick.close()


def test_a_deleted_article_leaves_no_sums(store):
    store.put_articles([Waiting("A1", "storm", "", "", -1, 5)])
    store.keep_reports(list(honest(100, np.ones(len(IDS)))))
    learnt(store)
    store.take_down("A1", DELETED)
    assert "A1" not in {row.article for row in store.sums("v", 0)}
    assert len(store.sums("v", 0)) > 100


class Clocks:
    def __init__(self):
        self.wall, self.passed = 1.8e9, 0.0


@pytest.fixture
def clocks():
    return Clocks()


@pytest.fixture
def updater(store, clocks):
    model = StandInModel(list(small_world().articles.titles))
    model.version, model.epsilon_label = "v", EPSILON
    store.put_articles([Waiting(name, f"storm {name}", "", "", -1, int(clocks.wall) - 3600) for name in IDS])
    return SnapshotUpdater(
        model, store, lambda: clocks.wall, forget_before=lambda: int(clocks.wall - 1.8e9), passed=lambda: clocks.passed
    )


def test_a_start_does_not_wait_for_labels(store, updater, clocks):
    store.keep_reports(list(honest(50, np.ones(len(IDS)))))
    counted = []
    updater._popularity.count = lambda *_: counted.append(updater.ready)
    updater.step()
    assert updater.ready
    assert counted == []
    clocks.passed += REFRESH_SECONDS
    updater.step()
    assert counted == [True]


def test_what_was_learnt_is_there_at_once_after_a_restart(store, updater, clocks):
    store.keep_reports(list(forged(100, "A7")))
    updater.step()
    before = updater.snapshot.base.copy()
    clocks.passed += REFRESH_SECONDS
    updater.step()
    lifted = updater.snapshot.base - before
    assert lifted.argmax() == updater.snapshot.ids.index("A7")
    again = SnapshotUpdater(updater._model, store, lambda: clocks.wall, passed=lambda: clocks.passed)
    again.step()
    assert again.snapshot.base == pytest.approx(updater.snapshot.base)


def test_old_reports_are_forgotten_and_what_they_taught_stays(store, updater, clocks):
    rows = list(forged(30, "A7"))
    store.keep_reports([*rows[:20], *(KeptReport(**{**vars(row), "received": 500}) for row in rows[20:])])
    updater.step()
    clocks.passed += REFRESH_SECONDS
    updater.step()
    learnt_before = updater._popularity.of(IDS)
    clocks.wall += 100
    clocks.passed += TIDY_SECONDS
    updater.step()
    assert len(store.labels("v", 0, 1000)) == 10
    assert (updater._popularity.of(IDS) == learnt_before).all()
    assert learnt_before[7] > 0


def test_a_clock_that_is_set_back_does_not_stop_refreshes(store, updater, clocks):
    updater.step()
    before = updater.snapshot.base.copy()
    clocks.wall -= 1800
    clocks.passed += REFRESH_SECONDS
    updater.step()
    assert (updater.snapshot.base > before).all()  # by this clock they are younger


def test_a_clock_that_was_far_ahead_freezes_nothing(store, updater, clocks):
    updater.step()
    clocks.wall += 400 * 86_400
    store.put_articles([Waiting("late", "a late storm", "", "", -1, int(clocks.wall))])
    clocks.passed += REFRESH_SECONDS
    updater.step()
    clocks.wall -= 400 * 86_400
    clocks.passed += TIDY_SECONDS
    updater.step()
    clocks.passed += REFRESH_SECONDS
    updater.step()
    place = updater.snapshot.ids.index("late")
    fresh = updater.snapshot.base[place]
    clocks.wall += 7 * 86_400
    clocks.passed += REFRESH_SECONDS
    updater.step()
    assert updater.snapshot.base[place] < fresh - 0.05  # it ages


def test_a_database_that_was_put_back_is_read_again(store, updater, clocks):
    updater.step()
    assert len(updater.snapshot) == len(IDS)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE counters SET value = 100 WHERE name = 'revision'")
        connection.exec_driver_sql("DELETE FROM articles WHERE revision > 100")
    updater.step()
    assert len(updater.snapshot) == 100
    listed = json.loads(updater.catalogue.listing.plain())
    assert sum(page["articles"] for page in listed["pages"]) == 100


def test_a_slate_takes_a_label_for_as_long_as_reports_are_kept():
    slates, articles = Slates(b"k" * 32, 13), [f"A{n}" for n in range(10)]
    slate, signature = slates.sign("m", articles, 20, labelled=True)
    assert len(slate) == 32
    slates.require("m", slate, articles, signature, 20)
    slates.require("m", slate, articles, signature, 33)
    with pytest.raises(RequestRefusal, match="older"):
        slates.require("m", slate, articles, signature, 34)
    with pytest.raises(RequestRefusal, match="signature"):
        slates.require("m", f"{33:08x}{slate[8:]}", articles, signature, 34)
    slate, signature = slates.sign("m", articles[:9], 20, labelled=True)
    with pytest.raises(RequestRefusal, match="takes no label"):
        slates.require("m", slate, articles[:9], signature, 20)
    slate, signature = slates.sign("m", articles, 20, labelled=False)
    with pytest.raises(RequestRefusal, match="without category"):
        slates.require("m", slate, articles, signature, 20)


def test_start_up_does_not_depend_on_the_number_of_labels(tmp_path):
    """100,000 labels, counted, are read back as the sums of their articles."""
    store = ServerStore(open_engine(tmp_path / "serving.sqlite"))
    rows = [kept(number, IDS[:SLATE], np.arange(label_mechanism(SLATE, EPSILON).subset_size)) for number in range(20)]
    store.keep_reports(rows)
    learnt(store)
    with store.engine.begin() as connection:  # as many more, which count as counted
        connection.exec_driver_sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
            "INSERT INTO reports (id, kind, digest, version, epoch, slate, articles, release) "
            "SELECT 'x' || i, 'label', r.digest, 'v', 5, 'x' || i, r.articles, r.release FROM n, "
            "(SELECT * FROM reports LIMIT 1) r"
        )
        connection.exec_driver_sql(
            "UPDATE counters SET value = (SELECT max(number) FROM reports) WHERE name LIKE 'labels counted%'"
        )
    read, labels = [], store.labels
    store.labels = lambda *which: [read.append(label) or label for label in labels(*which)]
    popularity = LabelPopularity("v", EPSILON)
    popularity.count(store)
    popularity.read(store)
    assert read == []
    assert np.count_nonzero(popularity.of(IDS)) == SLATE
    store.close()
