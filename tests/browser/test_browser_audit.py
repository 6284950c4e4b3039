"""A publisher that lies in every field, in conversation with whole browser devices in Chromium.

Two devices with other clicks and the same releases must send the same: addresses, headers, bodies, order, number. A
failure names its seed: `audit({first: SEED, count: 1})` repeats it. With a mended check taken out, the hole is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from chromium import blank_page, files_only

Change = tuple[str, str, str]

SAME_RELEASES: Sequence[Change] = (
    ("releases.js", "counts[topic] + noise", "noise"),
    ("releases.js", "clicked[Number(below(random, BigInt(clicked.length)))]", "0"),
)
"""What is released then has nothing of the clicks in it, so everything that leaves must be equal."""

HOLES: dict[str, Sequence[Change]] = {
    "a server names slates": (
        ("slates.js", "return sha256(new TextEncoder().encode(content)).slice(0, 32)", "return slate"),
        ("slates.js", "if (await spent.get(name)) return null;", ""),
        ("slates.js", "if (!(await slates.get(name)))", ""),
    ),
    "a slate has a second label": (
        ("slates.js", "if (await spent.get(name)) return null;", ""),
        ("ledger.js", "if (before || ", "if ("),
    ),
    "a topic is any number": (
        ("schema.js", '"topic": {"type": "integer"', '"topic": {"type": "number"'),
        ("catalogue.js", "Number.isInteger(topic) && topic >= 0 && topic < terms.topics ? topic : 0", "topic"),
    ),
    "the number of clicks is told by today's terms": (
        (
            "telling.js",
            "({ epoch, told, payload }) => ({ epoch, clicks: told,",
            "({ epoch, clicks, payload }) => ({ epoch, clicks: model.adjacency === 'substitute' ? clicks : null,",
        ),
    ),
    "the reader's limit is for each terms": (
        ("ledger.js", "Math.min(header.lifetime, limit ?? Infinity)", "header.lifetime"),
    ),
    "an open category is what the server says": (
        ("clicks.js", "open.get(category)?.get(id) === title", "open.has(category)"),
    ),
    "epochs of a second": (("schema.js", '"minimum": 86400', '"minimum": 1'),),
    "slates of one real article": (("slates.js", ">= LIMITS.min_slate_articles", ">= 1"),),
    "topics of one article": (("catalogue.js", ">= LIMITS.min_topic_articles", ">= 0"),),
    "an ε that protects nothing": (
        ("schema.js", '"lifetime": {"type": "number", "minimum": 0, "maximum": 10}', '"lifetime": {"type": "number"}'),
    ),
    "a token is echoed": (("connection.js", "body === null ? {} :", 'body === null ? { "If-None-Match": "1" } :'),),
    "names outlive forgetting": (("device.js", 'HANDED_OUT = ["model", ', "HANDED_OUT = ["),),
}


def run_audit(browser: Any, first: int, count: int, hole: Sequence[Change] = ()) -> dict[str, Any]:
    changes: dict[str, list[tuple[str, str]]] = {}
    for name, old, new in (*SAME_RELEASES, *hole):
        changes.setdefault(f"/web/device/{name}", []).append((old, new))
    with files_only(browser, changes) as context:
        script = 'async (which) => (await import("/support/hostile_audit.mjs")).audit(which)'
        found: dict[str, Any] = blank_page(context).evaluate(script, {"first": first, "count": count})
        return found


@pytest.mark.long
@pytest.mark.parametrize("first", [0, 500])
def test_other_clicks_send_the_same_to_a_publisher_that_lies(browser: Any, first: int) -> None:
    result = run_audit(browser, first, 500)
    assert result["found"] is None
    assert result["conversations"] == 500
    assert result["clicks"] > 500, "readers must click, or the comparison says nothing"
    assert result["releases"] > 500, "devices must release, or the comparison says nothing"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 11000, 1000))
def test_many_more_lies(browser: Any, first: int) -> None:
    assert run_audit(browser, first, 1000)["found"] is None


@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.long
def test_the_audit_finds_a_hole_that_is_opened_again(browser: Any, hole: str) -> None:
    assert run_audit(browser, 0, 1000, HOLES[hole])["found"] is not None
