"""`discreet list`: what there is to choose from."""

from __future__ import annotations

import inspect

from rich.table import Table

from discreet.cli.options import AsJson, console, print_json


def list_all(as_json: AsJson = False) -> None:
    """Show all methods, with one line on each."""
    from discreet.methods.registry import METHODS

    methods = {name: (inspect.getdoc(method) or "").splitlines()[0] for name, method in METHODS.items()}
    if as_json:
        print_json({"methods": [{"method": name, "about": about} for name, about in methods.items()]})
        return
    table = Table("Method", "What it is", box=None, pad_edge=False)
    for name, about in methods.items():
        table.add_row(name, about)
    console.print(table)
