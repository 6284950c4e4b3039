"""All methods by name: the one list that `discreet list`, `train` and `compare` read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_type_hints

from discreet.errors import DiscreetError
from discreet.methods.method import Method
from discreet.methods.settings import FIELD, OF_MODEL, fields_of, settings_of
from discreet.plugins import Registry, check_frozen
from discreet.protocol.infinity import from_plain, to_plain
from discreet.setting_values import checked_value, shown

BASELINES = ("random", "popularity", "recency", "exposure", "content", "combined")

METHODS: Registry[type[Method]] = Registry(
    "method",
    {
        "random": "discreet.methods.baselines:Random",
        "popularity": "discreet.methods.baselines:Popularity",
        "recency": "discreet.methods.baselines:Recency",
        "exposure": "discreet.methods.baselines:Exposure",
        "content": "discreet.methods.baselines:Content",
        "combined": "discreet.methods.baselines:Combined",
        "centralized": "discreet.methods.published.centralized:Centralized",
        "fedrec": "discreet.methods.published.fedrec:FedRec",
        "fednewsrec": "discreet.methods.published.fednewsrec:FedNewsRec",
        "dp_fedrec": "discreet.methods.published.dp_fedrec:DPFedRec",
        "privaterec": "discreet.methods.published.privaterec:PrivateRec",
        "fcf": "discreet.methods.published.fcf:FCF",
        "uni_fedrec": "discreet.methods.published.uni_fedrec:UniFedRec",
        "inferred_interests": "discreet.methods.published.inferred_interests:InferredInterests",
        "dp_fedavg": "discreet.methods.dp_fedavg:DPFedAvg",
        "click_reports": "discreet.methods.click_reports.click_reports:ClickReports",
        "front_page": "discreet.methods.front_page.front_page:FrontPage",
        "strict_privaterec": "discreet.methods.strict_privaterec:StrictPrivateRec",
        "user_codes": "discreet.methods.user_codes:UserCodes",
    },
    check_frozen,
)


def make_method(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """The method called `name`, with `settings` in place of its defaults."""
    settings = dict(settings or {})
    known = setting_names(name)
    kinds = get_type_hints(METHODS[name]) if settings else {}
    for setting in settings:
        if not has_setting(name, setting):
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise DiscreetError(f"{name} has no setting '{setting}'; {has}")
        if setting in known:
            settings[setting] = checked_value(name, setting, settings[setting], kinds[setting])
    return METHODS[name](**fields_of(METHODS[name], settings))


def has_setting(name: str, setting: str) -> bool:
    """Whether the method called `name` has a setting, or a model that may have it (`model.x`)."""
    trains = FIELD in {field.name for field in _fields(METHODS[name])}
    return setting in setting_names(name) or (trains and setting.startswith(OF_MODEL))


def settings_for(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of settings for several methods those of one: `rate` is for all that have it, `fedrec.rate` for that alone."""
    own = {key: value for key, value in settings.items() if has_setting(name, key)}
    return own | {key.removeprefix(f"{name}."): value for key, value in settings.items() if key.startswith(f"{name}.")}


def setting_names(name: str) -> list[str]:
    """The settings that the method called `name` has, besides those of its model."""
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


def method_from_plain(name: str, settings: object) -> Method:
    """The inverse of `plain_settings`, for values that others wrote.

    Raises:
        DiscreetError: there is no such method or setting, or a value does not fit.
    """
    if not isinstance(settings, Mapping):
        raise DiscreetError(f"settings of a method have names, so they are not {shown(settings)}")
    return make_method(name, {key: from_plain(value) for key, value in settings.items()})
