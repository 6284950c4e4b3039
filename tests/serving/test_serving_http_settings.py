"""The contract over real HTTP with other settings: limits, rankings, hidden lengths, an empty catalogue."""

import httpx
import pytest
from served_world import TOPICS, StandInModel, running_server, serving, small_world
from serving_messages import ADMIN, TOKEN, question, refused, sketch, sketch_report, soon

from discreet.serving.limits import ServerLimits
from discreet.serving.refusal import RequestRefusal
from discreet.serving.server import open_service
from discreet.serving.sketch_terms import SketchTerms


def test_an_empty_catalogue_is_not_ready(tmp_path):
    model = StandInModel(list(small_world().articles.titles))
    service = open_service(tmp_path, model, may_be_empty=True)
    with serving(service, admin_token=TOKEN) as base, httpx.Client(base_url=base) as client:
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["why"]) == (503, "the catalogue is empty")
        client.put("/v1/admin/articles", json=[{"id": "X1", "title": "Harbour"}], headers=ADMIN)
        soon(client, {"X1"}, there=True)
        assert client.get("/readyz").status_code == 200


def test_reports_are_asked_for_only_where_something_is_learnt(tmp_path):
    model = StandInModel(list(small_world().articles.titles))

    def asked(**settings):
        service = open_service(tmp_path, model, may_be_empty=True, **settings)
        service.close()
        return service.offer.reports

    assert not asked()  # devices rank by themselves
    assert asked(ranking="shortlist")
    assert asked(ranking="server")
    assert not asked(ranking="server", reports=False)
    model.uses_labels = False
    assert not asked(ranking="server")
    model.uses_labels, model.epsilon_label = True, 0.0
    assert not asked(ranking="server")


def test_one_address_may_not_ask_without_end():
    with running_server(limits=ServerLimits(rate=1, burst=5)) as base, httpx.Client(base_url=base) as client:
        answers = [client.get("/healthz") for _ in range(10)]
        assert [a.status_code for a in answers[:5]] == [200] * 5
        refused(answers[-1], 429, "too many")
        assert answers[-1].headers["retry-after"] == "1"


def test_one_address_has_a_share_of_reports_each_day():
    with (
        running_server(limits=ServerLimits(rate=0, max_reports_of_one=3)) as base,
        httpx.Client(base_url=base) as client,
    ):
        model = client.get("/v1/model").json()
        answers = [client.post("/v1/reports", json=sketch_report(model)) for _ in range(4)]
        assert [a.status_code for a in answers[:3]] == [201] * 3
        refused(answers[3], 429, "too many reports")
        assert answers[3].headers["retry-after"] == "3600"
        assert client.get("/v1/model").status_code == 200


def test_a_busy_server_says_so():
    with running_server(limits=ServerLimits(rate=0, max_concurrent=0)) as base:
        answer = httpx.get(f"{base}/healthz")
        refused(answer, 503, "busy")
        assert answer.headers["retry-after"] == "1"


def test_where_devices_rank_by_themselves_no_sketch_is_taken():
    with running_server(ranking="local", reports=False) as base, httpx.Client(base_url=base) as client:
        model = client.get("/v1/model").json()
        refused(client.post("/v1/recommend", json=question(model)), 409, "send no sketches")
        assert client.post("/v1/recommend", json={"space": model["space"]}).status_code == 200
        refused(client.post("/v1/reports", json=sketch_report(model)), 403, "no reports")


def test_hidden_lengths_stay_hidden():
    with running_server(hide_length=True) as base, httpx.Client(base_url=base) as client:
        model = client.get("/v1/model").json()
        assert model["adjacency"] == "add/remove"
        hidden = {"epoch": 1, "clicks": None, "release": sketch(hide_length=True)}
        assert client.post("/v1/recommend", json=question(model, sketches=[hidden])).status_code == 200
        refused(client.post("/v1/recommend", json=question(model, sketches=[{**hidden, "clicks": 3}])), 422, "hidden")


def test_an_epsilon_is_not_told_with_the_last_bits_of_a_float():
    terms = SketchTerms.of_topics(TOPICS, 3 - 3 * 0.7, False, 128)
    with pytest.raises(RequestRefusal) as refusal:
        terms.total([sketch(0.7)])
    assert refusal.value.problem.endswith("has epsilon 0.7; /v1/model asks for 0.9")
