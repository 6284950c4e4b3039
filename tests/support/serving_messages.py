"""What devices ask and report over HTTP, and how a server's refusal is checked."""

import base64
import time
import uuid

import numpy as np
from served_world import TOPICS

from discreet.edge.reader.reports import sketch_mechanism
from discreet.privacy.noise import SecureNoise

TOKEN = "a token of the administrator".replace(" ", "-")


ADMIN = {"Authorization": f"Bearer {TOKEN}"}


def text(release):
    return base64.b64encode(release.to_bytes()).decode()


def sketch(epsilon=0.7, topics=TOPICS, clicks=(1, 1, 3), hide_length=False):
    mechanism = sketch_mechanism(topics, epsilon, hide_length=hide_length)
    return text(mechanism.release(np.array(clicks), SecureNoise()))


def question(model, **fields):
    return {"space": model["space"], "sketches": [{"epoch": 12, "clicks": 3, "release": sketch()}], **fields}


def sketch_report(model, **fields):
    plain = {"id": uuid.uuid4().hex, "kind": "sketch", "space": model["space"], "epoch": 12, "device": uuid.uuid4().hex}
    return {**plain, "clicks": 3, "release": sketch(), **fields}


def refused(answer, status, words):
    assert answer.status_code == status, answer.text
    problem = answer.json()["error"]
    assert words in problem
    assert "\n" not in problem


def catalogue(client):
    """All articles of the catalogue by id, with their base scores."""
    head = client.get("/v1/catalogue").json()
    pages = [client.get(f"/v1/catalogue/{page['name']}").json()["articles"] for page in head["pages"]]
    bases = np.frombuffer(base64.b64decode(head["bases"]), "<f4").tolist()
    articles = [article for page in pages for article in page]
    return {article["id"]: {**article, "base": base} for article, base in zip(articles, bases, strict=True)}


def soon(client, names, *, there):
    """The catalogue when it has all these articles, or none of them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = catalogue(client)
        if all((name in found) is there for name in names):
            return found
        time.sleep(0.05)
    raise AssertionError("the catalogue did not change")
