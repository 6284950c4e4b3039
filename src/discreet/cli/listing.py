"""`discreet list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from discreet.cli.options import AsJson, console, print_json
from discreet.errors import MissingExtraError
from discreet.extras import needing_extras
from discreet.plugins import load_plugins, summary
from discreet.progress import notice
from discreet.protocol.infinity import to_plain

Rows = list[dict[str, Any]]


def list_all(as_json: AsJson = False) -> None:
    """Show methods and models with their settings, mechanisms, vendors' methods, formats, presets, experiments."""
    load_plugins()
    found: dict[str, Rows | None] = {}
    for kind, rows_of in _KINDS.items():
        try:
            with needing_extras():
                found[kind] = rows_of()
        except MissingExtraError as error:
            found[kind] = None
            notice(f"{kind.replace('_', ' ')} are not listed: {error}")
    if as_json:
        print_json(found)
        return
    for kind, rows in found.items():
        if rows:
            _show(_TITLES[kind], rows)


def _methods() -> Rows:
    from discreet.methods.method_registry import METHODS, setting_schema

    return [{"method": name, "about": summary(METHODS[name]), "settings": setting_schema(name)} for name in METHODS]


def _models() -> Rows:
    from discreet.models.model_registry import MODELS, model_setting_schema

    return [{"model": n, "about": summary(MODELS[n]), "settings": model_setting_schema(n)} for n in MODELS]


def _mechanisms() -> Rows:
    from discreet.privacy.mechanisms.mechanism_registry import MECHANISMS

    return [{"mechanism": name, "about": summary(MECHANISMS[name])} for name in MECHANISMS]


def _vendor_methods() -> Rows:
    from discreet.vendors.vendor_registry import METHODS

    return [{"method": name, "about": summary(METHODS[name])} for name in METHODS]


def _ranking_methods() -> Rows:
    from discreet.vendors.implicit.ranking_registry import METHODS as RANKING_METHODS

    return [{"method": name, "about": summary(RANKING_METHODS[name])} for name in RANKING_METHODS]


def _formats() -> Rows:
    from discreet.data.formats.format_registry import FORMATS

    return [{"format": name, "about": summary(FORMATS[name])} for name in FORMATS]


def _experiments() -> Rows:
    from discreet.experiments.papers.news_experiments import NEWS_EXPERIMENTS
    from discreet.experiments.reproduce import EXPERIMENTS

    about = {name: one.about for name, one in NEWS_EXPERIMENTS.items()}
    about |= {name: one.about for name, one in EXPERIMENTS.items()}
    return [{"experiment": name, "about": words} for name, words in about.items()]


def _presets() -> Rows:
    from discreet.methods.published.paper_presets import PAPER_PRESETS

    return [
        {
            "preset": name,
            "about": f"{one.about}: {', '.join(one.methods)} with {one.model}",
            "settings": {key: {"type": type(value).__name__, "default": value} for key, value in one.settings.items()},
            "epsilons": [to_plain(epsilon) for epsilon in one.epsilons],
            "not_stated": dict(one.not_stated),
        }
        for name, one in PAPER_PRESETS.items()
    ]


_KINDS: dict[str, Callable[[], Rows]] = {
    "methods": _methods,
    "models": _models,
    "mechanisms": _mechanisms,
    "vendor_methods": _vendor_methods,
    "implicit_vendor_methods": _ranking_methods,
    "formats": _formats,
    "presets": _presets,
    "experiments": _experiments,
}
_TITLES = {
    "methods": "Method",
    "models": "Model",
    "mechanisms": "Mechanism",
    "vendor_methods": "Vendors' method",
    "implicit_vendor_methods": "Vendors' method, implicit feedback",
    "formats": "Data format",
    "presets": "Preset",
    "experiments": "Experiment",
}


def _show(title: str, rows: Rows) -> None:
    table = Table(title, "What it is", box=None, pad_edge=False, header_style="bold")
    for row in rows:
        chosen = [f"{name}={given['default']}" for name, given in row.get("settings", {}).items()]
        settings = f"\n[dim]settings: {', '.join(chosen)}[/]" if chosen else ""
        for name, why in row.get("not_stated", {}).items():
            settings += f"\n[dim]not stated: {name} ({why})[/]"
        table.add_row(str(next(iter(row.values()))), f"{row['about']}{settings}")
    console.print(table)
    console.print()
