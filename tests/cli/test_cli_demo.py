"""The demonstration, small, as a process: what it prints, what it leaves, and how it ends."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

pytestmark = pytest.mark.long


def demo(folder, *options):
    command = [sys.executable, "-m", "discreet", "demo", "--devices", "10", "--text", "hashed", "--port", "0", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_demo_tells_one_measure_and_ends_well_with_ctrl_c(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "mine.txt").write_text("a file of somebody else")
    running = demo(tmp_path)
    errors = []
    reading = threading.Thread(target=lambda: errors.append(running.stderr.read()))
    reading.start()
    lines = []
    for line in running.stdout:
        lines.append(line.rstrip())
        if re.fullmatch(r"http://127\.0\.0\.1:\d+", lines[-1]):
            os.kill(running.pid, signal.SIGINT)
    assert running.wait() == 0, errors
    reading.join()
    text = "\n".join(lines)
    assert "Traceback" not in text + errors[0]
    days = re.findall(r"^ +day (\d) +(\S+ ± \S+|unknown) +(\S+ ± \S+|unknown)", text, re.M)
    assert [int(number) for number, _, _ in days] == list(range(1, 8))
    assert "AUC" not in text
    assert "∞" not in text
    assert (tmp_path / "demo" / "week.svg").read_text().startswith("<?xml")
    assert (tmp_path / "demo" / "mine.txt").exists()
