"""The wheel, in an empty environment: without extras it has a command and a device, with `train` all of the example.

Slow, and needs packages that pip can find; `make test-wheel` runs it.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from own_package_commands import EXAMPLE, ROOT, check_outputs, write_inputs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

DEVICE = """
import sys
from pathlib import Path
from discreet.edge.reader.reader_client import ReaderClient
from discreet.privacy.mechanisms import RandomizedResponse, TopicCounts
from discreet.privacy.noise import SecureNoise

label = RandomizedResponse(epsilon=1.0, choices=4).release(2, SecureNoise())
sketch = TopicCounts(epsilon=1.0, topics=6).release([0, 0, 3], SecureNoise())
print(label.guarantee, len(sketch.values), ReaderClient.__name__)
assert not {"torch", "polars", "numba", "matplotlib"} & set(sys.modules)
"""


CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"COLUMNS": "200"}
"""Only what is installed is found."""


def environment_with(folder: Path, *wanted: str) -> Path:
    """A new environment with these packages; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
    done = subprocess.run([*pip, *wanted], env=CLEAN, capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr:
        pytest.skip(f"pip finds no packages here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that is built from a copy of the source, as a clone has it."""
    place = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, tracked):
        if name.startswith("src/") or "/" not in name:
            (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "source" / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--wheel-dir", str(place), str(place / "source")], check=True)
    (built,) = place.glob("discreet-*.whl")
    return built


def test_without_extras_there_is_a_command_and_a_device(wheel, tmp_path):
    programs = environment_with(tmp_path / "env", str(wheel))

    def run(*words):
        return subprocess.run(
            [programs / words[0], *words[1:]], cwd=tmp_path, env=CLEAN, capture_output=True, text=True
        )

    assert run("discreet", "--version").stdout.startswith("discreet 0.")
    listed = run("discreet", "list")
    assert listed.returncode == 0, listed.stderr
    assert "topic counts" in listed.stdout
    assert "pip install '.[train]'" in listed.stderr
    device = run("python", "-c", DEVICE)
    assert device.returncode == 0, device.stderr
    audited = run("discreet", "audit", "randomized response", "--json")
    assert audited.returncode == 0, audited.stderr
    assert {row["verdict"] for row in json.loads(audited.stdout)["mechanisms"]} == {"holds"}
    refused = run("discreet", "compare", str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("pip install '.[train]' (in a clone of Discreet)")


def test_with_training_the_example_works_in_an_empty_environment(wheel, tmp_path):
    source = shutil.copytree(EXAMPLE, tmp_path / "source")  # a build writes beside the source
    programs = environment_with(tmp_path / "env", f"discreet[train] @ {wheel.as_uri()}", str(source))
    write_inputs(tmp_path)

    def discreet(*words):
        done = subprocess.run(
            [programs / "discreet", *words],
            cwd=tmp_path,
            env=CLEAN,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    check_outputs(discreet)
    assert not (tmp_path / "report" / "report.html").exists()  # plots are another extra
    assert (tmp_path / "report" / "comparison.md").exists()
