"""Documents are readable in the source: no line is longer than one of code."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "generated"} & set(page.parts)]
MAX_LINE = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_longer_than_one_of_code(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    long = [number for number, line in enumerate(lines, 1) if len(line) > MAX_LINE and " " in line.strip()]
    assert not long, f"lines {long} of {page.name} are longer than {MAX_LINE} characters"
