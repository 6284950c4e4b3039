"""Where the audits of the package stand. Audits of one's own register in a plugin."""

from __future__ import annotations

import importlib

MODULES = (
    "discreet.audits.mechanisms",
    "discreet.audits.leak.canary",
    "discreet.audits.dp_fedavg",
    "discreet.audits.reader",
    "discreet.audits.sharing",
    "discreet.audits.hostile_vendors",
    "discreet.audits.hostile_training",
    "discreet.audits.sums",
)
"""Modules that register audits when they are imported."""


def load_audits() -> None:
    """Import them all."""
    for module in MODULES:
        importlib.import_module(module)
