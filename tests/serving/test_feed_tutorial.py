"""docs/tutorial/from-feed-to-front-page.md, run as it stands there, in an empty folder."""

import re
from pathlib import Path

import pytest
from pages import free_ports, run_page

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "from-feed-to-front-page.md"


@pytest.mark.long
def test_the_tutorial_does_what_it_says(tmp_path):
    text, free = TUTORIAL.read_text(), free_ports()
    port, folder = free["8000"], tmp_path / "empty"
    _, _, checked, started, changed, broken, taken_down, sums, embedded, _ = run_page(
        TUTORIAL, tmp_path, patience=280, free=free
    )
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
