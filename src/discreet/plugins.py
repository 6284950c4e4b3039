"""Packages of other people: modules that register methods, vendor methods or audits when they are imported.

An installed package names its module under the entry point group `discreet.plugins`. Another module is named on the
command line with `--plugin MODULE`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from importlib.metadata import entry_points

from discreet.errors import DiscreetError

GROUP = "discreet.plugins"
_named: list[str] = []


def name_plugins(modules: Iterable[str]) -> None:
    """Remember modules that are to be imported when something by a name is looked for."""
    _named.extend(modules)


def load_plugins() -> None:
    """Import all installed and named plugins. A second call imports nothing again.

    Raises:
        DiscreetError: one of them cannot be imported.
    """
    for entry in entry_points(group=GROUP):
        _import(entry.value.partition(":")[0], f"the installed plugin '{entry.name}'")
    for module in _named:
        _import(module, f"--plugin {module}")


def _import(module: str, what: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise DiscreetError(f"{what} cannot be imported: {error}") from error
