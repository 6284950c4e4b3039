"""Item statistics with user-level privacy, shared once, that pay for those who share them."""

from discreet.vendors.sharing.sharing_method import Shared, Sharing

__all__ = ["Shared", "Sharing"]
