"""The stutter stops what a test started, and lets all of it go on in the end."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stutter import descendants, stuttering

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
PARENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"


def state(process):
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_processes_stand_still_and_go_on():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE) as parent:
        while len(below := descendants(parent.pid)) < 1:
            time.sleep(0.01)
        with stuttering(seed=1) as stopped:
            while not set(stopped) & {parent.pid, *below}:
                time.sleep(0.01)
        assert set(stopped) <= set(descendants(os.getpid()))
        assert "T" not in {state(process) for process in (parent.pid, *below)}
        parent.communicate(b"\n")
    assert parent.returncode == 0
