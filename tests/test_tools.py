"""A tool that is missing skips a test on one's own machine, and fails it where CI is set."""

import re
from pathlib import Path

import pytest
from tools import require, tool

HERE = Path(__file__).parent
# Who looks for a program by itself, and gives what was found to `require`; and what is skipped for other reasons.
FINDERS = {"support/tools.py", "support/chromium.py", "support/firefox.py", "support/postgres_cluster.py"}
RIGHTS_DATA_AND_EXTRAS = {"conftest.py", "test_files.py", "cli/test_cli_losses.py", "api/test_extras.py"}


@pytest.mark.parametrize(("ci", "raised"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_what_is_missing_fails_where_ci_is_set_and_is_skipped_elsewhere(monkeypatch, ci, raised):
    monkeypatch.setenv("CI", ci)
    for missing in (lambda: tool("no-such-program"), lambda: require(None, "no browser")):
        with pytest.raises((pytest.fail.Exception, pytest.skip.Exception)) as caught:
            missing()
        assert type(caught.value) is raised
    assert tool("sh")


def test_no_test_skips_for_want_of_a_program_by_itself():
    for path in HERE.rglob("*.py"):
        name, text = path.relative_to(HERE).as_posix(), path.read_text(encoding="utf-8")
        if path != Path(__file__) and not name.startswith("realdata/"):
            assert "which(" not in re.sub(r"def \w*which\(", "", text) or name in FINDERS, name
            assert "pytest.skip" not in text or name in RIGHTS_DATA_AND_EXTRAS | {"support/tools.py"}, name
    for name in FINDERS - {"support/tools.py", "support/chromium.py"}:
        assert "require(" in (HERE / name).read_text(encoding="utf-8")
    assert 'require(LAUNCH["executable_path"]' in (HERE / "browser" / "conftest.py").read_text(encoding="utf-8")
