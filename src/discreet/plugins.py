"""Packages of other people: how their methods, models and formats are registered and found.

    @discreet.register
    @dataclass(frozen=True)
    class Mine(discreet.Method): ...

`register` takes a method, a model, a vendor method, a data format, a mechanism or an audit, and decides by its base
class. A module registers when it is imported: an installed package names it under the entry point group
`discreet.plugins`, and the command line takes others with `--plugin MODULE`.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.extras import needing_extras
from discreet.setting_values import shown

GROUP = "discreet.plugins"
REGISTRIES = {
    "discreet.methods.method:Method": "discreet.methods.method_registry:METHODS",
    "discreet.models.news_model:NewsModel": "discreet.models.model_registry:MODELS",
    "discreet.vendors.implicit.ranking_method:RankingMethod": "discreet.vendors.implicit.ranking_registry:METHODS",
    "discreet.vendors.vendor_method:VendorMethod": "discreet.vendors.vendor_registry:METHODS",
    "discreet.data.formats.data_format:DataFormat": "discreet.data.formats.format_registry:FORMATS",
    "discreet.privacy.mechanisms.mechanism:Mechanism": "discreet.privacy.mechanisms.mechanism_registry:MECHANISMS",
    "discreet.audits.audit_registry:Audit": "discreet.audits.audit_registry:AUDITS",
}
"""The registry of each base class. They are named, not imported: they stand in higher layers."""

T = TypeVar("T")
_named: list[str] = []
_installed_too = True


def name_plugins(modules: Iterable[str]) -> None:
    """Remember modules that are to be imported when something by a name is looked for."""
    _named.extend(module for module in modules if module not in _named)


def named_plugins() -> list[str]:
    """The modules that were named in this process."""
    return list(_named)


def load_only(modules: Iterable[str]) -> None:
    """Import these modules and those named before, now. From now on this process imports no other plugin.

    A node does so before it answers: what the server asks for then imports nothing.

    Raises:
        DiscreetError: one of them cannot be imported.
    """
    global _installed_too
    _installed_too = False
    name_plugins(modules)
    load_plugins()


def load_plugins() -> None:
    """Import all installed and named plugins. A second call imports nothing again.

    Raises:
        DiscreetError: one of them cannot be imported.
    """
    for entry in _installed() if _installed_too else ():
        _import(entry.value.partition(":")[0], f"the installed plugin '{entry.name}'")
    if _named and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # a module in the working directory, as `python -m` finds it
    for module in _named:
        _import(module, f"--plugin {module}")


def register(thing: T) -> T:
    """Make something of one's own known under its `name`: a decorator for a class, or a call with an audit.

    Raises:
        DiscreetError: it is of no kind that can be registered, it is incomplete, or its name is taken.
    """
    for base in (thing if isinstance(thing, type) else type(thing)).__mro__:
        if place := REGISTRIES.get(f"{base.__module__}:{base.__qualname__}"):
            registry: Registry[T] = resolve(place)
            return registry.register(thing)
    bases = ", ".join(name.partition(":")[2] for name in REGISTRIES)
    raise DiscreetError(f"{_shown(thing)} cannot be registered: it inherits from none of {bases}")


class Registry(Generic[T]):
    """Things of one kind by name: those of the package, imported when they are asked for, and those of plugins.

    Args:
        kind: What one of them is called in an error.
        shipped: Where the package's own are, as `module:name`.
        check: Refuses, with a `DiscreetError`, what is incomplete.
    """

    def __init__(self, kind: str, shipped: Mapping[str, str], check: Callable[[T], None] = lambda _: None) -> None:
        self.kind, self.shipped, self._check = kind, shipped, check
        self._own: dict[str, T] = {}

    def register(self, thing: T) -> T:
        """Add one; the same thing, defined again, takes its own place."""
        name = getattr(thing, "name", None)
        if not isinstance(name, str) or not name:
            raise DiscreetError(f"{_shown(thing)}: a {self.kind} needs a name, such as name: ClassVar[str] = 'mine'")
        self._check(thing)
        if name in self.shipped or (name in self._own and _place(self._own[name]) != _place(thing)):
            raise DiscreetError(f"{_shown(thing)}: another {self.kind} is called '{name}'; choose another name")
        self._own[name] = thing
        return thing

    def forget(self, name: str) -> None:
        """Take one's own out again."""
        del self._own[name]

    def __getitem__(self, name: str) -> T:
        if not isinstance(name, str):  # others wrote it, in a file or a message
            raise DiscreetError(f"the name of a {self.kind} is a word, not {shown(name)}")
        if name in self.shipped:
            found: T = resolve(self.shipped[name])
            return found
        if name not in self._own:
            load_plugins()
        if name not in self._own:
            own = "; if it is in a package of your own, name that with --plugin"
            raise DiscreetError(f"no {self.kind} is called '{name}'; there are {', '.join(self)}{own}")
        return self._own[name]

    def __contains__(self, name: object) -> bool:
        return name in self.shipped or name in self._own

    def __iter__(self) -> Iterator[str]:
        """The names: the package's own, then those of all plugins."""
        load_plugins()
        return iter([*self.shipped, *self._own])

    def own(self) -> list[T]:
        """What plugins registered."""
        load_plugins()
        return list(self._own.values())


def check_frozen(thing: type) -> None:
    """Refuse a class that is no frozen dataclass: settings are its fields, and what has been settled stays."""
    if not dataclasses.is_dataclass(thing) or not thing.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise DiscreetError(f"{_shown(thing)}: must be a frozen dataclass; put @dataclass(frozen=True) above it")


def summary(thing: object) -> str:
    """What a class is, in one line: its `summary`, or the first line of its docstring."""
    text = getattr(thing, "summary", None) or inspect.getdoc(thing) or ""
    return str(text).partition("\n")[0]


def resolve(place: str) -> Any:
    """What stands at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


@cache
def _installed() -> EntryPoints:
    return entry_points(group=GROUP)


def _place(thing: object) -> tuple[str, str] | int:
    """Where a class is defined; anything else is only itself."""
    return (thing.__module__, thing.__qualname__) if isinstance(thing, type) else id(thing)


def _shown(thing: object) -> str:
    return thing.__qualname__ if isinstance(thing, type) else repr(thing)


def _import(module: str, what: str) -> None:
    try:
        with needing_extras():
            importlib.import_module(module)
    except DiscreetError as error:
        raise DiscreetError(f"{what}: {error}") from error
    except Exception as error:
        raise DiscreetError(f"{what} cannot be imported: {error}") from error
