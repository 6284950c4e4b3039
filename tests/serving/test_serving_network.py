"""Clients that mean ill, or are slow: what they send without end, what they never finish, what they do not read."""

import asyncio
import contextlib
import json
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest
from served_world import serving, sketch_report, small_service
from serving_messages import ADMIN, TOKEN
from starlette.responses import PlainTextResponse

from discreet.nodes.flower.certificates import write_certificates
from discreet.serving.connections import Connection
from discreet.serving.limits import ServerLimits
from discreet.serving.logs import JsonLines

QUICK = {"rate": 0, "max_head_seconds": 0.5, "max_silent_seconds": 0.5}
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
HALF_A_BODY = POST + b"Content-Length: 100\r\n\r\n{"
PATIENCE = 60


@pytest.fixture
def service(tmp_path):
    return small_service(tmp_path)


def connect(base):
    place = urlsplit(base)
    return socket.create_connection((place.hostname, place.port), timeout=PATIENCE)


def rest(connection):
    """All that still comes, until the server closes."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            got += part
    return got


def is_open(connection):
    """Whether the server still answers here."""
    got = b""
    try:
        connection.sendall(HEALTH)
        while not got.endswith(b"}"):
            part = connection.recv(1000)
            if not part:
                return False
            got += part
    except ConnectionError:
        return False
    return got.startswith(b"HTTP/1.1 200")


def used(base):
    """A connection that was answered once."""
    connection = connect(base)
    assert is_open(connection)
    return connection


def asked(base):
    """A ranking, as a reader asks for it."""
    with httpx.Client(base_url=base, timeout=PATIENCE) as client:
        space = client.get("/v1/model").json()["space"]
        return client.post("/v1/recommend", json={"space": space}).status_code


def send_until_closed(connection, part, most):
    """Send over and over; how many bytes went before the server closed."""
    sent = 0
    with contextlib.suppress(ConnectionError):
        while sent < most:
            connection.sendall(part)
            sent += len(part)
    return sent


@pytest.fixture
def certificate(tmp_path):
    write_certificates(tmp_path / "tls", ["127.0.0.1"])
    return tmp_path / "tls" / "server.crt", tmp_path / "tls" / "server.key"


def speak_tls(connection, certificate):
    trusted = ssl.create_default_context(cafile=certificate[0].with_name("ca.crt"))
    return trusted.wrap_socket(connection, server_hostname="127.0.0.1")


def hello():
    """The first bytes of a TLS handshake."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.parametrize("begun", [b"", hello()[:50], hello()], ids=["nothing", "half a hello", "a hello"])
def test_a_tls_handshake_that_does_not_go_on_is_dropped(service, certificate, begun):
    with serving(service, limits=ServerLimits(**QUICK), certificate=certificate) as base, connect(base) as connection:
        connection.sendall(begun)
        rest(connection)


def test_a_tls_handshake_that_comes_byte_by_byte_is_dropped(service, certificate):
    with serving(service, limits=ServerLimits(**QUICK), certificate=certificate) as base, connect(base) as connection:
        went = 0
        with contextlib.suppress(ConnectionError):
            for byte in hello():
                connection.sendall(bytes([byte]))
                went += 1
                time.sleep(0.05)
        assert went < len(hello())


@pytest.mark.parametrize("limit", ["max_connections", "max_connections_of_one"])
@pytest.mark.parametrize("begun", [b"", hello()], ids=["silent", "hello"])
def test_connections_that_never_finish_a_tls_handshake_hold_no_place(service, certificate, limit, begun):
    limits = ServerLimits(rate=0, max_head_seconds=600, **{limit: 10})
    with serving(service, limits=limits, certificate=certificate) as base, contextlib.ExitStack() as held:
        silent = [held.enter_context(connect(base)) for _ in range(40)]
        for connection in silent:
            with contextlib.suppress(ConnectionError):
                connection.sendall(begun)
        with speak_tls(connect(base), certificate) as honest:
            assert is_open(honest)
            rest(silent[0])
            assert is_open(honest), "who waits longest goes first"


