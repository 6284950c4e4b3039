"""The programs in the README pass a strict type checker; the version is the same everywhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks_of

import discreet as d

ROOT = Path(__file__).parents[2]
WRONG = """
import discreet as d

d.compare_vendors(d.open_ratings("ratings"), vendorz=10)
d.compare(d.open_news("world"), 3)
wrong: int = d.FrontPage(epsilon=1).fit(d.open_news("world"))
d.Sharing(epsilon="5")
d.front_page
"""


@pytest.mark.long
def test_programs_of_the_readme_pass_a_strict_type_checker(tmp_path):
    """Wrong ones do not: what the package exports has types, and not Any."""
    programs = [text for kind, text in blocks_of(ROOT / "README.md") if kind == "python"]
    assert len(programs) == 3
    for number, text in enumerate([*programs, WRONG]):
        (tmp_path / f"program{number}.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={ROOT / '.mypy_cache'}", *tmp_path.glob("*.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    errors = re.findall(r"(program\d)\.py:(\d+): error", done.stdout)
    calls = [number for number, line in enumerate(WRONG.splitlines(), 1) if "d." in line]
    assert sorted(set(errors)) == [("program3", str(line)) for line in calls], done.stdout + done.stderr


def test_there_is_one_version():
    assert f"\nversion: {d.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## [{d.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
