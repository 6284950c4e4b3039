"""A helper that is slow: each question to it ends in time, and the sums of other helpers go on meanwhile."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import pytest
from dap_site import HELPER, START, WINDOW, Clock, Site, example_task
from feed_server import until
from learning_site import START as FIRST
from learning_site import WINDOW as QUARTER
from learning_site import SameSum, learning_task, served

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import transport
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.leader import Leader
from discreet.aggregation.dap.transport import Peer, PeerError
from discreet.aggregation.dap.worker import Worker
from discreet.nodes.flower.certificates import write_certificates
from discreet.serving.learning.window_learner import WindowLearner

HEAD = b"HTTP/1.1 200 OK\r\n"
PARTS = 400
ANSWERS = {
    "status line": (b"HTTP/1.1 200 ", b"x"),
    "a header": (HEAD + b"X-Slow: ", b"x"),
    "body": (HEAD + b"Content-Length: 100000\r\n\r\n", b"x"),
    "body of any length": (HEAD + b"Connection: close\r\n\r\n", b"x"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "to be continued": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@contextmanager
def dripping(first, again, context=None):
    """A server that answers some bytes, then others again and again; its address, and how often they were sent."""
    sent, over = [], threading.Event()

    def serve():
        with suppress(OSError):
            connection = listener.accept()[0]
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            with connection:
                connection.recv(1 << 16)
                connection.sendall(first)
                while len(sent) < PARTS and not over.wait(0.02):
                    connection.sendall(again)
                    sent.append(again)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", sent
        over.set()
        thread.join()


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_drip_does_not_extend_the_time_of_a_question(answer, scheme, tmp_path, monkeypatch):
    monkeypatch.setattr(transport, "SECONDS", 0.3)
    context, authorities = None, None
    if scheme == "https":
        write_certificates(tmp_path / "tls", ["127.0.0.1"])
        context, authorities = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), tmp_path / "tls" / "ca.crt"
        context.load_cert_chain(tmp_path / "tls" / "server.crt", tmp_path / "tls" / "server.key")
    with dripping(*ANSWERS[answer], context) as (address, sent):
        peer = Peer(f"{scheme}://{address}", authorities=authorities)
        with pytest.raises(PeerError):
            peer.ask("POST", f"{scheme}://{address}/x", b"question")
        assert len(sent) < PARTS, "it gave up before the last part came"


class Stuck(Peer):
    """A helper that says nothing until the test is over."""

    def __init__(self, url):
        super().__init__(url)
        self.asked, self.over = threading.Event(), threading.Event()

    def ask(self, *_):
        self.asked.set()
        self.over.wait()
        raise PeerError("too slow")


def test_a_leader_works_with_other_helpers_while_one_is_slow(tmp_path):
    site, stuck = Site(tmp_path), Stuck("http://slow.test")
    slow = Agreement(
        example_task(name="slow", helper=stuck.url), verify_key=bytes(32), collector=site.keys["collector"].config
    )
    peers = {stuck.url: stuck, HELPER: site.to_helper}
    leader = Leader(site.leader.store, site.leader.sealing, [slow, site.agreement], peers.__getitem__)
    worker = Worker(leader, 0.01, 30 * 86_400, lambda *_: None)
    client = Client(slow.task)
    client._configs = site.client.configs()
    upload = leader.read_upload(slow.task.id, client.report(0, Contribution.of(slow.task, [0, 1, 0])))
    assert leader.store.keep([(upload.task, upload.reports)]) == [[None]]
    worker.start()
    assert stuck.asked.wait(60)
    for window in range(2):
        site.clock.now = START + (window + 1) * WINDOW
        for value in (0, 1):
            site.upload(value, window)
        site.clock.now = START + (window + 3) * WINDOW
        key = worker.collections.create(site.task.id, site.agreement.collection_of(window).encode())
        until(partial(worker.collections.answer, site.task.id, key), "sum of the other helper")
    assert not stuck.over.is_set()
    stuck.over.set()
    worker.close()
    site.close()


def test_a_server_learns_from_other_sums_while_one_is_waited_for(tmp_path):
    over, clock = threading.Event(), Clock(FIRST + QUARTER + 1.0)

    class Waiting(SameSum):
        def collect(self, task, window):
            if task.name == "slow":
                over.wait()
                raise PeerError("the sum was not ready")
            return super().collect(task, window)

    service, task = served(tmp_path, clock), learning_task(1.0)
    slow = replace(task, name="slow", helper="http://127.0.0.1:3")
    learner = WindowLearner(service, [slow, task], Waiting(), tmp_path / "cells")
    learner.close_windows()
    clock.now = FIRST + 2 * QUARTER + 1.0
    learner.start()
    until(lambda: learner._store.learnt(service.model.version).sums, "sum that was learnt from")
    assert learner._store.next_window([slow.id.hex()]) is not None
    over.set()
    learner.close()
    service.store.close()
