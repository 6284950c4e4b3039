"""Where the audits of the package stand. Audits of one's own register in a plugin."""

from __future__ import annotations

import importlib

from discreet.errors import MissingExtraError
from discreet.extras import needing_extras

MODULES = (
    "discreet.audits.mechanisms",
    "discreet.audits.leak.canary",
    "discreet.audits.dp_fedavg",
    "discreet.audits.reader",
    "discreet.audits.sharing",
    "discreet.audits.implicit_sharing",
    "discreet.audits.hostile_vendors",
    "discreet.audits.hostile_leader",
    "discreet.audits.hostile_training",
    "discreet.audits.sum_noise",
    "discreet.audits.front_page",
    "discreet.audits.quality",
    "discreet.audits.poisoning.poisoning_audits",
)
"""Modules that register audits when they are imported."""


def load_audits() -> list[str]:
    """Import them all.

    Returns:
        A line for each module that needs an extra which is not installed.
    """
    missing = []
    for module in MODULES:
        try:
            with needing_extras():
                importlib.import_module(module)
        except MissingExtraError as error:
            missing.append(f"the audits in {module} are left out: {error}")
    return missing
