"""No check of a device's part in sums can be taken out, in Python or in JavaScript, without being found.

The list is `sums_checks.py`, the conversations and their judge are `sums_conversations.py`.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from sums_checks import CHECKS, Change, Check
from sums_conversations import CONVERSATIONS, problems
from tools import tool

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"
DEVICE = PACKAGE / "serving" / "web" / "device"
SUPPORT = Path(__file__).parents[1] / "support"
AGAIN = (
    "discreet.edge.reader",
    "discreet.aggregation.task",
    "discreet.aggregation.contribution",
    "discreet.protocol.check",
)
"""What is loaded again for each talk, with whatever is in it, so that a changed module is seen by all of them."""
IN_PYTHON = [check for check in CHECKS if check.python is not None]
IN_JAVASCRIPT = [check for check in CHECKS if check.javascript is not None]


def changed(folder: Path, changes: Sequence[Change]) -> dict[Path, str]:
    """The text of each file that changes."""
    texts: dict[Path, str] = {}
    for name, old, new in changes:
        text = texts.get(folder / name) or (folder / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} has {text.count(old)} of {old!r}: the change is out of date"
        texts[folder / name] = text.replace(old, new)
    return texts


class Changed(SourceFileLoader):
    """Loads another text than the file has."""

    texts: dict[Path, str]

    def get_code(self, fullname: str) -> Any:
        return compile(self.texts[Path(self.path)], self.path, "exec")


class Finder:
    """Finds modules whose text is changed."""

    def __init__(self, texts: dict[Path, str]) -> None:
        self._texts = texts

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        file = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        if file not in self._texts:
            return None
        loader = Changed(name, str(file))
        loader.texts = self._texts
        return spec_from_file_location(name, file, loader=loader)


@contextmanager
def loaded_again(texts: dict[Path, str]) -> Iterator[Any]:
    """`sums_talk` over a device whose files have these texts; afterwards everything is as before."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(AGAIN) or name == "sums_talk"}
    for name in before:
        del sys.modules[name]
    finder = Finder(texts)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        yield importlib.import_module("sums_talk")
    finally:
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
        for name in [name for name in sys.modules if name.startswith(AGAIN) or name == "sums_talk"]:
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in before.items():
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


def of_python(conversation: str, changes: Sequence[Change] = ()) -> list[Any]:
    some = CONVERSATIONS[conversation]
    with loaded_again(changed(PACKAGE, changes)) as talks:
        return [talks.Talk(some, clicks).run() for clicks in some["readers"]]


def of_javascript(folder: Path, conversation: str, changes: Sequence[Change] = ()) -> list[Any]:
    node = tool("node")
    if changes:
        shutil.copytree(DEVICE, folder / "device")
        for path, text in changed(folder / "device", changes).items():
            path.write_text(text, encoding="utf-8")
    (folder / "conversation.json").write_text(json.dumps(CONVERSATIONS[conversation]), encoding="utf-8")
    device = folder / "device" if changes else DEVICE
    command = [node, str(SUPPORT / "sums_talks.mjs"), str(device), str(folder / "conversation.json")]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(found.stdout))


def test_every_floor_is_in_the_list() -> None:
    taken_out = [old for check in CHECKS for _, old, _ in (*(check.python or ()), *(check.javascript or ()))]
    floors = (PACKAGE / "edge/reader/sums/floors.py").read_text(encoding="utf-8").partition("def _reasons")[2]
    refusals = (DEVICE / "sums/floors.js").read_text(encoding="utf-8").partition("/** Whether both")[0]
    lines = [line for line in floors.splitlines() if line.startswith("        if ") and "_is_secure" not in line]
    lines += [line for line in refusals.splitlines() if line.startswith("  if (") and "is not https" not in line]
    assert len(lines) == 2 * 11, "those of https are taken out where an address is read"
    assert [line for line in lines if not any(old in line for old in taken_out)] == []


@pytest.mark.parametrize("conversation", sorted({check.conversation for check in IN_PYTHON}))
def test_the_python_device_passes(conversation: str) -> None:
    assert problems(CONVERSATIONS[conversation], of_python(conversation)) == []


@pytest.mark.parametrize("conversation", sorted({check.conversation for check in IN_JAVASCRIPT}))
def test_the_browser_s_device_passes(conversation: str, tmp_path: Path) -> None:
    assert problems(CONVERSATIONS[conversation], of_javascript(tmp_path, conversation)) == []


@pytest.mark.parametrize("check", IN_PYTHON, ids=lambda check: check.name)
def test_a_check_that_is_taken_out_of_python_is_found(check: Check) -> None:
    assert check.python is not None
    assert problems(CONVERSATIONS[check.conversation], of_python(check.conversation, check.python)) != []


@pytest.mark.parametrize("check", IN_JAVASCRIPT, ids=lambda check: check.name)
def test_a_check_that_is_taken_out_of_the_browser_is_found(check: Check, tmp_path: Path) -> None:
    assert check.javascript is not None
    found = of_javascript(tmp_path, check.conversation, check.javascript)
    assert problems(CONVERSATIONS[check.conversation], found) != []
