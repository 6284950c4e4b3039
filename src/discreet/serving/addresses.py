"""Whose request it is: the address that a limit counts for, also behind proxies; and the address to listen on."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from starlette.types import Scope

BACKLOG = 2048


class Proxies:
    """The proxies whose word counts. Without any, the address of a request is that of its connection."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [_network(text) for text in trusted]

    def trusts(self, address: str) -> bool:
        """Whether an address is one of the proxies."""
        if not self._trusted:
            return False
        found = _parsed(address)
        return found is not None and any(found in network for network in self._trusted)

    def client_of(self, scope: Scope) -> str:
        """The client of a request: from the right of X-Forwarded-For, the first address that is no proxy.

        What stands left of it was written by the client, and counts for nothing.
        """
        address = str((scope.get("client") or ("", 0))[0])
        if self._trusted and self.trusts(address):
            forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
            for one in reversed(forwarded.decode("latin-1").split(",")):
                if _parsed(one.strip()) is None:
                    break
                address = one.strip()
                if not self.trusts(address):
                    break
        return household(address)


def household(address: str) -> str:
    """What one subscriber has: an IPv4 address, or the /64 network of an IPv6 address."""
    if ":" not in address:
        return address
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return address if found is None else str(found)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, so that its address can be told to others. Port 0 takes a free one."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        listener = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise DiscreetError(f"--host {host}: no address of this machine ({error})") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = error.strerror or str(error)
        raise DiscreetError(f"{host} port {port} cannot be listened on ({why}); choose another --port") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The address of a server that listens here."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise DiscreetError(f"--trusted-proxy {text}: write an address or a network such as 10.0.0.0/8") from error


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, with IPv4 in IPv6 clothes as IPv4; None for anything else."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found
