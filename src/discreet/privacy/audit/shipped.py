"""Where the audits of the package stand. Audits of one's own register in a plugin."""

from __future__ import annotations

import importlib

MODULES = (
    "discreet.privacy.audit.catalogue",
    "discreet.methods.leak.canary",
    "discreet.methods.dp_fedavg_audit",
    "discreet.aggregation.audits",
    "discreet.device.audits",
    "discreet.vendors.sharing.audits",
    "discreet.vendors.sharing.hostile",
    "discreet.methods.hostile_nodes",
)
"""Modules that register audits when they are imported. They are named, not imported: they stand in higher layers."""


def load_audits() -> None:
    """Import them all."""
    for module in MODULES:
        importlib.import_module(module)
