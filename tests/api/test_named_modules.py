"""Modules and names that docstrings and documentation mention are there."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
NAMED = re.compile(r"`(?:discreet\.)?([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)`")
FILES = (".sqlite", ".json", ".csv", ".py", ".js", ".toml", ".sha256")


def known(words):
    """Whether a module has this path, and knows the name that follows it."""
    for length in range(len(words), 0, -1):
        place = PACKAGE.joinpath(*words[:length])
        module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if module.exists():
            return length == len(words) or re.search(rf"\b{words[length]}\b", module.read_text("utf-8")) is not None
    return False


def test_every_module_that_is_named_is_there():
    packages = {path.stem for path in PACKAGE.iterdir()}
    pages = [path for path in (ROOT / "docs").rglob("*.md") if not {"releases", "_build", "generated"} & {*path.parts}]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in [*PACKAGE.rglob("*.py"), *pages]
        for name in NAMED.findall(path.read_text("utf-8"))
        if name.split(".")[0] in packages and not name.endswith(FILES) and not known(name.split("."))
    ]
    assert wrong == []


MEANT = {
    "attention",
    "backup",
    "dp_fedavg",
    "fednewsrec",
    "float_noise",
    "front_page",
    "reproduce",
    "retrain",
    "status",
}
"""Files that belong together and share a name: a command or an audit, and what it runs; a paper's two parts."""


def test_files_and_public_classes_do_not_share_names():
    files = [path for path in PACKAGE.rglob("*.py") if path.stem != "__init__"]
    classes = [
        name for path in files for name in re.findall(r"^class ([A-Z]\w*)", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert {name for name, count in Counter(classes).items() if count > 1} == set()
    assert {name for name, count in Counter(path.stem for path in files).items() if count > 1} <= MEANT
