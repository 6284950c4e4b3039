"""The one form of all addresses of a page, by which an article is known wherever it comes from."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote, urlsplit, urlunsplit

from url_normalize import url_normalize

from discreet.protocol.check import SCHEMA

MAX_ID = 120
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_HOST = re.compile(r"([^\x00-,/:-@\[-^`{-\xa0\s]+|\[[0-9A-Fa-f:.]+\])(:\d*)?")
_USUAL_PORT = re.compile(r":(80|443)$")


def is_address(name: str) -> bool:
    """Whether a name is an http or https address."""
    return _ADDRESS.match(name) is not None


def canonical(address: str) -> str:
    """Return the one form of all addresses of a page: https for both, no fragment, no tracking, parameters in order.

    Raises:
        ValueError: It is no address, or names a user.
    """
    parts = urlsplit(address)
    host = unquote(parts.netloc)
    if not _HOST.fullmatch(host) or host.startswith("."):
        raise ValueError(f"{address}: has no host, or more than a host")
    parts = urlsplit(url_normalize(urlunsplit(parts._replace(netloc=host, fragment=""))) or "")
    host = _USUAL_PORT.sub("", parts.netloc)
    parameters = [one for one in parts.query.split("&") if one and not _tracks(_name(one))]
    return urlunsplit(("https", host, parts.path, "&".join(sorted(parameters, key=_name)), ""))


def plain_id(name: str) -> str:
    """Return the id of an article to which nobody gave another; of a name that is no address, itself."""
    if not is_address(name):
        return name
    try:
        return shortened(canonical(name))
    except ValueError:
        return digested(name)


def shortened(name: str) -> str:
    """Return a name, or its digest if it is too long for an id."""
    return name if len(name) <= MAX_ID else digested(name)


def digested(name: str) -> str:
    """Return a digest as an id."""
    return f"sha256:{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:40]}"


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].lower()


def _tracks(name: str) -> bool:
    return name in SCHEMA["tracking"]["names"] or name.startswith(tuple(SCHEMA["tracking"]["prefixes"]))
