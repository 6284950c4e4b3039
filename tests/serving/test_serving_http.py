"""The contract over real HTTP: what is answered, and what is refused with which words."""

import base64
import json
import math
import socket
import struct
import time
import uuid
import zlib
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from served_world import TOPICS, StandInModel, running_server, small_world
from serving_messages import ADMIN, TOKEN, catalogue, question, refused, sketch, sketch_report, soon, text

from discreet.edge.reader.reports import label, label_mechanism, sketch_mechanism
from discreet.privacy.guarantee import Unit
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import Release


@pytest.fixture(scope="module")
def base():
    with running_server(admin_token=TOKEN) as base:
        yield base


@pytest.fixture(scope="module")
def client(base):
    with httpx.Client(base_url=base) as client:
        yield client


@pytest.fixture(scope="module")
def model(client):
    return client.get("/v1/model").json()


def label_report(client, model, limit=10, epsilon=0.3, **fields):
    answer = client.post("/v1/recommend", json=question(model, limit=limit)).json()
    slate = {"id": answer["slate"], "articles": [a["id"] for a in answer["articles"]], "signature": answer["signature"]}
    release = text(label([2], label_mechanism(limit, epsilon), SecureNoise()))
    return {
        "id": uuid.uuid4().hex,
        "kind": "label",
        "model": model["model"],
        "slate": slate,
        "release": release,
        **fields,
    }


def test_the_model_says_what_is_asked_for_and_what_each_ranking_costs(client, model):
    assert model["api"] == 3
    assert model["topics"] == TOPICS
    assert model["epsilon"] == {"sketch": 0.7, "label": 0.3, "lifetime": 1.0}
    assert [ranking["name"] for ranking in model["rankings"]] == ["local", "shortlist", "server"]
    assert [ranking["epsilon"] for ranking in model["rankings"]] == [0, 0.7, 0.7]
    assert all(ranking["bytes_a_day"] > 0 for ranking in model["rankings"])
    assert len(model["vectors"]["centre"]) == model["vectors"]["dimension"] == 64
    assert "etag" not in client.get("/v1/model").headers


def test_the_catalogue_has_vectors_that_are_the_articles(client, model):
    articles = list(catalogue(client).values())
    data = small_world()
    assert sorted(a["id"] for a in articles) == sorted(data.articles.ids)
    served = StandInModel(list(data.articles.titles))
    exact = served.coordinates(served.title_vectors([a["title"] for a in articles]))
    sent = np.array([np.frombuffer(base64.b64decode(a["vector"]), np.int8) for a in articles])
    assert np.abs(sent * model["vectors"]["scale"] - exact).max() <= model["vectors"]["scale"] / 2 + 1e-6


def test_a_recommendation_is_the_exact_best_for_what_was_released(client, model):
    released = [sketch(clicks=[5] * 9), sketch(clicks=[2])]
    sketches = [{"epoch": e, "clicks": c, "release": r} for e, c, r in zip((11, 12), (9, 1), released, strict=True)]
    answer = client.post("/v1/recommend", json=question(model, sketches=sketches, limit=15)).json()
    data = small_world()
    served = StandInModel(list(data.articles.titles))
    counts = sum(Release.from_bytes(base64.b64decode(r)).payload.integers for r in released)
    vectors = served.title_vectors(data.articles.titles)
    personal = served.article_scores(vectors, data.articles.categories) @ served.interest(counts, 10, 2)
    whole = catalogue(client)
    scores = {name: whole[name]["base"] + p for name, p in zip(data.articles.ids, personal, strict=True)}
    assert answer["personal"] is True
    best = sorted(scores.values(), reverse=True)[:15]
    assert [scores[a["id"]] for a in answer["articles"]] == pytest.approx(best, abs=1e-3)


def test_without_sketches_everybody_gets_the_same_ranking(client, model):
    answer = client.post("/v1/recommend", json={"space": model["space"], "limit": 5}).json()
    assert answer["personal"] is False
    bases = [a["base"] for a in answer["articles"]]
    assert bases == sorted(bases, reverse=True)


