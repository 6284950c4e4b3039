"""The report of a comparison in Chromium: the table fits a desktop, and the column that decides is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from crowded_reports import crowded_news

from discreet.experiments.report import save_report

FITS = """() => { const table = document.querySelector('.scroll'); return table.scrollWidth <= table.clientWidth; }"""


@pytest.mark.parametrize("width", [1366, 1920])
def test_the_table_of_a_report_fits_and_the_difference_stands_beside_the_auc(
    browser: Any, tmp_path: Path, width: int
) -> None:
    save_report(crowded_news(), tmp_path / "report")
    page = browser.new_page(viewport={"width": width, "height": 768})
    page.goto((tmp_path / "report" / "report.html").as_uri())
    titles = page.locator("thead").first.locator("th").all_inner_texts()
    assert titles[:4] == ["Method", "Model", "ε", "AUC"]
    assert titles[4].startswith("AUC − ")
    assert page.evaluate(FITS)
    rows = page.locator("tbody").first.locator("tr").all()
    cells = rows[-1].locator("th, td").all_inner_texts()
    expected = crowded_news().results[-1].minus(crowded_news().reference, "auc")
    assert cells[4].replace("\N{NO-BREAK SPACE}", " ").startswith(str(expected))
    assert len(cells) == len(titles) == 11
    heights = [row.bounding_box()["height"] for row in rows]
    page.close()
    assert max(heights) < 90, "no name is broken into letters"
