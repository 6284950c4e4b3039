"""All methods by name: the one list that `discreet list`, `train` and `compare` read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

from discreet.errors import DiscreetError
from discreet.methods import baselines
from discreet.methods.base import Method
from discreet.methods.click_reports.method import ClickReports
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.front_page.method import FrontPage
from discreet.methods.published.centralized import Centralized
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.methods.published.privaterec import PrivateRec
from discreet.methods.settings import FIELD, OF_MODEL, fields_of, settings_of
from discreet.methods.strict_privaterec import StrictPrivateRec
from discreet.methods.user_codes import UserCodes
from discreet.plugins import load_plugins
from discreet.protocol.infinity import from_plain, to_plain

BASELINES: dict[str, Callable[..., Method]] = {
    "random": baselines.Random,
    "popularity": baselines.Popularity,
    "recency": baselines.Recency,
    "content": baselines.Content,
    "combined": baselines.Combined,
}

METHODS: dict[str, Callable[..., Method]] = {
    **BASELINES,
    "centralized": Centralized,
    "fedrec": FedRec,
    "fednewsrec": FedNewsRec,
    "dp_fedrec": DPFedRec,
    "privaterec": PrivateRec,
    "dp_fedavg": DPFedAvg,
    "click_reports": ClickReports,
    "front_page": FrontPage,
    "strict_privaterec": StrictPrivateRec,
    "user_codes": UserCodes,
}


M = TypeVar("M", bound=type[Method])


def register(method: M) -> M:
    """Make a method of one's own known under its `name`: a decorator for its class.

    Raises:
        DiscreetError: it has no name, is no frozen dataclass, or another method has that name.
    """
    name = getattr(method, "name", None)
    if not isinstance(name, str) or not name:
        raise DiscreetError(f"{method.__qualname__}: a method needs a name, such as name: ClassVar[str] = 'mine'")
    if not dataclasses.is_dataclass(method) or not method.__dataclass_params__.frozen:
        raise DiscreetError(
            f"{method.__qualname__}: a method is a frozen dataclass; put @dataclass(frozen=True) above it"
        )
    known = METHODS.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (method.__module__, method.__qualname__):
        raise DiscreetError(f"{method.__qualname__}: another method is called '{name}'; choose another name")
    METHODS[name] = method
    return method


def make_method(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """The method called `name`, with `settings` in place of its defaults."""
    settings = settings or {}
    known = setting_names(name)
    for setting in settings:
        if not has_setting(name, setting):
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise DiscreetError(f"{name} has no setting '{setting}'; {has}")
        if setting in known:
            _check_kind(name, setting, settings[setting])
    return METHODS[name](**fields_of(METHODS[name], settings))


def _check_kind(name: str, setting: str, value: Any) -> None:
    """Refuse a word where the setting is a number, and a fraction where it is a whole number."""
    kind = get_type_hints(METHODS[name])[setting]
    if kind is int and not isinstance(value, int):
        raise DiscreetError(f"{name}: {setting} is a whole number, not '{value}'")
    if kind in (float, float | None) and isinstance(value, str):
        raise DiscreetError(f"{name}: {setting} is a number, not '{value}'")


def has_setting(name: str, setting: str) -> bool:
    """Whether the method called `name` has a setting, or a model that may have it (`model.x`)."""
    trains = FIELD in {field.name for field in _fields(METHODS.get(name))}
    return setting in setting_names(name) or (trains and setting.startswith(OF_MODEL))


def setting_names(name: str) -> list[str]:
    """The settings that the method called `name` has, beside those of its model."""
    if name not in METHODS:
        load_plugins()
    if name not in METHODS:
        own = "; if it is in a package of your own, name that with --plugin"
        raise DiscreetError(f"no method is called '{name}'; there are {', '.join(METHODS)}{own}")
    return [field.name for field in _fields(METHODS[name]) if field.name != FIELD]


def _fields(method: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(method) if dataclasses.is_dataclass(method) else ()


def setting_schema(name: str) -> dict[str, dict[str, Any]]:
    """The type and the default of each setting of the method called `name`; infinity is the string "inf"."""
    if not setting_names(name):
        return {}
    method = METHODS[name]
    defaults, kinds = plain_settings(method()), get_type_hints(method)
    return {setting: {"type": _kind(kinds[setting]), "default": value} for setting, value in defaults.items()}


def _kind(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def plain_settings(method: Method) -> dict[str, Any]:
    """The method's settings as JSON has them: infinity is the string "inf"."""
    return {name: to_plain(value) for name, value in settings_of(method).items()}


def method_from_plain(name: str, settings: Mapping[str, Any]) -> Method:
    """The inverse of `plain_settings`."""
    return make_method(name, {key: from_plain(value) for key, value in settings.items()})
