"""Run by the Python of an environment that has the wheel: help, a wrong option, a missing argument of each command."""

import io
from contextlib import redirect_stderr, redirect_stdout

from typer.main import get_command

from discreet.cli import run
from discreet.cli.app import app


def commands(command, words=()):
    yield list(words), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*words, name))


def said(words):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words)
    return code, out.getvalue(), err.getvalue()


found = list(commands(get_command(app)))
for words, command in found:
    code, out, err = said([*words, "--help"])
    assert code == 0, (words, err)
    assert f"Usage: {' '.join(['discreet', *words])} " in " ".join(out.split()), (words, out)
    code, _, err = said([*words, "--no-such-option"])
    assert (code, err.count("\n")) == (2, 1), (words, err)
    assert err.startswith("discreet: No such option"), err
    if any(one.required for one in command.params):
        code, _, err = said(words)
        assert (code, err.count("\n")) == (2, 1), (words, err)
        assert err.startswith("discreet: Missing "), err
print(len(found))
