"""`examples/own_package`, installed, works from the command line like what Discreet ships."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from own_package_commands import EXAMPLE, ROOT, TRAIN_MODEL, check_outputs, write_inputs

from discreet.cli import run as command

SEVERAL = """
import contextlib, io, json, sys
from unittest.mock import patch
from discreet.cli import run
for line in sys.stdin:
    words, interrupted = json.loads(line)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.ExitStack() as patches:
        if interrupted:
            patches.enter_context(patch("discreet.methods.run.Run.save", side_effect=KeyboardInterrupt))
        code = run(words)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package as pip installs it, and an environment that finds it there."""
    place = tmp_path_factory.mktemp("own")
    source = shutil.copytree(EXAMPLE, place / "source")  # a build writes beside the source
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--target", str(place / "site"), str(source)], check=True, timeout=250)
    write_inputs(place)
    return place, {**os.environ, "PYTHONPATH": f"{place / 'site'}{os.pathsep}{ROOT / 'src'}", "COLUMNS": "200"}


@pytest.fixture(scope="module")
def discreet(installed):
    """Runs command lines one after the other in one process, in the folder of the inputs."""
    place, environment = installed
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", SEVERAL], cwd=place, env=environment, text=True, **pipes) as process:

        def run(*words, interrupted=False):
            process.stdin.write(json.dumps([words, interrupted]) + "\n")
            process.stdin.flush()
            code, out, err = json.loads(process.stdout.readline())
            assert code == (130 if interrupted else 0), f"{words}: {err}"
            return out

        yield run
        process.stdin.close()


@pytest.mark.long
def test_all_that_the_package_adds_works_from_the_command_line(discreet):
    check_outputs(discreet)


@pytest.mark.long
def test_measurements_are_used_again_until_the_package_changes(installed, discreet):
    place, environment = installed
    words = ["compare", "news", "--methods", "title_length", "--text", "hashed", "--out", "kept"]
    discreet(*words)
    assert "Reused from an earlier comparison: title_length" in " ".join(discreet(*words).split())
    with (place / "site" / "own_package" / "model.py").open("a") as file:
        file.write("\n# Another module of the package has changed.\n")
    again = subprocess.run(
        [sys.executable, "-m", "discreet", *words], cwd=place, env=environment, capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert "Reused" not in again.stdout


@pytest.mark.long
def test_an_interrupted_training_of_the_package_s_model_is_resumed(installed, discreet):
    place, _ = installed
    words = [*TRAIN_MODEL, "--out", "broken"]
    discreet(*words, interrupted=True)
    assert (place / "broken.checkpoint").exists()
    discreet(*words, "--resume")
    discreet(*TRAIN_MODEL, "--out", "whole")
    weights = [(place / name / "state.safetensors").read_bytes() for name in ("broken", "whole")]
    assert weights[0] == weights[1]
    assert json.loads((place / "whole" / "run.json").read_text())["settings"]["model.stretch"] == 3
    assert "mean_title" in discreet("evaluate", "broken", "news", "--json")


@pytest.mark.long
def test_a_run_of_a_package_that_is_not_there_says_what_to_do(installed, discreet, capsys):
    place, _ = installed
    discreet("train", "news", "--method", "title_length", "--text", "hashed", "--out", "alone")
    assert command(["evaluate", str(place / "alone"), str(place / "news")]) == 2  # here it is not installed
    failed = " ".join(capsys.readouterr().err.split())
    assert "no method is called 'title_length'" in failed
    assert failed.endswith("name that with --plugin")
