"""Advice names what exists: each option in a message is one of the command that says it."""

import ast
import re
from pathlib import Path

import pytest
import typer

import discreet
from discreet.cli.app import app

SOURCE = Path(discreet.__file__).parent
SHARED = {
    "serving/server.py": ("serve", "retrain"),
    "serving/backup.py": ("restore",),
    "cli/administered.py": ("articles",),
}
"""Which commands say the messages of a module that is no command's own. Each of them must have the option."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-])")
_COMMAND = re.compile(r"discreet ([a-z]+)(?: ([a-z]+))?")


def commands(group, name=""):
    """The options of each command, by its words."""
    own = {one for parameter in group.params for one in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    if not hasattr(group, "commands"):
        return {name: own}
    below = {}
    for word, command in group.commands.items():
        below |= commands(command, f"{name} {word}".strip())
    return {word: options | own for word, options in below.items()}


def messages(path):
    """Texts of several words in a module, without docstrings; what is filled in later is `{}`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def advice():
    for path in sorted(SOURCE.rglob("*.py")):
        for text in messages(path):
            if " " in text and _OPTION.search(text) and "nodes/flower" not in str(path):  # Flower has options, too
                yield path.relative_to(SOURCE).as_posix(), text


ALL = commands(typer.main.get_command(app))


def of(words):
    """A command, or all of a group of commands."""
    return {one for one in ALL if one == words or one.startswith(f"{words} ")}


def speakers(module, text):
    """Groups of commands; of each group one must have the option that a message names."""
    named = set().union(*(of(f"{one} {two}") or of(one) for one, two in _COMMAND.findall(text)))
    own = of(module.removeprefix("cli/").removesuffix(".py").split("_")[0]) if module.startswith("cli/") else set()
    if named or own:
        return [named | own]
    return [of(one) for one in SHARED[module]] if module in SHARED else [set(ALL)]


@pytest.mark.parametrize(("module", "text"), list(advice()))
def test_each_option_that_is_named_exists(module, text):
    for group in speakers(module, text):
        for option in _OPTION.findall(text):
            assert any(option in ALL[command] for command in group), (option, sorted(group))
