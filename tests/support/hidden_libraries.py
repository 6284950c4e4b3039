"""Python without some of the libraries that are installed, as it is with one extra of Discreet."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HIDING = {"PYTHONPATH": str(Path(__file__).parent / "hiding")}


def run_without(hidden: Iterable[str], *arguments: str, **how) -> subprocess.CompletedProcess[str]:
    """Run Python; neither it nor what it starts can import these libraries."""
    env = {**os.environ, **HIDING, "HIDDEN_LIBRARIES": " ".join(hidden)}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=False, **how)


def declared(*extras: str) -> Iterator[Requirement]:
    """What the project itself asks for, with these extras and those that they name in turn."""
    lists = [PROJECT["optional-dependencies"][extra] for extra in extras]
    for need in map(Requirement, (one for some in (PROJECT["dependencies"], *lists) for one in some)):
        if need.name == "discreet":
            yield from declared(*need.extras)
        else:
            yield need


def brought(*extras: str) -> set[str]:
    """The distributions that pip installs with these extras."""
    found: set[tuple[str, str]] = set()
    waiting = list(declared(*extras))
    while waiting:
        need = waiting.pop()
        for extra in {"", *need.extras}:
            key = canonicalize_name(need.name), extra
            if key not in found:
                found.add(key)
                inner = map(Requirement, requires(need.name) or ())
                waiting += [one for one in inner if one.marker is None or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def all_but(*extras: str) -> list[str]:
    """The installed libraries that would be missing if only Discreet with these extras were installed."""
    here = {*brought(*extras), "discreet"}
    homes = packages_distributions().items()
    return [library for library, names in homes if not here & {canonicalize_name(name) for name in names}]
