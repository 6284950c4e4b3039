"""The one error that users see: a single line that says what is wrong, where, and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path


class DiscreetError(Exception):
    """Something the user can put right. The command line prints it as one line and exits with code 2."""


class InputError(DiscreetError):
    """A file that cannot be used, named with the line (counted from 1) where one is to blame."""

    def __init__(self, path: Path | str, problem: str, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        self.problem = problem
        where = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {problem}")


class DiskFullError(DiscreetError, OSError):
    """The disk has no room for a file; what was finished before is kept."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    def __str__(self) -> str:
        return f"{self.filename}: the disk is full; what was finished is kept, make room and run the command again"


class MissingExtraError(DiscreetError):
    """A library of an optional part is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed; it comes with: {install_command(extra)}")


class MissingNameError(MissingExtraError, AttributeError):
    """A public name that needs an extra: `hasattr` says no, `help` and `from discreet import *` leave it out."""

    def __init__(self, missing: MissingExtraError, name: str, obj: object) -> None:
        super().__init__(missing.library, missing.extra)
        self.name, self.obj = name, obj


def install_command(extra: str) -> str:
    """How to install an extra: from a clone, as long as no package index has Discreet."""
    return f"pip install '.[{extra}]' (in a clone of Discreet)"
