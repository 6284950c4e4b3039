"""The browser's Prio3 in node and in headless Chromium: Python's reports from the same bytes, made in a worker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from device_server import PublisherServer, serving
from tools import tool

from discreet.aggregation.prio3 import Prio3

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "discreet" / "serving" / "web"
SUPPORT = ROOT / "tests" / "support"
VECTORS = ROOT / "tests" / "aggregation" / "vectors"
NOT_IN_THE_BROWSER = ("Prio3HigherDegree", "Prio3SumVecWithMultiproof")

IN_WORKER = """async (vectors) => {
  const { openSharder } = await import("/web/device/prio3/sharding.js");
  const { checkShards } = await import("/support/prio3_shards.mjs");
  const sharder = openSharder();
  const shard = (variant, parameters, ctx, measurement, nonce, rand) =>
    sharder.shard({ variant, parameters, ctx, measurement, nonce, rand });
  const result = await checkShards(vectors, shard);
  sharder.close();
  return result;
}"""
FRESH = """async () => {
  const { openSharder } = await import("/web/device/prio3/sharding.js");
  const sharder = openSharder();
  const request = {
    variant: "Prio3SumVec", parameters: { length: 40, max_measurement: 7, chunk_length: 11 },
    ctx: new TextEncoder().encode("a page"), measurement: Array.from({ length: 40 }, (_, i) => i % 8),
  };
  let problem = null;
  try {
    await sharder.shard({ ...request, measurement: [1, 2, 3] });
  } catch (error) {
    problem = error.message;
  }
  const report = await sharder.shard(request);
  const unanswered = sharder.shard(request).catch((error) => error.message);
  sharder.close();
  const late = await sharder.shard(request).catch((error) => error.message);
  const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const messages = [report.nonce, report.publicShare, ...report.inputShares].map(hex);
  return { messages, problem, closed: [await unanswered, late] };
}"""


def vector_paths(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("Prio3*.json")) if not path.name.startswith(NOT_IN_THE_BROWSER)]


def run_node(script: str, *arguments: str | Path) -> Any:
    node = tool("node")
    command = [node, str(SUPPORT / script), *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_arithmetic_in_node() -> None:
    report = run_node("prio3_fields.mjs", WEB / "device" / "prio3" / "fields.js")
    assert report["wrong"] == []
    assert report["checked"] > 100_000


def test_own_vectors_in_node() -> None:
    report = run_node("prio3_check.mjs", WEB / "device" / "prio3" / "prio3.js", *vector_paths(VECTORS))
    assert report["wrong"] == []
    assert report["shards"] >= 22


@pytest.mark.specs
def test_the_drafts_vectors_in_node(shared_specs: Path) -> None:
    paths = vector_paths(shared_specs / "vdaf" / "test_vec" / "vdaf")
    report = run_node("prio3_check.mjs", WEB / "device" / "prio3" / "prio3.js", *paths)
    assert report["wrong"] == []
    assert report["shards"] >= 15


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("page")
    blank = "<!doctype html><title>reports</title><link rel=icon href=data:,>"
    (folder / "blank.html").write_text(blank, encoding="utf-8")
    with (
        browser.new_context() as context,
        serving(PublisherServer(), ("/web/", WEB), ("/support/", SUPPORT), ("/test/", folder)) as url,
    ):
        page = context.new_page()
        page.goto(f"{url}/test/blank.html")
        yield page


def test_own_vectors_in_a_worker(page: Any) -> None:
    vectors = [
        (path.name.split("_")[0], json.loads(path.read_text(encoding="utf-8"))) for path in vector_paths(VECTORS)
    ]
    report = page.evaluate(IN_WORKER, vectors)
    assert report["wrong"] == []
    assert report["shards"] >= 22


def test_a_fresh_report_counts_and_an_invalid_one_is_not_made(page: Any) -> None:
    made = page.evaluate(FRESH)
    assert made["problem"] == "a measurement has integers from 0 to 7, 40 of them"
    assert made["closed"] == ["what makes reports was closed"] * 2
    prio3 = Prio3.sum_vec(40, 7, 11)
    nonce, public, *inputs = map(bytes.fromhex, made["messages"])
    ctx, key = b"a page", bytes(32)
    first = [prio3.verify_init(key, ctx, agg, nonce, public, share) for agg, share in enumerate(inputs)]
    message = prio3.verifier_shares_to_message(ctx, [share for _, share in first])
    outs = [prio3.verify_next(state, message) for state, _ in first]
    assert prio3.unshard(outs, 1) == [place % 8 for place in range(40)]
