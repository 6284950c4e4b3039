"""`discreet list`: what there is to choose from."""

from __future__ import annotations

import inspect
from typing import Any

from rich.table import Table

from discreet.cli.options import AsJson, console, print_json


def list_all(as_json: AsJson = False) -> None:
    """Show methods with their settings, models, privacy mechanisms, vendors' methods and experiments, a line each."""
    from discreet.experiments.reproduce import EXPERIMENTS
    from discreet.methods.registry import METHODS, setting_schema
    from discreet.models.registry import MODELS
    from discreet.plugins import load_plugins
    from discreet.privacy.mechanisms.registry import MECHANISMS
    from discreet.vendors.registry import METHODS as VENDOR_METHODS

    load_plugins()
    methods = [{"method": n, "about": _first_line(m), "settings": setting_schema(n)} for n, m in METHODS.items()]
    models = [{"model": name, "about": _first_line(model)} for name, model in MODELS.items()]
    mechanisms = [{"mechanism": name, "about": mechanism.summary} for name, mechanism in MECHANISMS.items()]
    vendor_methods = [{"vendors' method": name, "about": known.about} for name, known in VENDOR_METHODS.items()]
    experiments = [{"experiment": name, "about": experiment.about} for name, experiment in EXPERIMENTS.items()]
    if as_json:
        named = [{"method": row["vendors' method"], "about": row["about"]} for row in vendor_methods]
        shown = {"methods": methods, "models": models, "mechanisms": mechanisms}
        print_json({**shown, "vendor_methods": named, "experiments": experiments})
        return
    tables: dict[str, list[dict[str, Any]]] = {"method": methods, "model": models, "mechanism": mechanisms}
    for title, rows in {**tables, "vendors' method": vendor_methods, "experiment": experiments}.items():
        table = Table(title.capitalize(), "What it is", box=None, pad_edge=False, header_style="bold")
        for row in rows:
            chosen = [f"{name}={given['default']}" for name, given in row.get("settings", {}).items()]
            settings = f"\n[dim]settings: {', '.join(chosen)}[/]" if chosen else ""
            table.add_row(str(row[title]), f"{row['about']}{settings}")
        console.print(table)
        console.print()


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0]