def test_filters_diversity_and_details(client, model):
    everything = list(catalogue(client).values())
    category = everything[0]["category"]
    answer = client.post("/v1/recommend", json=question(model, category=[category], details=True)).json()
    assert answer["articles"]
    assert {a["category"] for a in answer["articles"]} == {category}
    assert all(len(base64.b64decode(a["vector"])) == 64 for a in answer["articles"])
    newest = max(a["published"] for a in everything)
    hours = (time.time() - newest) / 3600 + 24
    answer = client.post("/v1/recommend", json=question(model, max_age_hours=hours, details=True, limit=500)).json()
    assert {a["id"] for a in answer["articles"]} == {a["id"] for a in everything if a["published"] >= newest - 86_390}
    kinds = {a["id"]: a["category"] for a in everything}
    plain, diverse = (
        client.post("/v1/recommend", json=question(model, diversity=d, limit=8)).json()["articles"] for d in (0.0, 1.0)
    )
    assert len({kinds[a["id"]] for a in diverse}) >= len({kinds[a["id"]] for a in plain})
    assert client.post("/v1/recommend", json=question(model, category=["no such"])).json()["articles"] == []


def test_open_counts_are_added(client, model):
    opened = [0] * TOPICS
    opened[3] = 50
    ask = {"space": model["space"], "open": opened, "limit": 10}
    answer = client.post("/v1/recommend", json=ask).json()
    assert answer["personal"] is True
    refused(client.post("/v1/recommend", json={**ask, "open": [1]}), 422, "open has 1 counts")


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"space": "0123"}, 409, "ask /v1/model again"),
        ({"unknown": 1}, 422, "unknown"),
        ({"limit": 0}, 422, "limit"),
        ({"limit": "20"}, 422, "limit"),
        ({"limit": 501}, 422, "limit"),
        ({"diversity": 1.5}, 422, "diversity"),
        ({"sketches": [{"epoch": 10**5, "clicks": 3, "release": sketch()}]}, 422, "in the future"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": sketch()}] * 2}, 422, "same epoch"),
        ({"sketches": [{"epoch": 1, "clicks": None, "release": sketch()}]}, 422, "clicks"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": "no base64"}]}, 422, "not base64"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": "AAAA"}]}, 422, "not a release"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": sketch(topics=5)}]}, 422, "5 integers"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": sketch(0.5)}]}, 422, "epsilon 0.5"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": sketch(70.0)}]}, 422, "epsilon 70"),
        ({"sketches": [{"epoch": 1, "clicks": 3, "release": sketch(hide_length=True)}]}, 422, "adjacency add/remove"),
        ({"sketches": [{"epoch": e, "clicks": 3, "release": sketch()} for e in range(129)]}, 422, "sketches"),
    ],
)
def test_what_cannot_be_ranked_with_is_refused(client, model, change, status, words):
    refused(client.post("/v1/recommend", json=question(model, **change)), status, words)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["diversity", "max_age_hours", "limit"])
def test_numbers_that_are_none_are_refused(client, model, field, number):
    body = json.dumps(question(model))[:-1] + f', "{field}": {number}}}'
    answer = client.post("/v1/recommend", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


def forged(change):
    """A release with some of its bytes changed, and a checksum that fits."""
    data = bytearray(base64.b64decode(sketch()))
    change(data)
    body = bytes(data[:-4])
    return base64.b64encode(body + struct.pack("<I", zlib.crc32(body))).decode()


def put(position, value):
    return lambda data: data.__setitem__(slice(position, position + len(value)), value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put(3, bytes([list(Unit).index(Unit.USER)])), "unit user"),
        (put(5, b"\x02"), "adversary outsider"),
        (put(6, b"\x02"), "scope lifetime"),
        (put(8, struct.pack("<d", math.inf)), "epsilon inf"),
        (put(8, struct.pack("<d", math.nan)), "damaged"),
        (put(16, struct.pack("<d", 1e-5)), "delta 1e-05"),
        (put(24, struct.pack("<d", 0.7)), "damaged"),
        (put(32, b"\x02\x00"), "version 2"),
        (put(35, b"tropic"), "mechanism tropic"),
        (put(2, b"\x09"), "format 9"),
    ],
)
def test_forged_guarantees_are_refused(client, model, change, words):
    sketches = [{"epoch": 1, "clicks": 3, "release": forged(change)}]
    refused(client.post("/v1/recommend", json=question(model, sketches=sketches)), 422, words)
    refused(client.post("/v1/reports", json=sketch_report(model, release=sketches[0]["release"])), 422, words)


