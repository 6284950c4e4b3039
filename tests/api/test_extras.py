"""With one extra alone its commands work; without it they name it."""

import subprocess

import httpx
import pytest
from feed_server import DISCREET, discreet_serve
from hidden_libraries import HIDING, ROOT, all_but, declared, run_without

from discreet.errors import install_command
from discreet.extras import EXTRAS, LIBRARIES, has_extra

pytestmark = pytest.mark.long

DEVICE = """
import sys
from discreet.edge.reader.reader_client import ReaderClient
from discreet.privacy.ledger import Ledger
from discreet.privacy.mechanisms import RandomizedResponse, TopicCounts
from discreet.privacy.noise import SecureNoise

label = RandomizedResponse(epsilon=1.0, choices=4).release(2, SecureNoise())
sketch = TopicCounts(epsilon=1.0, topics=6).release([0, 0, 3], SecureNoise())
print(label.guarantee, len(sketch.values), ReaderClient.__name__, Ledger.__name__)
"""
VECTOR = str(ROOT / "tests" / "aggregation" / "vectors" / "Prio3Count_0.json")
BUDGET = """
from discreet.aggregation.task import Task
from discreet.serving.status import budget
import json, pathlib

(row,) = budget([Task.from_json(json.loads(pathlib.Path("terms.json").read_text()))])["tasks"]
assert row["year"]["epsilon"] > row["day"]["epsilon"]
"""
SITES = ["--leader", "https://news.example/dap", "--helper", "https://helper.example"]
WORLD = ["data", "synth", "world", "--readers", "60", "--days", "1", "--articles-per-day", "10"]
TEXT = ["--text", "hashed"]
TRAIN = ["train", "world", "--method", "fedrec", "--rounds", "1", "--set", "fraction=0.1", *TEXT, "--out", "trained"]
RATINGS = ["data", "synth", "ratings", "--ratings", "--readers", "60", "--items", "40", "--count", "900"]
VENDORS = ["vendors", "compare", "ratings", "--vendors", "2", "--methods", "local,dpals", "--epsilon", "5"]
PROGRAMS = {
    (): [["-c", DEVICE], ["list"]],
    ("account",): [["audit", "randomized response", "--json"]],
    ("sums",): [["aggregate", "check-vector", VECTOR], ["aggregate", "keygen", "key"]],
    ("serve",): [["aggregate", "terms", "quality", "--epsilon", "0.1", *SITES, "--out", "terms.json"], ["-c", BUDGET]],
    ("train",): [
        WORLD,
        TRAIN,
        ["evaluate", "trained", "world"],
        ["compare", "world", "--methods", "combined,front_page", *TEXT],
        RATINGS,
        [*VENDORS, "--rank", "2", "--iterations", "4"],
    ],
    ("train", "plots"): [WORLD, ["compare", "world", "--methods", "content,recency", *TEXT, "--out", "report"]],
    ("lm",): [WORLD, ["compare", "world", "--methods", "content"]],
    ("postgres",): [["-c", "import discreet.database.postgres"]],
    ("flower",): [["-c", "import discreet.nodes.flower.simulation, discreet.nodes.flower.relay"], ["nodes", "--help"]],
}
ANSWERED = {
    ("train", "plots"): lambda folder, said: (folder / "report" / "report.html").exists(),
    ("lm",): lambda folder, said: "all-MiniLM-L6-v2" in said,
}


@pytest.mark.parametrize("extras", PROGRAMS, ids="+".join)
def test_each_extra_brings_what_its_commands_import(extras, tmp_path, monkeypatch):
    if not all(map(has_extra, extras)):
        pytest.skip(f"{' and '.join(extras)} is not installed here")
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    hidden, said = all_but(*extras), ""
    for words in PROGRAMS[extras]:
        command = words if words[0] == "-c" else ["-m", "discreet", *words]
        done = run_without(hidden, *command, cwd=tmp_path)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        said += done.stdout + done.stderr
    assert ANSWERED.get(extras, lambda *_: True)(tmp_path, said)


def test_a_server_from_a_feed_runs_with_its_extra_alone(tmp_path, monkeypatch):
    hidden = all_but("serve")
    assert {"torch", "dp_accounting", "matplotlib", "jinja2"} <= set(hidden)
    for name, value in {**HIDING, "HIDDEN_LIBRARIES": " ".join(hidden)}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "feed.csv").write_text("id,title\n1,Storm at sea\n2,Choir sings\n")
    (tmp_path / "token").write_text("t" * 32)
    flags = ["--feed", "feed.csv", "--text", "hashed", "--helper", "embedded", "--admin-token-file", "token"]
    with discreet_serve(tmp_path, *flags) as base:
        for path in ("/", "/admin", "/metrics", "/v1/catalogue", "/v1/model"):
            token = {"Authorization": f"Bearer {'t' * 32}"}
            assert httpx.get(base + path, headers=token).status_code == 200, path
        asked = ["--server", base, "--admin-token-file", "token"]
        for words in (
            ["status", *asked],
            ["articles", "list", *asked],
            ["embed", base],
            ["backup", "copy", "--database", "serving.sqlite"],
        ):
            subprocess.run([*DISCREET, *words], cwd=tmp_path, check=True, capture_output=True)
    for words in (["models", "list"], ["retrain", "--text", "hashed"], ["database", "check"]):
        done = subprocess.run([*DISCREET, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "is not installed" not in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["data", "synth", "new"], "train"),
        (["serve", "--check"], "serve"),
        (["aggregate", "check-vector", VECTOR], "serve"),
        (["audit", "randomized response"], "account"),
    ],
)
def test_without_an_extra_a_command_is_one_line_that_names_it(words, extra, tmp_path):
    done = run_without(all_but(), "-m", "discreet", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("discreet: ")
    assert done.stderr.endswith(f"it comes with: {install_command(extra)}\n")
    assert done.stderr.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_the_libraries_of_an_extra_are_those_that_it_brings():
    for extra, libraries in EXTRAS.items():
        assert not set(libraries) & set(all_but(extra)), extra
    assert set(LIBRARIES) <= set(all_but())
    assert {need.name for need in declared("serve", "postgres", "plots", "account", "sums")}.isdisjoint({"torch"})
    assert {need.name for need in declared()} == {"cryptography", "numpy", "rich", "typer"}
