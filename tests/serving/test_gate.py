"""The door by itself: how large a body may be, and one log line for a request that failed."""

import asyncio

import pytest

from discreet.serving.addresses import Proxies
from discreet.serving.gate import Gate, Metrics
from discreet.serving.limits import ServerLimits

LIMITS = ServerLimits(max_body=100, max_admin_body=1000, rate=0)


async def read_all(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(path, body, *, app=read_all, with_length=True, parts=7):
    headers = [(b"content-length", b"%d" % len(body))] if with_length else []
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "client": ("192.0.2.1", 1)}
    cut = max(1, len(body) // parts)
    waiting = [body[start : start + cut] for start in range(0, len(body), cut)]
    answers = []

    async def receive():
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(message):
        answers.append(message)

    asyncio.run(Gate(app, LIMITS, Metrics(), Proxies())(scope, receive, send))
    return answers[0]["status"]


@pytest.mark.parametrize(("path", "most"), [("/v1/reports", 100), ("/metrics", 100), ("/v1/admin/articles", 1000)])
def test_a_body_may_be_as_large_as_the_limit_and_no_larger(path, most):
    assert status(path, bytes(most)) == 200
    assert status(path, bytes(most + 1)) == 413
    assert status(path, bytes(most), with_length=False) == 200
    assert status(path, bytes(most + 1), with_length=False) != 200


def test_the_limits_are_those_of_the_documentation():
    assert (ServerLimits().max_body, ServerLimits().max_admin_body) == (256 << 10, 8 << 20)


def test_a_request_that_fails_is_one_line_in_the_log(caplog):
    async def fail(*_):
        raise ZeroDivisionError

    assert status("/v1/reports", b"x", app=fail) == 500
    assert [record.getMessage() for record in caplog.records] == ["a request failed"]
