"""Titles and abstracts in plain English, from a sub-topic's words and a style of writing.

What a title says is its sub-topic, its entity and its matter (`who`, `thing`); how it says it is one of seven styles.
Both can be learned from the words, and readers care about both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from discreet.data.synthetic.vocabulary import Subtopic

_PATTERNS: dict[str, tuple[str, ...]] = {
    "report": (
        "{who} {did} {after}",
        "{who} {did}",
        "{expert} say {who} {did}",
        "{who} {did}, and {thing2} may be next",
    ),
    "breaking": (
        "Breaking: {who} {did}",
        "Just in: {who} {did} {after}",
        "Live updates: {who} and {thing}, the latest",
        "Developing story: {who} {did}",
    ),
    "list": (
        "{n} {many}, ranked from worst to best",
        "The {n} best {many}, according to {expert}",
        "{n} {many} that you should know about",
        "{n} {many}, from {thing} to {thing2}",
    ),
    "howto": (
        "How to {tip}, step by step",
        "How to {tip} when you worry about {thing}",
        "Here's how to {tip}, according to {expert}",
        "A beginner's guide: how to {tip} and forget {thing}",
    ),
    "opinion": (
        "Opinion: {who} got {thing} all wrong, and here is why I care",
        "Commentary: why I changed my mind about {thing}",
        "Opinion: we need to stop arguing about {thing}",
        "My view: {who} should get more credit for {thing}",
    ),
    "explainer": (
        "Why is everyone talking about {who} and {thing}?",
        "What {thing} really means for {field}, and for {who}",
        "Explained: the story of {who} and {thing} so far",
        "What we know, and do not know, about {who} and {thing}",
    ),
    "pictures": (
        "In pictures: {who} and {thing}",
        "See the photos: {many} and other striking images",
        "{n} stunning photos of {who} before and after {thing}",
        "Photo gallery: {thing} through the eyes of {who}",
    ),
}

STYLES = tuple(_PATTERNS)
STYLE_SHARES = (0.34, 0.10, 0.16, 0.12, 0.10, 0.10, 0.08)
PATTERNS_PER_STYLE = 4

_ABSTRACTS = (
    "{who} {did} {after}. Here is what it means for {field}.",
    "The story of {who} and {thing}, told by those who were there.",
    "{expert} explain what {thing} has to do with {who}, and what comes next for {field}.",
    "A closer look at {thing} {after}.",
    "{who} and {thing} have been the talk of the week. {expert} say that {thing2} matters just as much.",
)

_NUMBERS = (3, 5, 7, 8, 9, 10, 11, 12, 14, 15, 17, 20, 21, 25, 30, 50)
_ARTICLE = re.compile(r"^(?:the|an?) ")
DRAWS = 8
"""How many random numbers it takes to word one article."""


def write_article(subtopic: Subtopic, style: int, who: int, thing: int, draws: Sequence[int]) -> tuple[str, str]:
    """Title and abstract of an article on the given entity and matter, worded by `draws` (whole numbers from 0).

    Titles name things without their article, as headlines do: "the bridge repair" becomes "bridge repair".
    """
    matters = subtopic.thing
    other = (thing + 1 + draws[0] % (len(matters) - 1)) % len(matters)
    names = {"who": subtopic.who[who], "thing": matters[thing], "thing2": matters[other]}
    bare_names = {slot: _ARTICLE.sub("", name) for slot, name in names.items()}
    did = subtopic.did[draws[1] % len(subtopic.did)]
    phrases = {
        "after": subtopic.after[draws[2] % len(subtopic.after)],
        "many": subtopic.many[draws[3] % len(subtopic.many)],
        "tip": subtopic.tip[draws[4] % len(subtopic.tip)],
        "n": str(_NUMBERS[draws[5] % len(_NUMBERS)]),
        "field": subtopic.field,
        "expert": subtopic.expert,
    }
    pattern = _PATTERNS[STYLES[style]][draws[6] % PATTERNS_PER_STYLE]
    title = pattern.format_map({**phrases, **bare_names, "did": did.format_map(bare_names)})
    abstract = _ABSTRACTS[draws[7] % len(_ABSTRACTS)].format_map({**phrases, **names, "did": did.format_map(names)})
    return _capitalised(title), ". ".join(map(_capitalised, abstract.split(". ")))


def mention_in(title: str, name: str) -> str:
    """How a title names something; empty if it does not."""
    bare = _ARTICLE.sub("", name)
    at = title.lower().find(bare.lower())
    return title[at : at + len(bare)] if at >= 0 else ""


def _capitalised(sentence: str) -> str:
    """The sentence with its first letter large, the others as they are."""
    return sentence[:1].upper() + sentence[1:]
