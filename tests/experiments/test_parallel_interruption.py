"""Ctrl-C while trainings go side by side: all of them stop at once, keep what they have, and go on later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.data.synthetic import news_world, write_mind

ROUNDS = 30_000  # minutes, at rates that do not diverge: nothing ends before the interruption, on a busy machine too


@pytest.mark.long
@pytest.mark.parametrize("to_all", [True, False], ids=["as a terminal does", "to the first process"])
def test_an_interruption_ends_all_trainings_and_keeps_their_checkpoints(to_all: bool, tmp_path: Path) -> None:
    write_mind(news_world(60, train_days=2, history_days=4, articles_per_day=20, seed=3), tmp_path / "world")
    command = [sys.executable, "-m", "discreet", "compare", "world", "--methods", "fedrec", "--text", "hashed"]
    command += ["--set", f"rounds={ROUNDS}", "--set", "rate=0.001,0.002,0.003,0.004", "--jobs", "2", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        deadline = time.monotonic() + 120
        while len(list(tmp_path.glob("out/measurements/*.checkpoint"))) < 2:
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        (os.killpg if to_all else os.kill)(running.pid, signal.SIGINT)
        out, told = running.communicate(timeout=60)
    assert running.returncode == 130, told
    assert out == ""
    assert "Traceback" not in told
    assert told.splitlines()[-1].startswith("Interrupted; nothing was left half-written.")
    assert len(list(tmp_path.glob("out/measurements/*.checkpoint"))) == 2
    assert not list(tmp_path.glob("out/measurements/*.safetensors"))