def test_counts_that_no_noise_makes_are_refused(client, model):
    from discreet.privacy.release_format import encode

    mechanism = sketch_mechanism(TOPICS, 0.7)
    far = encode(np.full(TOPICS, 2**40, np.int64), 1.0, mechanism.guarantee())
    sketches = [{"epoch": 1, "clicks": 3, "release": base64.b64encode(far).decode()}]
    refused(client.post("/v1/recommend", json=question(model, sketches=sketches)), 422, "cannot have made")


def test_a_damaged_release_is_refused(client, model):
    data = bytearray(base64.b64decode(sketch()))
    data[-6] ^= 1
    sketches = [{"epoch": 1, "clicks": 3, "release": base64.b64encode(data).decode()}]
    refused(client.post("/v1/recommend", json=question(model, sketches=sketches)), 422, "checksum")


def test_reports_are_kept_once_and_known_afterwards(client, model):
    for report in (sketch_report(model), label_report(client, model)):
        assert [client.post("/v1/reports", json=report).status_code for _ in range(3)] == [201, 200, 200]
        other = sketch_report(model, id=report["id"])
        refused(client.post("/v1/reports", json=other), 409, "its contents are others")


def test_one_sketch_for_each_device_and_epoch_and_one_label_for_each_slate(client, model):
    first = sketch_report(model)
    assert client.post("/v1/reports", json=first).status_code == 201
    refused(client.post("/v1/reports", json=sketch_report(model, device=first["device"])), 409, "device and epoch")
    assert client.post("/v1/reports", json=sketch_report(model, device=first["device"], epoch=13)).status_code == 201
    told = label_report(client, model)
    assert client.post("/v1/reports", json=told).status_code == 201
    refused(client.post("/v1/reports", json={**told, "id": uuid.uuid4().hex}), 409, "one label for each slate")


def test_labels_that_do_not_fit_their_slate_are_refused(client, model):
    told = label_report(client, model)
    swapped = {**told["slate"], "articles": told["slate"]["articles"][::-1]}
    refused(client.post("/v1/reports", json={**told, "slate": swapped}), 422, "signature")
    refused(client.post("/v1/reports", json={**told, "model": "old"}), 409, model["model"])
    refused(client.post("/v1/reports", json=label_report(client, model, epsilon=3.0)), 422, "epsilon 3")
    wrong = text(label([2], label_mechanism(30, 0.3), SecureNoise()))
    refused(client.post("/v1/reports", json={**told, "release": wrong}), 422, "positions")
    from discreet.privacy.release_format import encode

    guarantee = label_mechanism(10, 0.3).guarantee()
    size = label_mechanism(10, 0.3).subset_size
    for positions, words in ((np.arange(size) + 9, "outside"), (np.zeros(size, np.int64), "ascending")):
        made = base64.b64encode(encode(positions.astype(np.int64), 1.0, guarantee)).decode()
        refused(client.post("/v1/reports", json={**told, "release": made}), 422, words)


def test_a_slate_of_a_few_or_of_a_choice_takes_no_label(client, model):
    refused(client.post("/v1/reports", json=label_report(client, model, limit=9)), 422, "takes no label")
    category = next(iter(catalogue(client).values()))["category"]
    for chosen in ({"category": [category]}, {"max_age_hours": 1e6}):
        answer = client.post("/v1/recommend", json=question(model, limit=10, **chosen)).json()
        ids = [a["id"] for a in answer["articles"]]
        told = {**label_report(client, model), "slate": {"id": answer["slate"], "articles": ids}}
        told["slate"]["signature"] = answer["signature"]
        refused(client.post("/v1/reports", json=told), 422, "without category")


