"""The catalogue as it is sent: pages named by their content, the same for all, and enough at once for a first page."""

import base64
import gzip
import hashlib
import json

import httpx
import numpy as np
import pytest
from served_world import StandInModel, running_server, small_world

from discreet.protocol.check import read
from discreet.serving.catalogue_pages import FRONT, KEPT_SECONDS, CataloguePages, cuts
from discreet.serving.database_tables import open_engine
from discreet.serving.ranker import diverse_order
from discreet.serving.server_store import DELETED, EXPIRED, ServerStore, Waiting
from discreet.serving.updater import SnapshotUpdater


def many(count, start=0):
    names = range(start, start + count)
    return [Waiting(f"A{n}", f"storm number {n} hits", "", f"c{n % 5}", 1000 + n, 1000 + n) for n in names]


@pytest.fixture(scope="module")
def model():
    return StandInModel(list(small_world().articles.titles))


@pytest.fixture
def store(tmp_path):
    store = ServerStore(open_engine(tmp_path / "serving.sqlite"))
    yield store
    store.close()


@pytest.fixture
def updater(store, model):
    return SnapshotUpdater(model, store, clock=lambda: 10_000.0)


def listing(catalogue):
    return read("catalogue", catalogue.listing.plain())


def names(catalogue):
    return [page["name"] for page in listing(catalogue)["pages"]]


def articles(catalogue):
    """All articles by their pages, after the checks that a device makes."""
    found = []
    for page in listing(catalogue)["pages"]:
        body = catalogue.page(page["name"]).plain()
        assert hashlib.sha256(body).hexdigest() == page["name"]
        entries = read("page", body)["articles"]
        assert len(entries) == page["articles"]
        found += entries
    assert len({a["id"] for a in found}) == len(found)
    return found


def sizes(revisions, latest):
    return [last - first for first, last in cuts(np.asarray(revisions, np.int64), latest)]


def test_pages_are_of_512_then_64_then_8_then_the_rest():
    assert sizes(range(1, 1228), 1227) == [512, 512, 64, 64, 64, 8, 3]
    assert sizes([], 0) == []
    assert sizes([], 700) == []
    assert sizes([5], 5) == [1]


def test_every_article_is_in_one_page_whatever_was_taken_down():
    rng = np.random.default_rng(0)
    for latest in (1, 8, 9, 64, 600, 5000, 40_000):
        for share in (0.01, 0.3, 1.0):
            revisions = np.flatnonzero(rng.random(latest) < share) + 1
            found = list(cuts(revisions, latest))
            assert [0, *(last for _, last in found)][: len(found)] == [first for first, _ in found]
            assert sum(last - first for first, last in found) == len(revisions)
            assert all(0 < last - first <= 512 for first, last in found)


def test_a_sparse_catalogue_has_few_pages():
    assert len(sizes(range(500, 4_000_000, 4000), 4_000_000)) < 30


def test_the_catalogue_is_all_articles_with_their_base_scores(store, updater):
    store.put_articles(many(700))
    updater.step()
    found = articles(updater.catalogue)
    assert [a["id"] for a in found] == updater.snapshot.ids
    head = listing(updater.catalogue)
    bases = np.frombuffer(base64.b64decode(head["bases"]), "<f4")
    assert (bases == updater.snapshot.base).all()
    by_id = dict(zip(updater.snapshot.ids, bases.tolist(), strict=True))
    assert [by_id[a["id"]] for a in head["front"]] == head["front_bases"]
    assert len(head["front"]) == FRONT
    whole = {a["id"]: a for a in found}
    assert all(whole[a["id"]] == a for a in head["front"])
    body = json.loads(updater.catalogue.page(head["pages"][0]["name"]).plain())
    assert body["articles"][0] == found[0]  # nothing in it that the schema does not name


def test_a_change_leaves_other_pages_as_they_are(store, updater):
    store.put_articles(many(1100))
    updater.step()
    before = names(updater.catalogue)
    made = [updater.catalogue.page(name) for name in before]
    store.put_articles(many(1, start=5000))
    updater.step()
    after = names(updater.catalogue)
    assert after[:-1] == before[: len(after) - 1]
    assert all(updater.catalogue.page(name) is page for name, page in zip(before, made, strict=True))
    store.take_down("A100", EXPIRED)
    updater.step()
    last = names(updater.catalogue)
    assert sum(name not in after for name in last) == 1  # its own
    assert [a["id"] for a in articles(updater.catalogue)] == updater.snapshot.ids
    assert "A100" not in updater.snapshot.ids


def test_two_servers_and_one_that_starts_again_have_the_same_pages(store, updater, model):
    store.put_articles(many(90))
    updater.step()
    for number, name in enumerate(("A3", "A77", "A40")):
        store.take_down(name, DELETED)
        store.put_articles(many(2, start=200 + 2 * number))
        updater.step()
    store.take_down("nobody", DELETED)
    again = SnapshotUpdater(model, store, clock=lambda: 10_000.0)
    again.step()
    assert names(again.catalogue) == names(updater.catalogue)
    assert again.catalogue.listing == updater.catalogue.listing


