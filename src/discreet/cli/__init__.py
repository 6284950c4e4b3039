"""The `discreet` command: one file per command, and here what they share.

Commands import what they need when they run, so that `--help` answers at once. Whatever the user can put right is a
`DiscreetError`: it is printed as one line on standard error, and the exit code is 2. `--verbose` adds the traceback.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from discreet.cli.app import app
from discreet.cli.options import in_plain_words
from discreet.errors import DiscreetError
from discreet.extras import needing_extras
from discreet.progress import is_verbose, shown

# Threads that wait for work should sleep, not spin: on a busy machine spinning costs fifty times the work itself.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Typer below 0.26 uses Click, and from 0.26 on its own copy of it. Both have these classes above `typer.BadParameter`.
_USAGE_ERROR: type[Any] = typer.BadParameter.__mro__[1]
_COMMAND_LINE_ERROR: type[Any] = typer.BadParameter.__mro__[2]

INTERRUPTED = 130
"""The exit code after Ctrl-C; Typer returns it instead of raising."""

_KEEPING_STATE = ("serve", "aggregate", "backup", "restore", "database", "vendors", "nodes", "demo")
"""Commands whose databases, keys, logs and folders only their owner may read, whatever the umask is."""

_GOING_ON = {
    "train": " Go on with the same command and --resume.",
    "compare": " The same command goes on where it stopped.",
    "vendors": " The same command goes on where it stopped.",
    "reproduce": " The same command goes on where it stopped.",
}

_SERVES = ("serve", "aggregate", "articles", "backup", "database", "embed")
_ASKS = ("models", "notice", "restore", "retrain", "status")
_EXTRA = {"audit": "account", **dict.fromkeys((*_SERVES, *_ASKS), "serve")}
"""The extra of a command that needs another one than `train`."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    keeps_state = next((word for word in arguments if not word.startswith("-")), "") in _KEEPING_STATE
    before = os.umask(0o077) if keeps_state else None
    try:
        with shown():
            return _run(list(arguments))
    finally:
        if before is not None:
            os.umask(before)


def _run(arguments: list[str]) -> int:
    command = next((word for word in arguments if not word.startswith("-")), "")
    try:
        with needing_extras(_EXTRA.get(command, "train")):
            code = app(arguments, prog_name="discreet", standalone_mode=False)
    except _COMMAND_LINE_ERROR as error:
        return _refuse(error)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except DiscreetError as error:
        return _fail(str(error))
    except MemoryError as error:
        return _fail(
            f"there is not enough memory ({str(error) or 'no more is known'}); use less data or smaller settings"
        )
    except OSError as error:
        if error.filename is None or error.strerror is None:
            raise
        return _fail(f"{error.filename}: {error.strerror}")
    if code == INTERRUPTED:
        print(f"Interrupted; nothing was left half-written.{_GOING_ON.get(command, '')}", file=sys.stderr)
    return code if isinstance(code, int) else 0


def main() -> None:
    """Entry point of the `discreet` command."""
    sys.exit(run(sys.argv[1:]))


def _refuse(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        return 2  # the help itself has been printed
    if type(error) is typer.BadParameter:
        error = typer.BadParameter(in_plain_words(error), error.ctx, error.param, error.param_hint)
    message = " ".join(error.format_message().split())
    if not isinstance(error, _USAGE_ERROR):
        return _fail(message)
    command = error.ctx.command_path if error.ctx else "discreet"
    return _fail(f"{message}{'' if message.endswith(('.', '?')) else '.'} Try '{command} --help'.")


def _fail(problem: str) -> int:
    if is_verbose():
        traceback.print_exc()
    print(f"discreet: {problem}", file=sys.stderr)
    return 2