def test_an_old_device_and_a_fast_clock_are_told_so(client, model):
    refused(client.post("/v1/reports", json=sketch_report(model, space="old")), 409, model["space"])
    start = 1767225600
    epoch = int(time.time() - start) // 604800
    assert client.post("/v1/reports", json=sketch_report(model, epoch=epoch + 1)).status_code == 201
    refused(client.post("/v1/reports", json=sketch_report(model, epoch=epoch + 2)), 422, "clock")


def test_administration_needs_the_token(client):
    new = [{"id": "X1", "title": "Harbour opens a new pier", "category": "local"}]
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
        refused(client.put("/v1/admin/articles", json=new, headers=headers), 401, "token")
        refused(client.delete("/v1/admin/articles/X1", headers=headers), 401, "token")
    with running_server() as base:
        assert httpx.put(f"{base}/v1/admin/articles", json=new, headers=ADMIN).status_code == 404


def test_an_administrator_lists_and_takes_down(client):
    new = [{"id": "X1", "title": "Harbour opens a new pier"}, {"id": "X2", "title": "Pier closes", "published": 5}]
    assert client.put("/v1/admin/articles", json=new, headers=ADMIN).status_code == 202
    soon(client, {"X1", "X2"}, there=True)
    assert client.delete("/v1/admin/articles/X1", headers=ADMIN).status_code == 200
    assert client.post("/v1/admin/articles/X2/expire", headers=ADMIN).status_code == 200
    soon(client, {"X1", "X2"}, there=False)
    refused(client.delete("/v1/admin/articles/X1", headers=ADMIN), 404, "no article")
    refused(client.put("/v1/admin/articles", json=[{"id": "a\x00b", "title": ""}], headers=ADMIN), 422, "id")
    refused(client.put("/v1/admin/articles", json=[{"id": "a", "title": "a\x00"}], headers=ADMIN), 422, "title")


def test_an_article_has_links_a_section_and_a_date_in_either_form(client):
    new = [
        {"id": "L1", "title": "Harbour", "url": "https://news.example/L1", "image": "https://news.example/L1.jpg"},
        {"id": "L2", "title": "Pier", "section": "sea", "published": "2019-11-09T08:00:00Z"},
        {"id": "L3", "title": "Dock", "published": "2019-11-09T09:00:00+01:00"},
        {"id": "L4", "title": "Buoy", "published": 1573286400},
        {"id": "L5", "title": "Mole", "published": "2019-11-09"},
    ]
    assert client.put("/v1/admin/articles", json=new, headers=ADMIN).status_code == 202
    found = soon(client, {a["id"] for a in new}, there=True)
    assert (found["L1"]["url"], found["L1"]["image"]) == (new[0]["url"], new[0]["image"])
    assert found["L2"]["section"] == "sea"
    assert [found[name]["published"] for name in ("L2", "L3", "L4", "L5")] == [1573286400] * 3 + [1573257600]
    for change in (
        {"published": "yesterday"},
        {"published": "1950-01-01"},
        {"published": True},
        {"published": 1.5},
        {"url": "javascript:alert(1)"},
        {"image": "data:image/png;base64,AA"},
        {"section": "s" * 201},
    ):
        answer = client.put("/v1/admin/articles", json=[{"id": "L9", "title": "", **change}], headers=ADMIN)
        refused(answer, 422, next(iter(change)))
    for name in ("L1", "L2", "L3", "L4", "L5"):
        client.delete(f"/v1/admin/articles/{name}", headers=ADMIN)


def test_whatever_can_be_listed_can_be_taken_down(client):
    odd = ["a/b", "/", "a//b/", "x/expire", "ä?b#c%20", "a b", "__proto__", "constructor", "%2F", "😀", "a\\b", "..."]
    new = [{"id": name, "title": f"Harbour {name}", "category": "__proto__"} for name in odd]
    assert client.put("/v1/admin/articles", json=new, headers=ADMIN).status_code == 202
    soon(client, set(odd), there=True)
    for place, name in enumerate(odd):
        address = f"/v1/admin/articles/{quote(name, safe='')}"
        answer = client.delete(address, headers=ADMIN) if place % 2 else client.post(f"{address}/expire", headers=ADMIN)
        assert answer.status_code == 200, (name, answer.text)
        assert answer.json()["id"] == name
    soon(client, set(odd), there=False)


