"""Good and bad answers of a server, as text: every device must take the good ones and refuse the bad ones.

Each case is {"name", "kind", "text", "good"}; "kept" is what a good answer becomes. In "text", "fill" {"mark", "with",
"times"} stands for what is too long to write. Where "hex" stands in place of "text", it is the answer's bytes.
Write them anew with `python tests/support/protocol_answers.py`; a test requires that the file is up to date.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).parents[1] / "protocol" / "answers.json"

MODEL: dict[str, Any] = {
    "api": 3,
    "model": "m1",
    "space": "s1",
    "topics": 6,
    "epsilon": {"sketch": 0.7, "label": 0.3, "lifetime": 1},
    "unit": "click",
    "adjacency": "substitute",
    "schedule": {"start": "2026-01-01T00:00:00+00:00", "length_seconds": 604800},
    "ranking": "shortlist",
    "shortlist_size": 30,
    "weights": {"interest": 2.0, "mean": 0.5, "nearest": 0, "category": 0.25},
    "vectors": {"dimension": 2, "scale": 0.01, "unit": 0.5, "centre": [0, 0.5]},
    "categories": [{"name": "food", "share": 0.5}],
    "sections": [{"category": "food", "name": "bread", "share": 0.5}],
    "reports": True,
}
ARTICLE: dict[str, Any] = {"id": "N1", "title": "A title", "category": "food", "topic": 3, "vector": "AAE="}
CATALOGUE: dict[str, Any] = {
    "model": "m1",
    "space": "s1",
    "pages": [{"name": "0a" * 32, "articles": 1}],
    "bases": "AAAAAA==",
    "front": [ARTICLE],
    "front_bases": [0.5],
}
PAGE: dict[str, Any] = {"articles": [ARTICLE]}
RECOMMEND: dict[str, Any] = {
    "model": "m1",
    "slate": "0a" * 16,
    "signature": "signed-1",
    "articles": [{"id": "N1", "base": 0.5}, {"id": "N2", "base": -1}],
}
ANSWERS = {"model": MODEL, "catalogue": CATALOGUE, "page": PAGE, "recommend": RECOMMEND}

MARK = "\u00a7"
Place = tuple[str | int, ...]


def changed(kind: str, path: Place, text: str | None) -> str:
    """The good answer with the JSON text put at a path, or with nothing there."""
    answer = copy.deepcopy(ANSWERS[kind])
    place: Any = answer
    for step in path[:-1]:
        place = place[step]
    if text is None:
        del place[path[-1]]
        return json.dumps(answer)
    place[path[-1]] = "PUT HERE"
    return json.dumps(answer).replace('"PUT HERE"', text)


IN_ARTICLE: Place = ("articles", 0)

BAD: list[tuple[str, str, Place, str | None]] = [
    ("another api", "model", ("api",), "1"),
    ("api as text", "model", ("api",), '"2"'),
    ("api true", "model", ("api",), "true"),
    ("no api", "model", ("api",), None),
    ("an empty model name", "model", ("model",), '""'),
    ("a long model name", "model", ("model",), json.dumps("m" * 81)),
    ("half a character in the space", "model", ("space",), '"s\\ud83d"'),
    ("the other half", "model", ("space",), '"\\ude00s"'),
    ("one topic", "model", ("topics",), "1"),
    ("1.5 topics", "model", ("topics",), "1.5"),
    ("10**30 topics", "model", ("topics",), "1" + 30 * "0"),
    ("1e400 topics", "model", ("topics",), "1e400"),
    ("no topics", "model", ("topics",), "null"),
    ("true topics", "model", ("topics",), "true"),
    ("a negative epsilon", "model", ("epsilon", "sketch"), "-0.1"),
    ("a huge epsilon", "model", ("epsilon", "sketch"), "1000000"),
    ("epsilon NaN", "model", ("epsilon", "label"), "NaN"),
    ("epsilon Infinity", "model", ("epsilon", "lifetime"), "Infinity"),
    ("epsilon 1e999", "model", ("epsilon", "lifetime"), "1e999"),
    ("epsilon as text", "model", ("epsilon", "sketch"), '"0.7"'),
    ("epsilon as a list", "model", ("epsilon",), "[0.7, 0.3, 1]"),
    ("epsilon without a label", "model", ("epsilon", "label"), None),
    ("another unit", "model", ("unit",), '"user"'),
    ("another adjacency", "model", ("adjacency",), '"zero out"'),
    ("a known adjacency with a line break", "model", ("adjacency",), '"substitute\\n"'),
    ("a start without a zone", "model", ("schedule", "start"), '"2026-01-01T00:00:00"'),
    ("a start with a line break", "model", ("schedule", "start"), '"2026-01-01T00:00:00+00:00\\n"'),
    ("a start in the year 1", "model", ("schedule", "start"), '"0001-01-01T00:00:00+00:00"'),
    ("an epoch of an hour", "model", ("schedule", "length_seconds"), "3600"),
    ("an epoch of 1e5.5 seconds", "model", ("schedule", "length_seconds"), "100000.5"),
    ("an epoch of a century", "model", ("schedule", "length_seconds"), "3153600000"),
    ("another ranking", "model", ("ranking",), '"constructor"'),
    ("a shortlist of 501", "model", ("shortlist_size",), "501"),
    ("a weight that drowns all", "model", ("weights", "mean"), "1e300"),
    ("a scale of 0", "model", ("vectors", "scale"), "0"),
    ("a unit of 0", "model", ("vectors", "unit"), "0"),
    ("weights without one", "model", ("weights", "category"), None),
    ("a category without a share", "model", ("categories", 0, "share"), None),
    ("a share of 0", "model", ("categories", 0, "share"), "0"),
    ("a section without a category", "model", ("sections", 0, "category"), None),
    ("a section without a name", "model", ("sections", 0, "name"), '""'),
    ("categories as an object", "model", ("categories",), "{}"),
    ("a centre of text", "model", ("vectors", "centre"), '["0", "0.5"]'),
    ("a centre with a hole", "model", ("vectors", "centre"), "[0, null]"),
    ("a centre of 1025", "model", ("vectors", "centre"), json.dumps([0] * 1025)),
    ("a head with a hole", "model", ("vectors", "head"), "[null]"),
    ("a head that is NaN", "model", ("vectors", "head"), "[NaN]"),
    ("a head that drowns all", "model", ("vectors", "head"), "[-1e300]"),
    ("an infinite head", "model", ("vectors", "head"), "[1e999]"),
    ("a head of 65", "model", ("vectors", "head"), json.dumps([0] * 65)),
    ("a weight of the head that drowns all", "model", ("weights", "head"), "1e300"),
    ("reports 1", "model", ("reports",), "1"),
    ("words that are no words", "model", ("words",), '[["a"]]'),
    ("four rankings", "model", ("rankings",), json.dumps([{"name": "local", "epsilon": 0}] * 4)),
    ("diversity above 1", "model", ("diversity",), "1.0000001"),
    ("a page name in capitals", "catalogue", ("pages", 0, "name"), json.dumps("0A" * 32)),
    ("a page name that is a path", "catalogue", ("pages", 0, "name"), json.dumps("../" * 21 + "a")),
    ("a page without articles", "catalogue", ("pages", 0, "articles"), "0"),
    ("a page of a million", "catalogue", ("pages", 0, "articles"), "1000000"),
    ("pages as an object", "catalogue", ("pages",), "{}"),
    ("too many pages", "catalogue", ("pages",), "[" + MARK + json.dumps(CATALOGUE["pages"])[1:]),
    ("bases not in base64", "catalogue", ("bases",), '"AAAA*A=="'),
    ("bases with a line break", "catalogue", ("bases",), '"AAAAAA==\\n"'),
    ("a front of text", "catalogue", ("front",), '["N1"]'),
    ("an infinite front base", "catalogue", ("front_bases",), "[1e999]"),
    ("no front", "catalogue", ("front",), None),
    ("a front article without a topic", "catalogue", ("front", 0, "topic"), None),
    ("an empty page", "page", ("articles",), "[]"),
    ("an article that is null", "page", ("articles",), "[null]"),
    ("a topic of 1.5", "page", (*IN_ARTICLE, "topic"), "1.5"),
    ("a topic of 10**30", "page", (*IN_ARTICLE, "topic"), "1" + 30 * "0"),
    ("a topic of -1", "page", (*IN_ARTICLE, "topic"), "-1"),
    ("a topic of 1024", "page", (*IN_ARTICLE, "topic"), "1024"),
    ("a topic that is true", "page", (*IN_ARTICLE, "topic"), "true"),
    ("a topic as text", "page", (*IN_ARTICLE, "topic"), '"3"'),
    ("a topic nested deep", "page", (*IN_ARTICLE, "topic"), MARK),
    ("an id that is a number", "page", (*IN_ARTICLE, "id"), "1"),
    ("an empty id", "page", (*IN_ARTICLE, "id"), '""'),
    ("an id with a null byte", "page", (*IN_ARTICLE, "id"), '"N\\u0000"'),
    ("an id with a line break at its end", "page", (*IN_ARTICLE, "id"), '"N1\\n"'),
    ("an id of 121 characters", "page", (*IN_ARTICLE, "id"), json.dumps("N" * 121)),
    ("an id with half a character", "page", (*IN_ARTICLE, "id"), '"N\\udfff"'),
    ("a title that is null", "page", (*IN_ARTICLE, "title"), "null"),
    ("a title of 2001 characters", "page", (*IN_ARTICLE, "title"), MARK),
    ("no category", "page", (*IN_ARTICLE, "category"), None),
    ("a category that is an object", "page", (*IN_ARTICLE, "category"), '{"toString": 1}'),
    ("a vector that is a list", "page", (*IN_ARTICLE, "vector"), "[1, 2]"),
    ("a vector with a space", "page", (*IN_ARTICLE, "vector"), '"AA E="'),
    ("a vector of 1369 characters", "page", (*IN_ARTICLE, "vector"), MARK),
    ("published at half a second", "page", (*IN_ARTICLE, "published"), "0.5"),
    ("published in 40000 years", "page", (*IN_ARTICLE, "published"), "1099511627777"),
    ("a url that runs", "page", (*IN_ARTICLE, "url"), '"javascript:alert(1)"'),
    ("a url with a space", "page", (*IN_ARTICLE, "url"), '"https://a.example/ b"'),
    ("a url with a line separator", "page", (*IN_ARTICLE, "url"), '"https://a.example/\\u2028"'),
    ("an image that is data", "page", (*IN_ARTICLE, "image"), '"data:image/png;base64,AA=="'),
    ("a short slate name", "recommend", ("slate",), '"0a"'),
    ("a slate name with a line break", "recommend", ("slate",), json.dumps("0a" * 16 + "\n")),
    ("a signature with a quote", "recommend", ("signature",), '"a\\"b"'),
    ("an empty signature", "recommend", ("signature",), '""'),
    ("an empty slate", "recommend", ("articles",), "[]"),
    ("a slate of 501", "recommend", ("articles",), json.dumps([{"id": "N", "base": 0}] * 501)),
    ("a slate of ids alone", "recommend", ("articles",), '["N1", "N2"]'),
    ("a base that is null", "recommend", ("articles", 0, "base"), "null"),
    ("a base of 1e7", "recommend", ("articles", 0, "base"), "1e7"),
    ("no base", "recommend", ("articles", 1, "base"), None),
]

FILLS = {
    "a topic nested deep": {"with": "[", "times": 200_000},
    "a title of 2001 characters": {"with": "t", "times": 2001},
    "a vector of 1369 characters": {"with": "A", "times": 1369},
    "too many pages": {"with": '{"name": "' + "0a" * 32 + '", "articles": 1},', "times": 20_000},
}
QUOTED = {"a title of 2001 characters", "a vector of 1369 characters"}

GOOD: list[tuple[str, str, Place, str]] = [
    ("an integer written 6.0", "model", ("topics",), "6.0"),
    ("an integer written 6e0", "model", ("topics",), "6e0"),
    ("terms that cost nothing", "model", ("epsilon",), '{"sketch": 0, "label": 0, "lifetime": 0}'),
    ("the other adjacency", "model", ("adjacency",), '"add/remove"'),
    ("diversity 1", "model", ("diversity",), "1"),
    ("no centre yet", "model", ("vectors", "centre"), "[]"),
    ("a head", "model", ("vectors", "head"), "[-0.5]"),
    ("a title with a whole pair", "page", (*IN_ARTICLE, "title"), '"\\ud83d\\ude00"'),
    ("a title with a null byte", "page", (*IN_ARTICLE, "title"), '"a\\u0000b"'),
    ("an id of 120 characters outside the plane", "page", (*IN_ARTICLE, "id"), json.dumps("\U0001f600" * 120)),
    ("an id that is __proto__", "page", (*IN_ARTICLE, "id"), '"__proto__"'),
    ("a category that is constructor", "page", (*IN_ARTICLE, "category"), '"constructor"'),
    ("a topic of -0", "page", (*IN_ARTICLE, "topic"), "-0"),
    ("never published", "page", (*IN_ARTICLE, "published"), "null"),
    ("an empty url", "page", (*IN_ARTICLE, "url"), '""'),
    ("an empty vector", "page", (*IN_ARTICLE, "vector"), '""'),
    ("a catalogue without pages", "catalogue", ("pages",), "[]"),
    ("a base of -1e6", "recommend", ("articles", 0, "base"), "-1e6"),
]


def cases() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for kind, answer in ANSWERS.items():
        made.append(_good(f"a good {kind}", kind, json.dumps(answer)))
        made += [
            {"name": f"{kind}: {text or 'nothing'}", "kind": kind, "text": text, "good": False}
            for text in ("", "null", "[]", "{}", "1", '"text"', "<html>", "{'api': 2}")
        ]
    made += [_good(name, kind, changed(kind, path, text)) for name, kind, path, text in GOOD]
    whole = json.dumps(PAGE)
    for name, text in (
        ("fields that nobody named", whole[:-1] + ', "more": true, "__proto__": {"x": 1}, "constructor": null}'),
        ("unknown numbers of any size", whole[:-1] + ', "huge": ' + "9" * 5000 + ', "e": 1e999}'),
        ("a name twice: the last counts", '{"articles": 1, ' + whole[1:]),
        ("white space around", f" \t\r\n{whole}\n"),
    ):
        made.append(_good(name, "page", text))
    for name, kind, path, put in BAD:
        text = changed(kind, path, json.dumps(MARK, ensure_ascii=False) if name in QUOTED else put)
        case = {"name": name, "kind": kind, "text": text, "good": False}
        if name in FILLS:
            case["fill"] = {"mark": MARK, **FILLS[name]}
            case["text"] = text.replace(json.dumps(MARK)[1:-1], MARK)
        made.append(case)
    for name, text in (
        ("two answers", whole + whole),
        ("half an answer", whole[: len(whole) // 2]),
        ("a name twice: the last is wrong", whole[:-1] + ', "articles": 1}'),
        ("a raw line break in a text", whole.replace("A title", "A\ntitle")),
        ("a comment", "/* */" + whole),
        ("a comma too much", whole[:-1] + ",}"),
        ("NaN where nobody looks", whole[:-1] + ', "x": NaN}'),
        ("required names only from __proto__", '{"__proto__": ' + whole + "}"),
    ):
        made.append({"name": name, "kind": "page", "text": text, "good": False})
    title = whole.encode().split(b"A title")
    for name, data in (
        ("a byte that is no UTF-8", b"\xff".join(title)),
        ("a surrogate as raw bytes", b"\xed\xa0\x80".join(title)),
        ("a byte order mark", b"\xef\xbb\xbf" + whole.encode()),
        ("UTF-16", whole.encode("utf-16")),
    ):
        made.append({"name": name, "kind": "page", "hex": data.hex(), "good": False})
    return made


def _good(name: str, kind: str, text: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "text": text,
        "good": True,
        "kept": _named(kind, json.loads(text, parse_int=float)),
    }


def _named(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that were put in as unknown ones, which are all at the top."""
    return {name: part for name, part in value.items() if kind != "page" or name == "articles"}


def answer_bytes(case: dict[str, Any]) -> bytes:
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    text, fill = case["text"], case.get("fill")
    return (text.replace(fill["mark"], fill["with"] * fill["times"]) if fill else text).encode()


def text() -> str:
    return "[\n" + ",\n".join(json.dumps(case) for case in cases()) + "\n]\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
