"""What a test needs and a machine may lack: a browser, a database, a compiler, an index of packages."""

import os
import shutil

import pytest


def require(found: object, missing: str) -> None:
    """Skip the test where something is not `found`; where `CI` is set everything must be there, and the test fails."""
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)


def tool(name: str, missing: str = "") -> str:
    """The path of a program."""
    found = shutil.which(name)
    require(found, missing or f"{name} is not installed")
    return str(found)
