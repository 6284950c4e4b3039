"""`discreet.toml`: a command's options in a file. A flag that is given wins over the file."""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.options import in_plain_words
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.serving.learning.experiment import Experiment

DEFAULT = Path("discreet.toml")
EXPERIMENT = "discreet experiment"
"""Where the experiment of a file is, in the meta of the command's context."""
_NOT_SETTINGS = ("config", "check", "as_json", "help")
_PATHS = ("run", "data", "database", "feed", "admin_token_file", "aggregate", "text")
_WORDS = {"text": ("auto", "hashed")}


def use_config(context: typer.Context, given: Path | None) -> Path | None:
    """Take a command's options from a file: the one that is named, or `discreet.toml` where the command is run.

    Every key is an option with underscores for dashes; values are checked as the option's own are. Relative paths start
    at the file.
    """
    path = given or (DEFAULT if DEFAULT.exists() else None)
    if path is None:
        return None
    context.default_map = {**(context.default_map or {}), **read_config_file(context, path)}
    return path


def experiment_of(path: Path) -> Experiment:
    """The `[experiment]` of a file."""
    from discreet.serving.learning.experiment import read_experiment

    found = _table(path)
    if "experiment" not in found:
        raise InputError(path, "has no [experiment]")
    return read_experiment(found["experiment"], path)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(path, "there is no such file") from None
    except (OSError, ValueError) as error:
        raise InputError(path, f"cannot be read as TOML ({error})") from None


def read_config_file(context: typer.Context, path: Path) -> dict[str, Any]:
    """The options in a file, checked.

    Raises:
        InputError: It cannot be read, has a key that is no option, or a value that the option does not take.
    """
    found = _table(path)
    if context.info_name == "serve" and found.pop("experiment", None) is not None:
        context.meta[EXPERIMENT] = experiment_of(path)
    known = {one.name: one for one in context.command.params if one.name and one.name not in _NOT_SETTINGS}
    return {key: _checked(context, path, known, key, value) for key, value in found.items()}


def _checked(context: typer.Context, path: Path, known: dict[str, Any], key: str, value: Any) -> Any:
    if key not in known:
        names = [*known, "experiment"] if context.info_name == "serve" else list(known)
        near = difflib.get_close_matches(key.replace("-", "_"), names, 1, 0.5)
        meant = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
        raise InputError(path, f"'{key}' is no setting; {meant}")
    parameter = known[key]
    is_flag = getattr(parameter, "is_flag", False)
    if is_flag != isinstance(value, bool):
        raise InputError(path, f"{key} {'is true or false' if is_flag else 'is not true or false'}")
    several = parameter.multiple
    values = value if isinstance(value, list) and several else [value]
    if any(isinstance(one, list | dict) for one in values):
        raise InputError(path, f"{key} takes {'one value, or a list of them' if several else 'one value'}")
    placed = [_placed(path, key, one) for one in values]
    try:
        for one in placed:
            _refuse_cut_off(parameter, one)
        parameter.process_value(context, placed if several else placed[0])
    except typer.BadParameter as error:
        raise InputError(path, f"{key}: {in_plain_words(error)}") from None
    return placed if several else placed[0]


def _refuse_cut_off(parameter: Any, value: Any) -> None:
    """Refuse a number that the option would only take as another one."""
    kind = getattr(getattr(parameter, "type", None), "name", "")  # an option of Typer from 0.26 on has no type
    if isinstance(value, float) and (math.isnan(value) or (kind.startswith("integer"))):
        raise typer.BadParameter(f"{value} is not taken", param=parameter)


def _placed(path: Path, key: str, value: Any) -> Any:
    """A value as the option takes it; a path that is relative starts at the file."""
    if key in _PATHS and isinstance(value, str) and "://" not in value and value not in _WORDS.get(key, ()):
        return str(path.parent / value)
    return value
