"""Sums over a few parties by two aggregators: each party cuts its vector into two shares, and each sees one of them.

`split_shares` has what it promises and why. The helper, and whoever seals to it, needs the extra `sums` (HPKE).
"""

from discreet.aggregation.split_sum.helper_request import AskHelper
from discreet.aggregation.split_sum.split_shares import SplitShare, SplitTerms, split

__all__ = ["AskHelper", "SplitShare", "SplitTerms", "split"]
