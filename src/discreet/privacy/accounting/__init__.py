"""What several releases cost together: the accountant of record.

    compose([histogram.event(), rounds(label.event(), participations=30)]).epsilon(delta=1e-6)

The names below are imported when they are first used: dp-accounting takes a second, and who only makes a release needs
none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dp_accounting.dp_event import DiscreteLaplaceDpEvent, DpEvent, GaussianDpEvent, ZCDpEvent

    from discreet.privacy.accounting.composition import (
        Accountable,
        Composition,
        all_clicks,
        calibrate,
        compose,
        group_privacy,
        rounds,
        sampled_rounds,
        supports,
    )

__all__ = [
    "Accountable",
    "Composition",
    "DiscreteLaplaceDpEvent",
    "DpEvent",
    "GaussianDpEvent",
    "ZCDpEvent",
    "all_clicks",
    "calibrate",
    "compose",
    "group_privacy",
    "rounds",
    "sampled_rounds",
    "supports",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"{__name__} has no '{name}'; it has {', '.join(__all__)}")
    if name.endswith("DpEvent"):
        from dp_accounting import dp_event

        return getattr(dp_event, name)
    from discreet.privacy.accounting import composition

    return getattr(composition, name)
