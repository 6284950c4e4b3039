"""The page on architecture names places that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
TABLE = PAGE[PAGE.index("## Where do I look") : PAGE.index("## How far a click goes")]
ROWS = re.findall(r"^- \*\*([^*]+)\*\*: (.+(?:\n  .+)*)", TABLE, flags=re.MULTILINE)


def test_there_are_twenty_questions_at_least():
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("question", "places"), ROWS, ids=[row[0] for row in ROWS])
def test_the_place_is_there(question, places):
    for place in re.findall(r"`([^`]+)`", places):
        assert (ROOT / "src" / "discreet" / place).exists(), f"{question}: {place}"
