"""The ways to recommend from implicit feedback by name."""

from __future__ import annotations

from discreet.plugins import Registry, check_frozen
from discreet.vendors.implicit.ranking_method import RankingMethod

METHODS: Registry[type[RankingMethod]] = Registry(
    "vendors' method for implicit feedback",
    {
        "local": "discreet.vendors.implicit.ranking_baselines:LocalRanking",
        "full": "discreet.vendors.implicit.ranking_baselines:FullRanking",
        "sharing": "discreet.vendors.implicit.sharing:RankingSharing",
        "dp_ials": "discreet.vendors.implicit.dp_ials:DPIALS",
        "popularity": "discreet.vendors.implicit.ranking_baselines:LocalPopularity",
        "ease": "discreet.vendors.implicit.ranking_baselines:LocalEASE",
        "ials": "discreet.vendors.implicit.ranking_baselines:LocalIALS",
    },
    check_frozen,
)
