"""A way to recommend from implicit feedback, with what vendors share or without."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from discreet.data.ratings import Ratings
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.vendor_method import VendorMethod


class RankingMethod(VendorMethod):
    """A vendor method for purchases: what a vendor has in the end ranks its items instead of predicting stars.

    `share` and `predictor` are given `Purchases`.
    """

    @abstractmethod
    def predictor(self, shared: Any, recipient: int, own: Ratings, seed: int) -> ItemRanker:
        """What the vendor of this number makes of `shared` and of its own purchases, which it may use without noise."""
