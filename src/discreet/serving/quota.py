"""How many reports one address may send in a day. Addresses are held in memory only, and forgotten after the day."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable

from discreet.serving.refusal import Refusal

_DAY = 86_400
_MAX_ADDRESSES = 100_000


class Quota:
    """Counts reports by address, day by day."""

    def __init__(self, reports: int, passed: Callable[[], float] = time.monotonic) -> None:
        self._reports, self._passed = reports, passed
        self._day, self._sent = 0, dict[str, int]()

    def take(self, address: str) -> None:
        """Count a report, or refuse it. 0 is for any number."""
        if not self._reports:
            return
        day = int(self._passed() // _DAY)
        if day != self._day:
            self._day, self._sent = day, {}
        elif len(self._sent) >= _MAX_ADDRESSES:
            self._sent = {}
        network = _network(address)
        sent = self._sent.get(network, 0)
        if sent >= self._reports:
            raise Refusal(429, "too many reports from this address today; send it again later", retry_after=3600)
        self._sent[network] = sent + 1


def _network(address: str) -> str:
    """The address, of IPv6 the part that a subscriber is given: /64."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(getattr(found, "ipv4_mapped", None) or found)
