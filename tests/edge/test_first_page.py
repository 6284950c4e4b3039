"""What stands first: the limits hold wherever the articles allow it, in Python and in the browser's modules."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import astuple
from itertools import combinations

import numpy as np
import pytest
from chromium import WEB
from tools import tool

from discreet.edge.reader.first_page import FirstPage
from discreet.errors import DiscreetError

Case = tuple[FirstPage, list[int], list[str], list[int | None]]
NODE = """const { arranged, firstPage } = await import(process.argv[1]);
let text = "";
for await (const part of process.stdin) text += part;
console.log(JSON.stringify(JSON.parse(text).map(([rule, order, sections, published]) => {
  const [places, maxOfSection, minNew, newShare] = rule;
  const candidates = sections.map((category, i) => ({ category, published: published[i] }));
  return arranged(order, candidates, firstPage({ places, maxOfSection, minNew, newShare }));
})));"""


def drawn(seed: int, most: int) -> Case:
    """Few sections or many, some articles without one, some without a date, many of one date."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, most))
    sections = rng.choice(["", "a b", "A_B", "Œ", "œ", "d"][: rng.integers(1, 7)], size).tolist()
    times = [None if rng.random() < 0.2 else int(t) for t in rng.integers(0, 1 + rng.integers(1, 40), size)]
    places, section, new = (int(rng.integers(low, 7)) for low in (0, 1, 0))
    return (
        FirstPage(places, section, new, float(rng.choice([0.1, 0.3, 0.6]))),
        rng.permutation(size).tolist(),
        sections,
        times,
    )


def is_allowed(chosen: tuple[int, ...], rule: FirstPage, sections: list[str]) -> bool:
    counts = Counter(sections[article].lower().replace("_", " ") for article in chosen if sections[article])
    return max(counts.values(), default=0) <= rule.max_of_section


def in_the_plainest_way(
    rule: FirstPage, order: list[int], sections: list[str], published: list[int | None]
) -> set[int]:
    """Each article in its turn, if some allowed set has it, the chosen ones, and as many new ones as are possible."""
    dated = sorted((a for a in order if published[a] is not None), key=lambda a: -published[a])  # type: ignore[operator]
    new = set(dated[: int(np.ceil(np.round(rule.new_share * len(order), 6)))])
    places = min(rule.places, len(order))
    allowed = [s for size in range(places + 1) for s in combinations(order, size) if is_allowed(s, rule, sections)]
    needed = min(rule.min_new, max(len(new & set(one)) for one in allowed))
    enough = [set(one) for one in allowed if len(new & set(one)) >= needed]
    chosen: set[int] = set()
    for article in order:
        if any(chosen | {article} <= one for one in enough):
            chosen.add(article)
    for article in order:
        if len(chosen) < places:
            chosen.add(article)
    return chosen


@pytest.mark.parametrize("seed", range(150))
def test_the_first_places_are_the_best_that_the_limits_allow(seed: int) -> None:
    rule, order, sections, published = drawn(seed, most=10)
    found = rule.arranged(order, sections, published)
    places = min(rule.places, len(order))
    chosen = in_the_plainest_way(rule, order, sections, published)
    assert found == [a for a in order if a in chosen] + [a for a in order if a not in chosen]
    assert len(chosen) == places


def test_the_browser_puts_the_same_first() -> None:
    node = tool("node")
    cases = [drawn(seed, most=60) for seed in range(400)]
    asked = json.dumps([(astuple(rule), *rest) for rule, *rest in cases])
    command = [node, "--input-type=module", "-e", NODE, (WEB / "device" / "first_page.js").as_uri()]
    found = subprocess.run(command, check=True, capture_output=True, text=True, input=asked).stdout
    assert json.loads(found) == [rule.arranged(*rest) for rule, *rest in cases]


def test_no_list_of_one_section_or_of_old_articles_alone() -> None:
    """The case that hurts: all the best are old, and of the section that was read."""
    sections, published = ["sports"] * 50 + ["news", "food", "music"] * 50, [*range(200)]
    found = FirstPage().arranged(range(200), sections, published)[:12]
    assert Counter(sections[a] for a in found).most_common(1)[0][1] == 4
    assert sum(published[a] >= 180 for a in found) == 4
    assert found[:4] == [0, 1, 2, 3]


def test_a_section_is_one_however_feeds_write_it() -> None:
    sections = ["Sport", "sport", "SPORT"] * 20 + ["News", "Food", "Music"] * 20
    found = FirstPage().arranged(range(120), sections, [*range(120)])[:12]
    assert sum(sections[article].lower() == "sport" for article in found) == 4


def test_places_are_kept_for_new_articles_of_the_section_that_is_read() -> None:
    """All the new ones are of it, and so are the best: older ones of it must leave them the places that it may have."""
    sections = ["sports"] * 50 + ["news", "food", "music"] * 40 + ["sports"] * 30
    found = FirstPage().arranged(range(200), sections, [*range(200)])[:12]
    assert [a for a in found if sections[a] == "sports"] == [180, 181, 182, 183]


def test_limits_that_cannot_be_meant_are_refused() -> None:
    for wrong in (
        {"places": -1},
        {"max_of_section": 0},
        {"min_new": -1},
        {"new_share": 1.1},
        {"new_share": float("nan")},
    ):
        with pytest.raises(DiscreetError, match="first page"):
            FirstPage(**wrong)  # type: ignore[arg-type]
