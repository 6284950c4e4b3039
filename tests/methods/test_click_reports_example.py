"""The example follows the protocol to the end and says what it costs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "click_reports.py"


@pytest.mark.long
def test_the_example_runs_and_prints_its_guarantee():
    asked = [sys.executable, str(EXAMPLE), "--readers", "400", "--epsilon", "30"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    auc = {name.strip(): float(value) for name, value in re.findall(r"AUC, ([a-z ]+)([\d.]+)", done.stdout)}
    assert set(auc) == {"by reports", "untrained", "content on the device"}
    assert 0.5 < auc["by reports"] < 1
    assert "guarantee: ε = 30 per click (substitute) against the server, lifetime [proved;" in done.stdout
    sketches, labels = re.findall(r"^(\d+) (?:sketches|labels) of (\d+) bytes$", done.stdout, re.MULTILINE)
    assert 0 < int(sketches[0]) <= 400, "one for each reader"
    assert int(labels[0]) > int(sketches[0]) / 2
