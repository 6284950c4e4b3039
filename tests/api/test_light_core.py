"""What `pip install discreet` brings is enough for a device and the privacy core, and importing it is cheap.

Libraries are counted, not seconds; `benchmarks/bench_import.py` has the seconds.
"""

import json
import subprocess
import sys

import pytest
from hidden_libraries import PROJECT, all_but, run_without

from discreet.errors import install_command
from discreet.extras import LIBRARIES

HEAVY = {*LIBRARIES, "pandas", "rich"}


def python(code, hidden=()):
    return run_without(hidden, "-c", code)


DEVICE = (
    "discreet",
    "discreet.edge.reader.reader_client",
    "discreet.privacy.ledger",
    "discreet.privacy.mechanisms",
    "discreet.privacy.accounting",
    "discreet.protocol.check",
)
CORE = ("discreet.privacy.accounting", "discreet.privacy.filter", "discreet.privacy.ledger", "discreet.cli.app")


def test_a_device_imports_no_heavy_library():
    heavy = f"sorted(set(sys.modules) & set({sorted(HEAVY)!r}))"
    lines = ["import sys, json", *(f"import {name}; print(json.dumps([{name!r}, {heavy}]))" for name in DEVICE)]
    done = python("\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[name, []] for name in DEVICE]


def test_the_privacy_core_needs_no_extra():
    done = python(f"import {', '.join(CORE)}", all_but())
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
    compiled, plain = python(draw), python(draw, all_but())
    assert compiled.returncode == plain.returncode == 0, plain.stderr
    assert compiled.stdout == plain.stdout


@pytest.mark.long
def test_without_extras_what_can_be_listed_is_listed_and_the_rest_names_its_extra():
    listed = run_without(all_but(), "-m", "discreet", "list")
    assert listed.returncode == 0, listed.stderr
    assert "randomized response" in listed.stdout
    assert install_command("train") in listed.stderr.replace("\n", " ")


NAMES = """
import pydoc
import discreet as d

assert not hasattr(d, "ClickReports")
try:
    d.ClickReports
except d.DiscreetError as error:
    assert isinstance(error, AttributeError) and (error.name, error.obj) == ("ClickReports", d)
    print(error)
listed = {}
exec("from discreet import *", listed)
assert {"Guarantee", "Mechanism", "DiscreetError", "__version__"} <= set(listed)
assert "ClickReports" not in listed
assert "class Guarantee" in pydoc.plain(pydoc.render_doc(d))
assert "ClickReports" in dir(d)
"""


def test_a_public_name_that_needs_an_extra_says_so_and_is_no_attribute_without_it():
    done = python(NAMES, all_but())
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{install_command('train')}\n")


def test_with_all_extras_every_public_name_is_there():
    done = python("import discreet as d; from discreet import *; print(sorted(set(dir(d)) - set(globals())))")
    assert done.stdout == "[]\n", done.stderr


def test_every_extra_is_named():
    extras = PROJECT["optional-dependencies"]
    assert set(LIBRARIES.values()) <= set(extras)
    assert {name for need in extras["all"] for name in need[9:-1].split(",")} == set(extras) - {"all", "docs", "dev"}