def test_what_follows_a_tls_handshake_at_once_is_read(service, certificate):
    with serving(service, certificate=certificate) as base:
        trusted = ssl.create_default_context(cafile=certificate[0].with_name("ca.crt"))
        came, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusted.wrap_bio(came, sent, server_hostname="127.0.0.1")
        with connect(base) as connection:
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    connection.sendall(sent.read())
                    came.write(connection.recv(65_536))
            client.write(HEALTH.replace(b"Host: x", b"Host: x\r\nConnection: close"))
            connection.sendall(sent.read())  # the end of the handshake and the request, in one packet
            came.write(rest(connection))
            got = client.read(65_536)
        assert got.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", b"a" * 1000),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"A: b\r\n" * 100),
        (b"GET /", b"a" * 1000),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 1000),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n{\r\n" * 100),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: ", b"a" * 1000),
    ],
    ids=["one header", "headers", "address", "chunk extension", "chunks of one byte", "trailer"],
)
def test_what_comes_without_end_is_cut_off(service, start, part):
    with serving(service, limits=ServerLimits(rate=0)) as base, connect(base) as connection:
        connection.sendall(start)
        most = 32 * 1024 * 1024
        assert send_until_closed(connection, part, most) < most
        assert asked(base) == 200


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n" + b"A: b\r\n" * 101 + b"\r\n", 431),
        (b"GET /healthz?" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_a_request_that_is_refused_is_told_why_in_json(service, request_, status):
    with serving(service) as base, connect(base) as connection:
        connection.sendall(request_)
        head, _, body = rest(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["error"]


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HTTP/1.1\r\n", HALF_A_BODY], ids=["nothing", "half a head", "half a body"]
)
def test_who_does_not_go_on_is_dropped(service, begun):
    with serving(service, limits=ServerLimits(**QUICK)) as base, connect(base) as connection:
        connection.sendall(begun)
        assert rest(connection) == b""


def test_a_head_that_comes_byte_by_byte_is_dropped(service):
    with serving(service, limits=ServerLimits(**QUICK)) as base, connect(base) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nA: ")
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < began + PATIENCE:
                connection.sendall(b"a")
                time.sleep(0.05)
        assert time.monotonic() < began + PATIENCE


def test_a_body_that_comes_steadily_is_waited_for(service):
    limits = ServerLimits(rate=0, max_silent_seconds=1.0, min_bytes_per_second=10)
    with serving(service, limits=limits) as base, connect(base) as connection:
        space = httpx.get(f"{base}/v1/model").json()["space"]
        body = json.dumps({"space": space}).encode().ljust(100)
        connection.sendall(POST + b"Content-Length: 100\r\n\r\n")
        for start in range(0, 100, 5):
            connection.sendall(body[start : start + 5])
            time.sleep(0.15)
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_half_sent_bodies_hold_up_nobody(service):
    limits = ServerLimits(rate=0, max_concurrent=8)
    with serving(service, limits=limits) as base, contextlib.ExitStack() as held:
        slow = [held.enter_context(connect(base)) for _ in range(40)]
        for connection in slow:
            connection.sendall(HALF_A_BODY)
        assert [asked(base) for _ in range(10)] == [200] * 10
        assert rest(slow[0]) == b"", "the slowest go first"


def test_where_reports_fill_the_server_ranking_has_a_lane(service, monkeypatch):
    async def hang(*_):
        await asyncio.sleep(PATIENCE)

    monkeypatch.setattr(service, "keep", hang)
    with serving(service, limits=ServerLimits(rate=0, max_concurrent=8)) as base, contextlib.ExitStack() as held:
        body = json.dumps(sketch_report("any")).encode()
        post = POST.replace(b"recommend", b"reports") + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        answers = []
        for _ in range(7):
            connection = held.enter_context(connect(base))
            connection.sendall(post)
            connection.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                answers.append(connection.recv(1000)[9:12])
        assert answers == [b"503"], "six may wait, the seventh may not"
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            assert client.get("/healthz").status_code == 200
            assert client.post("/v1/recommend", json={"space": "other"}).status_code == 409
            assert client.get("/v1/model").status_code == 200, "what is ready waits for nobody"
            assert client.get("/v1/notice").status_code == 503


def test_one_address_has_so_many_connections_and_the_longest_idle_go(service):
    with (
        serving(service, limits=ServerLimits(rate=0, max_connections_of_one=10)) as base,
        contextlib.ExitStack() as held,
    ):
        all_ = [held.enter_context(used(base)) for _ in range(15)]
        assert [is_open(one) for one in all_] == [False] * 5 + [True] * 10


def test_the_server_has_so_many_connections_and_the_longest_idle_go(service):
    with serving(service, limits=ServerLimits(rate=0, max_connections=10)) as base, contextlib.ExitStack() as held:
        all_ = [held.enter_context(used(base)) for _ in range(9)]
        assert is_open(all_[0])  # which makes the second the longest idle
        all_ += [held.enter_context(used(base)) for _ in range(4)]
        assert [is_open(one) for one in all_] == [True] + [False] * 3 + [True] * 9


def test_who_sends_many_requests_and_does_not_read_is_dropped(service):
    with serving(service, limits=ServerLimits(**QUICK)) as base, socket.socket() as connection:
        place = urlsplit(base)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((place.hostname, place.port))
        connection.settimeout(PATIENCE)
        most = 64 * 1024 * 1024
        assert send_until_closed(connection, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n", most) < most
        assert asked(base) == 200


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("limits", [QUICK, {"max_unsent": 1 << 20, "max_silent_seconds": 600}], ids=["slow", "much"])
def test_who_does_not_read_an_answer_is_dropped(service, certificate, tls, limits, monkeypatch):
    dropped = threading.Event()
    drop = Connection.drop
    monkeypatch.setattr(Connection, "drop", lambda one: (dropped.set(), drop(one)))

    def add_large(app):
        app.get("/large")(lambda: PlainTextResponse(bytes(32 << 20)))

    given = {"certificate": certificate} if tls else {}
    with serving(service, limits=ServerLimits(**limits), extend=add_large, **given) as base, connect(base) as plain:
        connection = speak_tls(plain, certificate) if tls else plain
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert dropped.wait(PATIENCE)
        connection.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_who_reads_slowly_but_steadily_gets_it_all(service, certificate, tls):
    whole = 8 << 20

    def add_large(app):
        app.get("/large")(lambda: PlainTextResponse(bytes(whole)))

    given = {"certificate": certificate} if tls else {}
    limits = ServerLimits(rate=0, max_silent_seconds=3, min_bytes_per_second=100)  # a busy machine pauses for a second
    with serving(service, limits=limits, extend=add_large, **given) as base, connect(base) as plain:
        connection = speak_tls(plain, certificate) if tls else plain
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got, began = 0, time.monotonic()
        while part := connection.recv(65_536):
            got += len(part)
            if time.monotonic() < began + 7:
                time.sleep(len(part) / (1 << 20))  # what system buffers take is soon gone
        assert got > whole


def test_a_few_pipelined_requests_are_answered_in_order_and_many_are_not(service):
    with serving(service) as base:
        with connect(base) as connection:
            connection.sendall(HEALTH + HEALTH.replace(b"healthz", b"nowhere") + HEALTH)
            got = b""
            while got.count(b"HTTP/1.1") < 3:
                got += connection.recv(65_536)
            assert [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]
        with connect(base) as connection:
            connection.sendall(HEALTH * 5000)
            assert rest(connection).count(b"HTTP/1.1 200") < 5000
        assert asked(base) == 200


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_no_other_protocol_is_spoken(service, protocol, caplog):
    with serving(service) as base, connect(base) as connection:
        upgrade = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n" % protocol
        connection.sendall(upgrade + b"\x00\x01garbage")
        got = rest(connection)
    assert got.startswith(b"HTTP/1.1 200")
    assert got.count(b"HTTP/1.1") == 1
    assert not [record for record in caplog.records if record.name.startswith("uvicorn") and record.levelno > 20]


def metric(base, name):
    """The sum of a counter over its labels."""
    lines = httpx.get(f"{base}/metrics", headers=ADMIN, timeout=PATIENCE).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_a_client_that_hangs_up_is_no_error_of_the_server(service, caplog):
    with serving(service, admin_token=TOKEN) as base:
        for path in (b"recommend", b"reports"):
            with connect(base) as connection:
                connection.sendall(HALF_A_BODY.replace(b"recommend", path))
                connection.shutdown(socket.SHUT_WR)
        for route in ("/v1/recommend", "/v1/reports"):
            name = f'discreet_requests_total{{route="{route}",status="499"}}'
            deadline = time.monotonic() + PATIENCE
            while metric(base, name) < 1:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        assert 'status="500"' not in httpx.get(f"{base}/metrics", headers=ADMIN).text
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")]


def test_failed_logins_are_counted_in_the_log_and_slowed_down(service, caplog):
    with serving(service, admin_token=TOKEN) as base, httpx.Client(base_url=base, timeout=PATIENCE) as client:
        guess = {"Authorization": "Bearer secret-guess"}
        statuses = [client.delete("/v1/admin/articles/N1", headers=guess).status_code for _ in range(13)]
        assert statuses == [401] * 10 + [429] * 3
        assert client.get("/healthz").status_code == 200
    lines = [JsonLines().format(record) for record in caplog.records]
    failed = [json.loads(line) for line in lines if "a login failed" in line]
    assert [line.get("more_in_this_minute") for line in failed] == [None, 9]
    assert not any(word in line for line in lines for word in ("secret-guess", TOKEN, "127.0.0.1"))
