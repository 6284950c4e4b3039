"""The one error that users see: a single line that says what is wrong, where, and what to do."""

from __future__ import annotations

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
