"""Connections whose address was checked, so that a feed's server cannot lead this one into a private network.

A name is resolved once for a connection. All its addresses are checked, and the connection goes to one of these. So a
name that changes its address between the check and the connection gains nothing. A redirect is a new connection. No
proxy is used: it would resolve the name again, and connect to what it finds.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.request import AbstractHTTPHandler, Request

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Dialer:
    """Makes the connections of one fetch, the redirects included.

    The first address is the operator's, who may name one in a private network, if `may_be_private`. A redirect may lead
    to public addresses, or stay at the address that it came from.

    Attributes:
        is_private: Whether the first address was in a private network; None before there was one.
    """

    def __init__(self, *, may_be_private: bool) -> None:
        self.is_private: bool | None = None
        self._may_be_private = may_be_private
        self._before: frozenset[Address] = frozenset()

    def dial(self, host: str, port: int, timeout: float | None) -> socket.socket:
        """Connect to a name or an address.

        Raises:
            OSError: It has an address that is not allowed, or none of them answers.
        """
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = frozenset(_parsed(str(place[0])) for *_, place in found)
        self._require(host, addresses)
        if self.is_private is None:
            self.is_private = not all(map(is_public, addresses))
        self._before = addresses
        problem = OSError(f"{host} has no address")
        for family, kind, protocol, _, place in found:
            connection = socket.socket(family, kind, protocol)
            try:
                connection.settimeout(timeout)
                connection.connect(place)
                return connection
            except OSError as error:
                connection.close()
                problem = error
        raise problem

    def _require(self, host: str, addresses: frozenset[Address]) -> None:
        private = sorted(str(address) for address in addresses if not is_public(address))
        if not private or addresses <= self._before:
            return
        is_meant = self._may_be_private and self.is_private is None and not any(map(_is_nobodys, addresses))
        if not is_meant or len(private) < len(addresses):
            raise OSError(f"{host} is at {private[0]}, which is no address of the public internet")


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet. Python's `is_global` alone is true for some that are not."""
    return address.is_global and not address.is_multicast and (address.version == 4 or address in _PUBLIC_IPV6)


def _is_nobodys(address: Address) -> bool:
    """Whether no feed can be there: a cloud's own data is at a link-local address."""
    return address.is_link_local or address.is_unspecified or address.is_multicast


def _parsed(text: str) -> Address:
    """An address; an IPv4 address that an IPv6 address stands for, as itself."""
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


class _Connection(HTTPConnection):
    def __init__(self, host: str, *, dialer: Dialer, **options: Any) -> None:
        super().__init__(host, **options)
        self._dialer = dialer

    def connect(self) -> None:
        self.sock = self._dialer.dial(self.host, self.port, self.timeout)


class _TlsConnection(_Connection):
    """The certificate must be for the name, whatever the address."""

    default_port = 443

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


class CheckedConnections(AbstractHTTPHandler):
    """http and https over connections that a dialer makes."""

    http_request = https_request = AbstractHTTPHandler.do_request_

    def __init__(self, dialer: Dialer) -> None:
        super().__init__()
        self._dialer = dialer

    def http_open(self, request: Request) -> HTTPResponse:
        """Ask by http."""
        return self.do_open(partial(_Connection, dialer=self._dialer), request)

    def https_open(self, request: Request) -> HTTPResponse:
        """Ask by https."""
        return self.do_open(partial(_TlsConnection, dialer=self._dialer), request)
