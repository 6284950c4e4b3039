"""The set-up of `.venv` by make: GPU libraries do not come without a word. pip is a stand-in. And what CI runs."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GPU_BUILD = ["filelock", 'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"']

PIP = """#!{python}
import json, pathlib, sys
asked = sys.argv[1:]
with open("asked", "a") as log:
    print(*asked, file=log)
if "--report" in asked:
    report = {{"install": [{{"metadata": {{"name": "torch", "description": "nvidia-smi", "requires_dist": {needs}}}}}]}}
    pathlib.Path(asked[asked.index("--report") + 1]).write_text(json.dumps(report))
"""


def set_up(folder: Path, needs: list[str], *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run the set-up with a torch of such needs; also what pip was asked to install."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    tools = folder / ".venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "python").symlink_to(sys.executable)
    (tools / "pip").write_text(PIP.format(python=sys.executable, needs=json.dumps(needs)))
    (tools / "pip").chmod(0o755)
    command = ["make", "--no-print-directory", f"PYTHON={sys.executable}", ".venv/.ready", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    asked = (folder / "asked").read_text().splitlines()
    return done, [line for line in asked if "--dry-run" not in line]


def test_a_gpu_build_is_announced_with_the_way_to_the_cpu_build(tmp_path):
    done, installed = set_up(tmp_path, GPU_BUILD)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "GPU" in line)
    assert "make TORCH=" in line
    assert installed[0].endswith(" torch==2.13.0")


def test_a_cpu_build_is_installed_without_a_word(tmp_path):
    done, _ = set_up(tmp_path, ["filelock", "sympy"])
    assert "GPU" not in done.stdout


@pytest.mark.parametrize(
    ("needs", "arguments", "torch"),
    [
        (["filelock"], (), "torch==2.13.0"),
        (
            ["filelock"],
            ("TORCH=torch==2.13.0 --extra-index-url file:///builds",),
            "torch==2.13.0 --extra-index-url file:///builds",
        ),
    ],
)
def test_the_build_that_was_asked_for_is_installed_before_all_else(tmp_path, needs, arguments, torch):
    done, installed = set_up(tmp_path, needs, *arguments)
    assert done.returncode == 0, done.stderr
    assert installed[0].endswith(f"--constraint constraints.txt {torch}")
    assert "--editable" in installed[1]
    assert (tmp_path / ".venv" / ".ready").exists()


def test_without_constraints_the_newest_versions_of_what_was_asked_for_come(tmp_path):
    _, installed = set_up(tmp_path, ["filelock"], "CONSTRAINT=", "EXTRAS=train,dev")
    assert not any("--constraint" in line for line in installed)
    assert installed[1].endswith("--editable .[train,dev]")


WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("version", ["3.10", *PYTHONS, "3.15"])
def test_a_python_is_refused_or_admitted_before_anything_is_installed(tmp_path, version):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    stand_in = tmp_path / "python"
    major, minor = version.split(".")
    begin = f"import sys; sys.version_info = ({major}, {minor}); "
    stand_in.write_text(f'#!/bin/sh\n[ "$1" = -m ] && exit 9\nexec {sys.executable} -c "{begin}$2"\n')
    stand_in.chmod(0o755)
    command = ["make", "--no-print-directory", f"PYTHON={stand_in}", ".venv/.ready"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("Setting up .venv" in done.stdout) == (version in PYTHONS), done.stdout


def test_ci_runs_quick_tests_with_each_python_all_of_them_once_and_once_without_flower():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [re.search(r"Python :: (3\.\d+)$", one) for one in project["classifiers"]]
    assert [one[1] for one in named if one] == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"
    jobs = WORKFLOW["jobs"]
    matrix = jobs["quick"]["strategy"]["matrix"]
    assert matrix["tests"] == ["quick"]
    assert [PYTHONS[0], *matrix["python"]] == PYTHONS  # the first one runs all tests
    assert matrix["include"] == [{"python": PYTHONS[0], "tests": "newest"}]
    script = (ROOT / ".ci" / "run").read_text()
    newest = re.search(r"newest\) make test CONSTRAINT= EXTRAS=(\S+)", script)[1].split(",")
    assert set(project["optional-dependencies"]) >= set(newest) >= {"train", "plots", "postgres", "lm", "dev"}


def test_ci_asks_for_rights_for_apt_alone_and_runs_actions_by_their_commit():
    assert set(re.findall(r"sudo ([\w-]+)", (ROOT / ".ci" / "run").read_text())) == {"apt-get"}
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert "sudo" not in step.get("run", "")
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", "a@" + "0" * 40))
        (tests,) = (step for step in job["steps"] if "run" in step)
        assert tests["env"]["CI"] == "true"
