"""The set-up of `.venv` by make: GPU libraries do not come without a word. pip is a stand-in."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
