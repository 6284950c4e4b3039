"""The words of the generated world: categories, their sub-topics, and the phrases that titles are made of.

Every category is a text file in `vocabulary/`: lines `key: phrase | phrase | …`, first those of the category, then a
block for each sub-topic. People, teams and companies are invented, so that no headline is about anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CATEGORIES = (
    "news", "sports", "finance", "lifestyle", "health", "travel", "foodanddrink", "entertainment",
    "autos", "weather", "tv", "music", "movies", "kids", "games",
)  # fmt: skip


@dataclass(frozen=True)
class Subtopic:
    """What one sub-topic's titles speak of, together with the turns of phrase that its whole category shares.

    `who` are its entities, `thing` what its stories are about, `many` what a list can list, `tip` what one can learn
    to do; `did` and `after` complete a report, `field` and `expert` an explanation. `share`: its part of the articles.
    """

    category: str
    name: str
    share: float
    who: tuple[str, ...]
    thing: tuple[str, ...]
    many: tuple[str, ...]
    tip: tuple[str, ...]
    did: tuple[str, ...]
    after: tuple[str, ...]
    field: str
    expert: str


@cache
def subtopics() -> tuple[Subtopic, ...]:
    """All sub-topics, those of a category side by side; their shares sum to one."""
    found = [subtopic for category in CATEGORIES for subtopic in _read_category(category)]
    total = sum(subtopic.share for subtopic in found)
    return tuple(Subtopic(**{**vars(subtopic), "share": subtopic.share / total}) for subtopic in found)


def _read_category(category: str) -> list[Subtopic]:
    text = (files(__package__) / "vocabulary" / f"{category}.txt").read_text(encoding="utf-8")
    shared, *blocks = [_read_block(block) for block in text.strip().split("\n\n")]
    return [
        Subtopic(
            category=category,
            name=block["subtopic"][0],
            share=float(shared["share"][0]) / len(blocks),
            who=block["who"],
            thing=block["thing"],
            many=block["many"],
            tip=block["tip"],
            did=shared["did"],
            after=shared["after"],
            field=shared["field"][0],
            expert=shared["expert"][0],
        )
        for block in blocks
    ]


def _read_block(block: str) -> dict[str, tuple[str, ...]]:
    pairs = (line.split(": ", 1) for line in block.splitlines())
    return {key: tuple(phrases.split(" | ")) for key, phrases in pairs}
