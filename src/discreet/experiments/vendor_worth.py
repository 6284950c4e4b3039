"""What a gain is worth to a vendor, in sentences: in users of its own, on rarely rated items, and for whom most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.evaluation.uncertainty import Difference
from discreet.experiments.vendor_gains import Floats, mean_over_vendors
from discreet.vendors.item_features import GROUP_EDGES

if TYPE_CHECKING:
    from discreet.experiments.rating_results import VendorComparison, VendorResult

_RARE = 2
"""So many of the first groups of items are those that a vendor hardly knows."""
_MIN_SHARE = 0.01


def worth(comparison: VendorComparison, best: VendorResult) -> list[str]:
    """What `best` is worth beyond its gain in RMSE."""
    return [*_in_users(comparison, best), *_on_rare_items(comparison, best), *_apart(comparison, best)]


def _in_users(comparison: VendorComparison, best: VendorResult) -> list[str]:
    """How many times as many users of its own would bring a vendor as much."""
    full = comparison.together
    if full is None or comparison.clearly(full) <= 0:
        return []
    gain, gap = comparison.gain(best), comparison.gain(full).mean
    low, mean, high = (
        comparison.vendors ** min(1.0, max(0.0, (gain.mean + width * gain.se) / gap)) for width in (-2, 0, 2)
    )
    return [
        f"That is worth about what {mean:.1f} times as many users of its own would be to a vendor ({low:.1f} to"
        f" {high:.1f}), if the error falls evenly with the logarithm of the number of users between alone and all."
    ]


def _on_rare_items(comparison: VendorComparison, best: VendorResult) -> list[str]:
    alone, together = (_rare_errors(result) for result in (comparison.local, best))
    tested = comparison.local.tested
    share = float(tested[..., :_RARE].sum() / tested.sum())
    change = mean_over_vendors(alone - together)
    if share < _MIN_SHARE or math.isnan(change.se):
        return []
    return [
        f"Items with fewer than {GROUP_EDGES[_RARE - 1]} ratings of its own are {share:.0%} of what a vendor is asked"
        f" for; there the error goes from {alone.mean():.4f} to {together.mean():.4f}"
        f" ({Difference(change.mean, change.se)})."
    ]


def _apart(comparison: VendorComparison, best: VendorResult) -> list[str]:
    """Who gains most and least, where vendors are not samples of one population."""
    if not comparison.differ or comparison.measured < 2:
        return []
    gains = comparison.gains(best).mean(axis=0)
    most, least = int(np.argmax(gains)), int(np.argmin(gains))
    first, last = comparison.names[most], comparison.names[least]
    return [f"Vendors differ here: {first} gains most ({gains[most]:+.4f}), {last} least ({gains[least]:+.4f})."]


def _rare_errors(result: VendorResult) -> Floats:
    """RMSE on items of which a vendor has few ratings, by partition and vendor; on all where none such is tested."""
    squared, tested = result.squared[..., :_RARE].sum(axis=(1, 3)), result.tested[..., :_RARE].sum(axis=(1, 3))
    rare = np.sqrt(np.divide(squared, tested, out=np.zeros_like(squared), where=tested > 0))
    return np.asarray(np.where(tested > 0, rare, result.rmse))