def test_an_address_names_an_article_in_every_call(client):
    page = "https://news.example/read?id="
    new = [{"id": f"U{n}", "title": f"Harbour {n}", "url": f"{page}{n}"} for n in range(3)]
    assert client.put("/v1/admin/articles", json=new, headers=ADMIN).status_code == 202
    soon(client, {"U0", "U1", "U2"}, there=True)
    again = {"id": "mine", "title": "Harbour again", "url": f"{page}0&utm_source=x"}
    assert client.put("/v1/admin/articles", json=[again], headers=ADMIN).status_code == 202
    after = client.get("/v1/admin/articles", params={"after": f"{page}0#top", "limit": 1}, headers=ADMIN).json()
    assert after["articles"][0]["id"] == "U1"
    other = quote("http://NEWS.example/read?utm_source=mail&id=1", safe="")
    refused(
        client.delete(f"/v1/admin/articles/{page}1", headers=ADMIN), 422, "%3F"
    )  # else it were another page's address
    assert client.delete(f"/v1/admin/articles/{other}", headers=ADMIN).json() == {"id": "U1", "state": "deleted"}
    refused(client.delete(f"/v1/admin/articles/{other}", headers=ADMIN), 404, "no article has the address")
    for name in (quote(f"{page}2", safe=""), "mine"):
        assert client.post(f"/v1/admin/articles/{name}/expire", headers=ADMIN).status_code == 200
    soon(client, {"U0", "U1", "U2"}, there=False)


def test_a_large_body_is_refused_before_it_is_read(base):
    host, port = base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = ["POST /v1/recommend HTTP/1.1", "Host: x", "Content-Type: application/json", "Content-Length: 10000000"]
        connection.sendall("\r\n".join([*head, "", ""]).encode())  # and not one byte of the body
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_large_body_of_unknown_length_is_refused_on_the_way(base):
    sent = 0

    def body():
        nonlocal sent
        for _ in range(160):
            sent += 65_536
            yield b" " * 65_536

    try:
        answer = httpx.post(f"{base}/v1/recommend", content=body(), headers={"Content-Type": "application/json"})
    except httpx.TransportError:  # the server may hang up while we are still sending
        return
    refused(answer, 413, "larger than")


def test_only_json_is_read(client, model):
    refused(client.post("/v1/recommend", content=json.dumps(question(model))), 415, "Content-Type")
    headers = {"Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10_000):
        assert client.post("/v1/recommend", content=body, headers=headers).status_code == 422


def test_every_answer_has_strict_headers_and_no_third_party_is_asked(client):
    for path in ("/", "/docs", "/v1/model", "/nowhere", "/healthz", "/v1/recommend"):
        answer = client.get(path)
        assert answer.headers["content-security-policy"].startswith("default-src 'self'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers
    page = client.get("/docs").text
    assert "http://" not in page
    assert "https://" not in page
    assert "<script" not in page


def test_the_description_has_examples_and_bodies(client):
    document = client.get("/openapi.json").json()
    ask = document["paths"]["/v1/recommend"]["post"]["requestBody"]["content"]["application/json"]
    assert ask["examples"]
    assert ask["schema"]["$ref"].rsplit("/", 1)[1] in document["components"]["schemas"]


def test_health_readiness_and_metrics(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"ready": True, "why": ""}
    metrics = client.get("/metrics", headers=ADMIN).text
    assert 'discreet_requests_total{route="/healthz",status="200"}' in metrics
    assert "discreet_articles" in metrics


def test_the_page_of_the_description_has_the_fields_of_every_message(client):
    page = client.get("/docs").text
    for name in ("RecommendRequest", "SketchReport", "LabelReport", "NewArticle", "CatalogueAnswer", "ModelAnswer"):
        assert f'<h2 id="{name}">' in page
    for field in ("max_age_hours", "signature", "published", "front_bases", "weights", "categories", "image"):
        assert f"<code>{field}</code>" in page
    assert "at most 500" in page
    assert "array of" in page
