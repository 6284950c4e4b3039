"""A tiny served world for tests: generated articles, hashed title vectors, real topics, a stand-in for training.

    with running_server() as base:            # http://127.0.0.1:port
        httpx.get(f"{base}/v1/model").json()

`POST /v1/recommend` answers with `slate` (an id) and `signature`; a label report sends both back. With
`"details": true` in the request each article comes with the fields of the catalogue, vector included.
"""

import base64
import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from functools import lru_cache
from pathlib import Path

import httpx
import numpy as np

from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.edge.reader.reports import sketch_mechanism
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.noise import SecureNoise
from discreet.serving.addresses import listen, url_of
from discreet.serving.endpoints import create_app
from discreet.serving.http import http_server
from discreet.serving.limits import ServerLimits
from discreet.serving.server import open_service, run_server
from discreet.text.hashed import hashed_vectors
from discreet.text.topics import find_topics
from discreet.text.word_vectors import unit_rows

TOPICS, COORDINATES = 8, 64
NO_RATE_LIMIT = ServerLimits(rate=0, max_reports_of_one=0)


@lru_cache(maxsize=4)
def small_world(readers=60, seed=0):
    return news_world(readers, train_days=2, history_days=4, articles_per_day=20, seed=seed)


class StandInModel:
    """Obeys the interface of a served model; its only learning is public topics."""

    epsilon_sketch, epsilon_label, hide_length, device_weights = 0.7, 0.3, False, {"interest": 1.0}
    uses_labels = True

    def __init__(self, titles, topics=TOPICS, hide_length=False):
        self._known = {title: row for row, title in enumerate(titles)}
        encoded = hashed_vectors(titles)
        self._mean = encoded.mean(axis=0)
        self._vectors = unit_rows(encoded - self._mean)
        self.space = find_topics(self._vectors, topics)
        self._axes = np.linalg.svd(self._vectors, full_matrices=False)[2][:COORDINATES].astype(np.float32)
        self.hide_length = hide_length
        self.version = hashlib.blake2b(self.space.version.encode(), digest_size=6).hexdigest()

    @property
    def centre(self):
        return self.coordinates(self._vectors.mean(axis=0, keepdims=True))[0]

    def title_vectors(self, titles, topics=()):
        fresh = [title for title in titles if title not in self._known]
        vectors = np.zeros((len(titles), self._vectors.shape[1]), np.float32)
        new = dict(zip(fresh, unit_rows(hashed_vectors(fresh) - self._mean) if fresh else [], strict=True))
        for row, title in enumerate(titles):
            vectors[row] = self._vectors[self._known[title]] if title in self._known else new[title]
        return vectors

    def article_scores(self, vectors, categories):
        return (vectors @ self.space.profiles.T).astype(np.float32)

    def fixed_scores(self, vectors, categories):
        return 0.05 * vectors @ self._vectors.mean(axis=0).astype(np.float64)

    def base_scores(self, fixed, published, first_shown, shows, popularity, now):
        hours = np.maximum(now - np.where(published >= 0, published, first_shown), 0) / 3600
        return fixed + 0.1 * popularity - 0.02 * np.log1p(hours) + 0.001 * np.log1p(shows)

    def interest(self, counts, clicks, releases):
        total = clicks if clicks else max(1, int(np.maximum(counts, 0).sum()))
        return counts / max(total, 1) - 1 / len(counts)

    def guarantee(self):
        adjacency = Adjacency.ADD_REMOVE if self.hide_length else Adjacency.SUBSTITUTE
        terms = (Unit.CLICK, adjacency, Adversary.SERVER, Scope.LIFETIME, Status.PROVED)
        return Guarantee(self.epsilon_sketch + self.epsilon_label, 0.0, *terms, "one-shot click reports")

    def coordinates(self, vectors, topics=()):
        found = (vectors @ self._axes.T).astype(np.float32)
        return np.pad(found, ((0, 0), (0, COORDINATES - found.shape[1])))


def small_service(folder, *, database=None, ranking="shortlist", reports=True, model=None, data=None):
    """A service over the small world, in `folder`."""
    shown = ShownArticles.of(data or small_world())
    model = model or StandInModel(list(shown.articles.titles))
    return open_service(Path(folder), model, database=database, data=shown, ranking=ranking, reports=reports)


def main(folder, port, database=None):
    """`python served_world.py FOLDER PORT [DATABASE]`: the small world in a process of its own, until it is stopped."""
    service = small_service(folder, database=database)
    run_server(service, listen("127.0.0.1", int(port)), limits=NO_RATE_LIMIT)


def sketch_report(space, clicks=3):
    """A sketch report as a device sends it."""
    release = sketch_mechanism(TOPICS, 0.7).release(np.array([1] * clicks), SecureNoise())
    return {
        "id": uuid.uuid4().hex,
        "kind": "sketch",
        "space": space,
        "epoch": 12,
        "device": uuid.uuid4().hex,
        "clicks": clicks,
        "release": base64.b64encode(release.to_bytes()).decode(),
    }


@contextlib.contextmanager
def served_process(folder, port, log, *database):
    """The small world in a process of its own, when it is ready."""
    command = [sys.executable, __file__, str(folder), str(port), *database]
    server = subprocess.Popen(
        command, stderr=log, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    try:
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                    break
            assert server.poll() is None, "the server ended before it was ready"
            time.sleep(0.05)
        yield server
    finally:
        if server.poll() is None:
            server.kill()
        server.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(
    service,
    *,
    limits=NO_RATE_LIMIT,
    admin_token=None,
    proxies=None,
    listener=None,
    extend=None,
    foreign=None,
    certificate=(),
):
    """Serve a service from a thread of this process, on a free port; yields the base URL when it is ready.

    With a certificate and its key it speaks TLS.
    """
    listener = listener or listen("127.0.0.1", 0)
    server = http_server(create_app(service, limits, admin_token, proxies, extend, foreign), *certificate)
    server.config.timeout_graceful_shutdown = 2
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not (server.started and service.updater.ready):
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.01)
    try:
        yield url_of(listener).replace("http:", "https:" if certificate else "http:")
    finally:
        server.should_exit = True
        thread.join(20)


@contextlib.contextmanager
def running_server(*, ranking="shortlist", reports=True, admin_token=None, limits=NO_RATE_LIMIT, hide_length=False):
    """A served small world; yields its base URL."""
    data = small_world()
    model = StandInModel(list(data.articles.titles), hide_length=hide_length)
    with tempfile.TemporaryDirectory() as folder:
        service = small_service(folder, ranking=ranking, reports=reports, model=model, data=data)
        with serving(service, limits=limits, admin_token=admin_token) as base:
            yield base


if __name__ == "__main__":
    main(*sys.argv[1:])
