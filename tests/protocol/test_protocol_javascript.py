"""The browser's constants are the protocol's, and infinity is written in one place."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import discreet
from discreet.privacy.guarantee import Adjacency
from discreet.protocol import versions
from discreet.protocol.check import API, SCHEMA
from discreet.protocol.infinity import from_plain, to_plain

PACKAGE = Path(discreet.__file__).parent
DEVICE = PACKAGE / "serving" / "web" / "device"


def javascript(name: str) -> str:
    return (DEVICE / name).read_text(encoding="utf-8")


def test_the_schema_and_its_limits_are_the_protocols() -> None:
    text = javascript("schema.js")
    assert json.loads(text[text.index("= {") + 2 :].rstrip().removesuffix(";")) == SCHEMA
    api = SCHEMA["model"]["properties"]["api"]
    assert api["minimum"] == api["maximum"] == API


def test_the_versions_are_the_protocols() -> None:
    magic_and_version = re.search(r"0x44, 0x72, (\d+),", javascript("releases.js"))
    assert magic_and_version
    assert int(magic_and_version[1]) == versions.RELEASE
    draft = re.search(r"const VERSION = (\d+);", javascript("prio3/prio3.js"))
    assert draft
    assert int(draft[1]) == versions.VDAF


def test_adjacencies_are_numbered_the_same() -> None:
    listed = re.search(r"const ADJACENCIES = (\[.*\]);", javascript("releases.js"))
    assert listed
    assert json.loads(listed[1]) == [str(adjacency) for adjacency in Adjacency]


def test_infinity_is_written_in_one_place() -> None:
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r'"inf" if|== "inf"|else "inf"', path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(("value", "plain"), [(math.inf, "inf"), (1.5, 1.5), (None, None), ("a", "a"), (3, 3)])
def test_infinity_goes_to_json_and_back(value: object, plain: object) -> None:
    assert to_plain(value) == plain
    assert from_plain(plain) == value
