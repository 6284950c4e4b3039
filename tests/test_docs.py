"""Documents are readable in the source: no line is longer than one of code."""

from pathlib import Path

import pytest
from pages import blocks_of, run_page

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if not {"_build", "generated"} & set(page.parts)]
MAX_LINE = 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_longer_than_one_of_code(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    long = [number for number, line in enumerate(lines, 1) if len(line) > MAX_LINE and " " in line.strip()]
    assert not long, f"lines {long} of {page.name} are longer than {MAX_LINE} characters"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        ("README.md", 7),
        pytest.param("docs/tutorial/first-steps.md", 6, marks=pytest.mark.slow),
        ("docs/tutorial/the-page.md", 3),
    ],
)  # docs/tutorial/from-feed-to-front-page.md: tests/serving/test_feed_tutorial.py, with what it prints
def test_a_page_can_be_followed(page: str, blocks: int, tmp_path: Path) -> None:
    printed = run_page(ROOT / page, tmp_path, patience=1500)
    assert len(printed) == blocks
    if page == "README.md":
        _, served, vendors, researcher, publisher, consortium, own = printed
        assert "<discreet-front-page" in served
        assert "local" in vendors
        assert "front_page" in researcher
        assert "front_page" in publisher
        assert "RMSE" in consortium
        assert "newest" in own


def test_no_page_that_is_followed_is_left_out() -> None:
    followed = {path.name for path in (ROOT / "docs" / "tutorial").glob("*.md")}
    assert followed == {"first-steps.md", "from-feed-to-front-page.md", "the-page.md"}
    assert all(blocks_of(ROOT / "docs" / "tutorial" / name) for name in followed)
