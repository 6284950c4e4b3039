"""Plots in Chromium: every letter is on the paper and none on another, on light and on dark paper."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crowded_reports import crowded_news, crowded_vendors

from discreet.experiments.drawing import SERIES, color_scheme_css, standalone
from discreet.experiments.rating_plots import line_plot

Image = pytest.importorskip("PIL.Image")
TEXTS = """() => { const paper = document.querySelector('svg').getBoundingClientRect();
  const sides = (box) => [box.left, box.top, box.right, box.bottom];
  return [sides(paper), [...document.querySelectorAll('svg text')].map((text) =>
    [text.textContent, ...sides(text.getBoundingClientRect())])]; }"""
COLORS = """() => [...document.querySelectorAll('svg *')].flatMap((drawn) => {
  const style = getComputedStyle(drawn); return [style.fill, style.stroke]; })"""


@pytest.fixture(scope="module")
def plots() -> dict[str, str]:
    return (
        {f"news {k}": v for k, v in crowded_news().plots().items()}
        | {f"vendors {k}": v for k, v in crowded_vendors().plots().items()}
        | {
            "lines": line_plot(
                [(f"line {n}", [1.0, 2.0], [0.5, 0.5]) for n in range(60)], "a" * 9 + " b" * 99, "c", "lines"
            )
        }
    )


@pytest.mark.parametrize(
    "name", ["news auc", "news epsilon", "vendors rmse", "vendors gap", "vendors tail", "vendors gains", "lines"]
)
def test_no_letter_is_cut_or_covers_another(browser: Any, plots: dict[str, str], name: str) -> None:
    page = browser.new_page()
    page.set_content(f"<!doctype html><body style='margin: 40px'>{plots[name]}")
    (left, top, right, bottom), texts = page.evaluate(TEXTS)
    page.close()
    assert texts
    for text, *box in texts:
        assert left <= box[0] < box[2] <= right, f"{text} is cut"
        assert top <= box[1] + 2 < box[3] - 2 <= bottom, f"{text} is cut"
    for place, (text, *one) in enumerate(texts):
        for again, *other in texts[:place]:
            apart = one[0] >= other[2] - 1 or other[0] >= one[2] - 1 or one[1] >= other[3] - 3 or other[1] >= one[3] - 3
            assert apart, f"{text} covers {again}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_plot_is_legible_on_light_and_dark_paper(
    browser: Any, plots: dict[str, str], scheme: Any, tmp_path: Path
) -> None:
    (tmp_path / "plot.svg").write_text(standalone(plots["vendors gap"]), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto((tmp_path / "plot.svg").as_uri())
    pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).astype(int)
    page.close()
    paper = np.bincount(pixels.ravel()).argmax()
    assert paper > 240 if scheme == "light" else paper < 40
    assert (np.abs(pixels - paper) > 120).sum() > 2000, "what is drawn stands out from the paper"


def test_dark_rules_change_every_colour(browser: Any, plots: dict[str, str]) -> None:
    page = browser.new_page(color_scheme="dark")
    page.set_content(f"<!doctype html><style>{color_scheme_css()}</style>{plots['vendors gap']}")
    seen = page.evaluate(COLORS)
    page.close()
    light = {f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})" for color in SERIES}
    assert not light & set(seen)
