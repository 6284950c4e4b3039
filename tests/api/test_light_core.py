"""What `pip install discreet` brings is enough for a device and the privacy core, and importing it is cheap.

Libraries are counted, not seconds; `benchmarks/bench_import.py` has the seconds.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet.errors import install_command
from discreet.extras import LIBRARIES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HEAVY = {*LIBRARIES, "scipy", "dp_accounting", "pandas", "rich"}

WITHOUT_EXTRAS = f"""
import sys

class Without:  # as if the libraries of the extras were not installed
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in {sorted(LIBRARIES)!r}
        return None if hidden else self.finder.find_spec(name, path, target)

sys.meta_path = [Without(finder) for finder in sys.meta_path]
"""


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def without_extras(*words):
    return python(f"{WITHOUT_EXTRAS}\nfrom discreet.cli import main\nmain()", *words)


DEVICE = (
    "discreet",
    "discreet.edge.reader.reader_client",
    "discreet.privacy.ledger",
    "discreet.privacy.mechanisms",
    "discreet.privacy.accounting",
    "discreet.protocol.check",
)
CORE = ("discreet.privacy.accounting.composition", "discreet.privacy.participation_cost", "discreet.cli.app")


def test_a_device_imports_no_heavy_library():
    heavy = f"sorted(set(sys.modules) & set({sorted(HEAVY)!r}))"
    lines = ["import sys, json", *(f"import {name}; print(json.dumps([{name!r}, {heavy}]))" for name in DEVICE)]
    done = python("\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[name, []] for name in DEVICE]


def test_the_privacy_core_needs_no_extra():
    done = python(f"{WITHOUT_EXTRAS}\nimport {', '.join(CORE)}")
    assert done.returncode == 0, done.stderr


def test_serving_a_feed_and_comparing_baselines_wait_for_no_library_that_they_do_not_use(tmp_path):
    (tmp_path / "feed.csv").write_text("id,title\n1,Storm at sea\n2,Choir sings\n")
    commands = """
import sys
from discreet.cli import run
assert run(["serve", "--feed", "feed.csv", "--text", "hashed", "--check"]) == 0
assert run(["data", "synth", "world", "--readers", "60"]) == 0
assert run(["compare", "world", "--methods", "random,combined", "--text", "hashed"]) == 0
print(sorted({"torch", "dp_accounting", "scipy.stats", "sklearn"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_noise_is_the_same_without_the_compiler():
    draw = """
from fractions import Fraction
from discreet.privacy.noise import SimulatedNoise

noise = SimulatedNoise(7)
drawn = [noise.discrete_laplace(Fraction(37, 10), 300), noise.discrete_gaussian(Fraction(1000), 300)]
drawn += [noise.discrete_laplace(Fraction(1 << 45), 20), noise.discrete_gaussian(Fraction(1, 9), 300)]
print([values.tolist() for values in drawn])
"""
    compiled, plain = python(draw), python(WITHOUT_EXTRAS + draw)
    assert compiled.returncode == plain.returncode == 0, plain.stderr
    assert compiled.stdout == plain.stdout


@pytest.mark.long
def test_commands_work_as_far_as_they_can_and_else_name_the_extra():
    listed = without_extras("list")
    assert listed.returncode == 0, listed.stderr
    assert "randomized response" in listed.stdout
    assert install_command("train") in listed.stderr.replace("\n", " ")
    audited = without_extras("audit", "randomized response", "--json")
    assert audited.returncode == 0, audited.stderr
    assert {row["verdict"] for row in json.loads(audited.stdout)["mechanisms"]} == {"holds"}
    synth = without_extras("data", "synth", "never-written")
    assert synth.returncode == 2
    assert synth.stderr.startswith("discreet: ")
    assert synth.stderr.endswith(f"it comes with: {install_command('train')}\n")


def test_public_names_that_need_an_extra_say_so():
    done = python(f"{WITHOUT_EXTRAS}\nimport discreet as d\ntry: d.ClickReports\nexcept d.DiscreetError as e: print(e)")
    assert done.stdout.endswith(f"{install_command('train')}\n"), done.stderr


def test_every_extra_is_named_and_no_core_library_is_an_extra():
    extras = PROJECT["optional-dependencies"]
    assert set(LIBRARIES.values()) <= set(extras)
    core = {need.partition(">")[0] for need in PROJECT["dependencies"]}
    assert not core & set(LIBRARIES)
    assert {name for need in extras["all"] for name in need[9:-1].split(",")} == set(extras) - {"all", "docs", "dev"}
