"""Answers of a server, checked whole or not at all. `answers.json` is for other devices too."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from protocol_answers import ANSWERS, PATH, answer_bytes, text

from discreet.errors import DiscreetError
from discreet.protocol.check import SCHEMA, check, limits, read

CASES = json.loads(PATH.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_answers(case) -> None:
    if case["good"]:
        assert read(case["kind"], answer_bytes(case)) == case["kept"]
    else:
        with pytest.raises(DiscreetError) as caught:
            read(case["kind"], answer_bytes(case))
        assert len(str(caught.value).splitlines()) == 1


def test_the_answers_for_other_devices_are_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == text()


def test_integers_are_integers_and_numbers_are_floats() -> None:
    model = check("model", {**ANSWERS["model"], "topics": 6.0, "weights": {**ANSWERS["model"]["weights"], "mean": 2}})
    assert type(model["topics"]) is int
    assert type(model["weights"]["mean"]) is float


def test_an_answer_has_a_largest_size() -> None:
    with pytest.raises(DiscreetError, match="bytes"):
        read("page", b" " * (limits.max_answer_bytes + 1))


def test_the_limits_are_the_schemas() -> None:
    assert asdict(limits) == SCHEMA["limits"]
    assert SCHEMA["catalogue"]["properties"]["pages"]["maxItems"] == limits.max_pages
    assert SCHEMA["recommend"]["properties"]["articles"]["maxItems"] == limits.max_slate
    assert SCHEMA["model"]["properties"]["schedule"]["properties"]["length_seconds"]["minimum"] == (
        limits.min_epoch_seconds
    )
