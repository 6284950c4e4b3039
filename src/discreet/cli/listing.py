"""`discreet list`: what there is to choose from."""

from __future__ import annotations

import inspect

from rich.table import Table

from discreet.cli.options import AsJson, console, print_json


def list_all(as_json: AsJson = False) -> None:
    """Show all methods with their settings, all models, and all privacy mechanisms, with one line on each."""
    from discreet.methods.registry import METHODS, setting_names
    from discreet.models.registry import MODELS
    from discreet.privacy.mechanisms.registry import MECHANISMS

    methods = [{"method": n, "about": _first_line(m), "settings": setting_names(n)} for n, m in METHODS.items()]
    models = [{"model": name, "about": _first_line(model)} for name, model in MODELS.items()]
    mechanisms = [{"mechanism": name, "about": mechanism.summary} for name, mechanism in MECHANISMS.items()]
    if as_json:
        print_json({"methods": methods, "models": models, "mechanisms": mechanisms})
        return
    for title, rows in (("method", methods), ("model", models), ("mechanism", mechanisms)):
        table = Table(title.capitalize(), "What it is", box=None, pad_edge=False, header_style="bold")
        for row in rows:
            settings = f"\n[dim]settings: {', '.join(row['settings'])}[/]" if row.get("settings") else ""
            table.add_row(str(row[title]), f"{row['about']}{settings}")
        console.print(table)
        console.print()


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").splitlines()[0]
