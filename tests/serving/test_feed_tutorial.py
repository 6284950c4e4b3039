"""docs/tutorial/from-feed-to-front-page.md, run as it stands there, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from served_world import free_port

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "from-feed-to-front-page.md"
PATIENCE = 280


@pytest.mark.long
def test_the_tutorial_does_what_it_says(tmp_path):
    text = TUTORIAL.read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 9
    port, other = str(free_port()), str(free_port())  # the one thing that differs: 8000 and 8001 may be taken
    guard = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; trap 'exit 1' TERM\n"
    marked = guard + "".join(f"echo BLOCK\n{block}" for block in blocks).replace("8000", port).replace("8001", other)
    folder = tmp_path / "empty"
    folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "discreet").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n')
    (programs / "discreet").chmod(0o755)
    place = {"PATH": f"{programs}:{os.environ['PATH']}", "DISCREET_CACHE": str(tmp_path / "cache")}
    command = ["timeout", str(PATIENCE), "bash", "-em", "-c", marked]
    done = subprocess.run(command, cwd=folder, env=os.environ | place, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr + _log(folder)
    _, *said = done.stdout.split("BLOCK\n")
    _, checked, started, changed, broken, taken_down, sums, embedded, _ = said
    expected = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    assert checked.replace(f"{folder}/", "") == expected
    assert f"http://127.0.0.1:{port}" in started
    assert "ε = 0 per click" in started
    assert "Ferry returns to the harbour" in changed
    assert broken.split()[-1] == "6"
    assert "https://news.example/3: expired" in taken_down
    assert "Striker scores twice in the derby" in taken_down
    assert sums.startswith("front page popularity (trial)\nPrivacy notice\n\nTRIAL: ONE PARTY RUNS BOTH AGGREGATORS")
    assert f'<discreet-front-page server="http://127.0.0.1:{port}" helper="http://127.0.0.1:' in embedded


def _log(folder):
    log = folder / "log.txt"
    return log.read_text() if log.exists() else ""
