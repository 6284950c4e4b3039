"""Plots as a program other than a browser shows them, and that each line of a crowded plot can be told from others."""

import io
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from crowded_reports import crowded_news, crowded_vendors
from hypothesis import given
from hypothesis import strategies as st

from discreet.evaluation.uncertainty import Estimate
from discreet.experiments.drawing import FAINT, INK, MARKERS, SERIES, look, spread_out, standalone
from discreet.experiments.rating_plots import dot_plot, line_plot

Image = pytest.importorskip("PIL.Image")
resvg = pytest.importorskip("resvg_py")

LINES = [(f"line {number}", [1.0, 3.0, math.inf], [0.01 * number, 0.2, 0.3]) for number in range(12)]
PLOTS = {
    **{f"news {name}": svg for name, svg in crowded_news().plots().items()},
    **{f"vendors {name}": svg for name, svg in crowded_vendors().plots().items()},
    "lines": line_plot(LINES, "ε", "AUC", "lines", log=True),
    "dots": dot_plot([("a", Estimate(0.5, 0.1), 0.6)], "RMSE", "dots"),
}


def rendered(svg):
    """The pixels of the file on white paper, by a program that knows no variables and no media queries."""
    png = resvg.svg_to_bytes(svg_string=standalone(svg), background="#ffffff", dpi=96)
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGB")).astype(int)


def rgb(color):
    return np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)])


@pytest.mark.parametrize("name", PLOTS)
def test_colours_are_in_the_file_for_every_program(name):
    svg = PLOTS[name]
    assert "var(" not in standalone(svg)
    assert {color.lower() for color in re.findall(r"(?:fill|stroke): (#\w+)", svg)} <= {INK, FAINT, *SERIES}
    pixels = rendered(svg)
    used = [color for color in SERIES if f"stroke: {color}" in svg or f"fill: {color}" in svg]
    assert used
    for color in used:
        assert (np.abs(pixels - rgb(color)).max(axis=2) <= 8).sum() > 20, color
    assert not (pixels < 12).all(axis=2).any(), "nothing is black"
    assert (pixels == 255).all(axis=2).mean() > 0.5


@pytest.mark.parametrize(
    ("name", "lines"), [("vendors gap", 9), ("vendors tail", 11), ("lines", 12), ("news epsilon", 13)]
)
def test_no_two_lines_share_colour_and_marker(name, lines):
    """Matplotlib defines a shape once for each outline and colour, so a look is the shape's name and the fill."""
    used = re.findall(r'<use xlink:href="#([^"]+)"[^>]*style="fill: (#\w+); stroke: \2', PLOTS[name])
    shapes = dict(re.findall(r'<path id="([^"]+)" d="([^"]+)"', PLOTS[name]))
    looks = {(shapes[shape], fill) for shape, fill in used if fill in SERIES and shapes[shape].count("\n") > 2}
    assert len(looks) == lines


def test_the_pictures_of_the_docs_have_their_colours_too():
    pictures = list((Path(__file__).parents[2] / "docs" / "images").glob("*.svg"))
    assert pictures
    assert not [path.name for path in pictures if "var(" in path.read_text(encoding="utf-8")]


def test_looks_differ():
    looks = [look(number) for number in range(len(SERIES) * len(MARKERS))]
    assert len(set(looks)) == len(looks)
    assert {color for color, _ in looks[:6]} == set(SERIES)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).map(sorted), st.floats(0.001, 0.2))
def test_names_are_spread_within_the_axes_and_stay_where_there_is_room(wanted, gap):
    found = spread_out(wanted, gap)
    least = min(gap, 1 / max(len(wanted) - 1, 1))
    assert -1e-9 <= min(found) <= max(found) <= 1 + 1e-9
    assert all(after - before >= least - 1e-9 for before, after in pairwise(found))
    if all(after - before >= gap for before, after in pairwise(wanted)):
        assert found == pytest.approx(wanted)
