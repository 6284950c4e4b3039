"""Settings by name, as the command line, a run's file and a node's job have them.

Settings of a method are its fields. Where it trains a model, that model's settings come with them as `model.x`, as
far as they differ from the preset's; in Python they are one object, the field `model_settings`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from discreet.methods.method import Method

OF_MODEL = "model."
FIELD = "model_settings"


def settings_of(method: Method) -> dict[str, Any]:
    """The method's settings by name; `registry.make_method` takes them back."""
    if not dataclasses.is_dataclass(method):
        return {}
    found = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    chosen = found.pop(FIELD, None)
    if chosen is not None:
        from discreet.models.model_registry import changed_settings  # torch, for methods with a model only

        changed = changed_settings(found["model"], found["preset"], chosen)
        found |= {OF_MODEL + name: value for name, value in changed.items()}
    return found


def fields_of(kind: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse, for a method's class: all `model.x` joined in the one field that has them."""
    fields = {name: value for name, value in settings.items() if not name.startswith(OF_MODEL)}
    changes = {name.removeprefix(OF_MODEL): settings[name] for name in settings.keys() - fields.keys()}
    if changes:
        from discreet.models.model_registry import settings_with

        model, preset = (fields.get(name, getattr(kind, name)) for name in ("model", "preset"))
        fields[FIELD] = settings_with(model, preset, changes)
    return fields