def test_a_page_that_has_left_can_be_had_for_a_while(store, updater):
    passed = [0.0]
    catalogue = CataloguePages("m", "s", 0.0, passed=lambda: passed[0])
    store.put_articles(many(20))
    updater.step()
    catalogue.change(updater.snapshot)
    before = names(catalogue)
    store.take_down("A1", EXPIRED)
    updater.step()
    catalogue.change(updater.snapshot)
    assert before[0] not in names(catalogue)
    assert catalogue.page(before[0]) is not None
    passed[0] = KEPT_SECONDS - 1
    catalogue.change(updater.snapshot)
    assert catalogue.page(before[0]) is not None
    passed[0] = KEPT_SECONDS + 1
    catalogue.change(updater.snapshot)
    assert catalogue.page(before[0]) is None
    assert all(catalogue.page(name) for name in names(catalogue))


def test_diversity_takes_the_best_less_a_malus_for_each_of_the_category_before():
    scores = np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0])
    categories = np.array([0, 0, 0, 1, 1, 2])
    assert diverse_order(scores, categories, 6, 0.0).tolist() == [0, 1, 2, 3, 4, 5]
    order, malus = [], 0.9 * scores.std()
    for _ in range(6):
        left = [n for n in range(6) if n not in order]
        order.append(max(left, key=lambda n: scores[n] - malus * sum(categories[k] == categories[n] for k in order)))
    assert diverse_order(scores, categories, 6, 0.9).tolist() == order
    assert order != sorted(order)
    assert diverse_order(scores[:0], categories[:0], 3, 0.5).tolist() == []


def test_the_first_page_is_not_of_one_category(store, model):
    """All best articles are of one category: without diversity a newcomer sees nothing else."""
    of_one = [Waiting(f"S{n}", f"storm {n}", "", "sports", 9000, 9000) for n in range(100)]
    others = [Waiting(f"O{n}", f"storm {n}", "", f"c{n % 10}", 5000, 5000) for n in range(100)]
    store.put_articles([*of_one, *others])
    shares = []
    for diversity in (0.0, 0.3):
        updater = SnapshotUpdater(model, store, clock=lambda: 10_000.0, diversity=diversity)
        updater.step()
        first = [a["category"] for a in listing(updater.catalogue)["front"]][:20]
        shares.append(first.count("sports") / 20)
    assert shares[0] == 1.0
    assert shares[1] <= 0.5


@pytest.fixture(scope="module")
def base():
    with running_server() as base:
        yield base


def test_pages_over_http_are_compressed_kept_for_ever_and_echo_nothing(base):
    with httpx.Client(base_url=base) as client:
        answer = client.get("/v1/catalogue")
        head = answer.json()
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["cache-control"] == "no-store"
        found = []
        for page in head["pages"]:
            answer = client.get(f"/v1/catalogue/{page['name']}")
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert "etag" not in answer.headers
            assert hashlib.sha256(answer.content).hexdigest() == page["name"]
            found += answer.json()["articles"]
        assert sorted(a["id"] for a in found) == sorted(small_world().articles.ids)
        plain = client.get(f"/v1/catalogue/{head['pages'][0]['name']}", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert hashlib.sha256(plain.content).hexdigest() == head["pages"][0]["name"]
        for name in ("0" * 64, "x", "%00"):
            answer = client.get(f"/v1/catalogue/{name}")
            assert answer.status_code == 404
            assert "ask /v1/catalogue again" in answer.json()["error"]


def test_compressed_bytes_are_the_same_each_time():
    body = b'{"articles":[]}' * 50
    catalogue = [CataloguePages("m", "s", 0.0).listing.compressed for _ in range(2)]
    assert catalogue[0] == catalogue[1]
    assert gzip.compress(body, 6, mtime=0) == gzip.compress(body, 6, mtime=0)


def test_a_device_that_holds_the_answer_gets_no_body():
    with running_server() as base:
        for path in ("/v1/model", "/v1/catalogue"):
            body = httpx.get(f"{base}{path}").content
            again = httpx.get(f"{base}{path}", params={"holds": hashlib.sha256(body).hexdigest()})
            assert (again.status_code, again.content) == (204, b"")
            for other in ("", "0" * 64, hashlib.sha256(b"other").hexdigest()):
                answer = httpx.get(f"{base}{path}", params={"holds": other})
                assert (answer.status_code, answer.content) == (200, body)


def test_the_list_stays_the_same_until_articles_change_or_minutes_have_passed(store, model):
    """Else a device that asks again would get it whole each time: every base score has the age in it."""
    now, passed = [10_000.0], [0.0]
    updater = SnapshotUpdater(model, store, clock=lambda: now[0], passed=lambda: passed[0])
    store.put_articles(many(20))

    def digest(seconds):
        now[0] += seconds
        passed[0] += 100.0
        updater.step()
        return updater.catalogue.listing.digest

    first, same, later = digest(0), digest(150), digest(300)
    assert first == same != later
    store.take_down("A3", EXPIRED)
    assert digest(1) != later
