"""The administrator's token: all of it and nothing else opens, and nobody keeps out who has it."""

import asyncio
import hmac

import httpx
import pytest
from served_world import serving, small_service
from serving_messages import ADMIN, TOKEN
from starlette.requests import Request

from discreet.serving import admin_token
from discreet.serving.addresses import Proxies
from discreet.serving.admin_token import AdminToken
from discreet.serving.limits import ServerLimits
from discreet.serving.refusal import RequestRefusal

WHOLE = f"Bearer {TOKEN}"
NEARLY = [WHOLE[:end] for end in range(len(WHOLE))] + [WHOLE[start:] for start in range(1, len(WHOLE))]
NEARLY += [f"{WHOLE}x", f"{WHOLE} ", f" {WHOLE}", WHOLE.upper(), WHOLE.lower().replace("a", "b"), f"Basic {TOKEN}"]
PROTECTED = ["/metrics", "/v1/admin/articles", "/v1/admin/status", "/v1/admin/models"]


def sent(header, address="192.0.2.1"):
    headers = [] if header is None else [(b"authorization", header.encode())]
    return {"type": "http", "headers": headers, "client": (address, 1)}


@pytest.fixture
def service(tmp_path):
    return small_service(tmp_path)


def test_only_the_whole_token_opens():
    token = AdminToken(TOKEN, Proxies().client_of)
    assert token.is_in(sent(WHOLE))
    assert not [header for header in (None, *NEARLY) if token.is_in(sent(header))]


def test_the_whole_token_is_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(admin_token.hmac, "compare_digest", lambda *both: bool(compared.append(both)))
    assert not AdminToken(TOKEN, Proxies().client_of).is_in(sent("Bearer guess"))
    assert compared == [(b"Bearer guess", WHOLE.encode())]
    assert hmac is admin_token.hmac


def status(token, header, address="192.0.2.1"):
    try:
        asyncio.run(token.require(Request(sent(header, address))))
    except RequestRefusal as refusal:
        return refusal.status
    return 200


@pytest.mark.parametrize("none", [None, ""])
def test_requests_without_a_token_lock_nobody_out(none):
    token = AdminToken(TOKEN, Proxies().client_of)
    assert {status(token, none) for _ in range(50)} == {401}
    assert status(token, "Bearer guess") == 401
    assert status(token, WHOLE) == 200


def test_wrong_tokens_are_counted_by_address_and_the_right_one_always_passes():
    token = AdminToken(TOKEN, Proxies().client_of)
    assert [status(token, "Bearer guess") for _ in range(13)] == [401] * 10 + [429] * 3
    assert status(token, WHOLE) == 200
    assert status(token, "Bearer guess", "192.0.2.2") == 401


def test_every_endpoint_of_the_administrator_needs_the_token(service):
    with serving(service, admin_token=TOKEN) as base, httpx.Client(base_url=base, timeout=60) as client:
        described = client.get("/openapi.json").json()["paths"]
        admin = [
            (path, how) for path, ways in described.items() if "admin" in path or "metrics" in path for how in ways
        ]
        assert {path for path, _ in admin} >= set(PROTECTED)
        for path, how in admin:
            assert client.request(how, path).status_code == 401, path
            assert client.request(how, path, headers={"Authorization": WHOLE[:-1]}).status_code in (401, 429), path
        assert all(client.get(path, headers=ADMIN).status_code == 200 for path in PROTECTED)


def test_without_a_token_there_is_no_administration(service):
    with serving(service) as base:
        assert {httpx.get(f"{base}{path}", headers=ADMIN).status_code for path in PROTECTED} == {404}


def test_many_requests_of_an_address_behind_a_proxy_do_not_keep_its_operator_out(service):
    limits = ServerLimits(rate=0.001, burst=20)
    proxies = Proxies(["127.0.0.1"])
    guess = {"Authorization": "Bearer guess", "X-Forwarded-For": "192.0.2.1"}
    with serving(service, admin_token=TOKEN, limits=limits, proxies=proxies) as base:
        answers = [httpx.get(f"{base}/metrics", headers=guess).status_code for _ in range(25)]
        assert (answers[0], answers[10], answers[-1]) == (401, 429, 429)
        assert httpx.get(f"{base}/metrics", headers={**ADMIN, "X-Forwarded-For": "192.0.2.1"}).status_code == 200
        assert httpx.get(f"{base}/metrics", headers={**guess, "X-Forwarded-For": "192.0.2.2"}).status_code == 401
