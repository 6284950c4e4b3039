"""Co-purchases with user-level privacy, shared once."""

from discreet.vendors.implicit.sharing.ranking_sharing import RankingSharing

__all__ = ["RankingSharing"]
