"""The Unix socket between a node's host, which lives long, and the relays, which may live for one message.

A message in either direction is its length (8 bytes, big-endian) and then that many bytes. The socket lies in a folder
that only its owner can open: everybody who can connect can speak for the server.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import struct
import time
from contextlib import suppress
from pathlib import Path
from threading import Event

from discreet.errors import DiscreetError
from discreet.nodes.node_transport import Answer

MAX_MESSAGE_LENGTH = 2**31 - 1
"""What engines carry in one message at most (Flower: 2³¹ − 1 bytes)."""
MAX_PATH_LENGTH = 100
"""Systems allow a socket's path 104 to 108 bytes."""
_LENGTH = struct.Struct(">Q")
_LOOK_AT_STOP = 0.2
_READING = 60.0
_log = logging.getLogger(__name__)


class NoAnswer(Exception):  # noqa: N818 (what has happened, not whose mistake it is)
    """The host is not there, has closed the connection without an answer, or takes too long."""


def ask_host(path: Path | str, request: bytes, timeout: float) -> bytes:
    """The host's answer to one request.

    Raises:
        NoAnswer: if there is none within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
            wire.settimeout(timeout)
            wire.connect(str(path))
            wire.sendall(_LENGTH.pack(len(request)) + request)
            return _receive(wire, deadline)
    except (OSError, EOFError) as error:
        raise NoAnswer(f"the host of this node does not answer: {error}") from error


def listens(path: Path | str) -> bool:
    """Whether a host listens there, be it busy or not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        wire.settimeout(5.0)
        try:
            wire.connect(str(path))
        except OSError:
            return False
        return True


def serve_host(path: Path, answer: Answer, stop: Event) -> None:
    """Answer one connection after the other until `stop` is set; then remove the socket.

    A relay that is killed in the middle of a message costs its message and nothing else. A failure of `answer` is
    logged, and the connection closed: the server takes it for silence.

    Raises:
        DiscreetError: if the folder is open to others, the path is too long, or another host listens there.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        _claim(path)
        listener.bind(str(path))
        try:
            path.chmod(0o600)
            listener.listen()
            listener.settimeout(_LOOK_AT_STOP)
            while not stop.is_set():
                try:
                    wire, _ = listener.accept()
                except TimeoutError:
                    continue
                with wire:
                    _serve_one(wire, answer)
        finally:
            path.unlink(missing_ok=True)


def _serve_one(wire: socket.socket, answer: Answer) -> None:
    try:
        request = _receive(wire, time.monotonic() + _READING)
    except (OSError, EOFError):
        return  # a look whether somebody listens, or a relay that was killed
    try:
        reply = answer(request)
    except Exception:
        _log.exception("the host has failed to answer a request of %d bytes", len(request))
        return
    with suppress(OSError):  # the relay has gone
        wire.settimeout(_READING)
        wire.sendall(_LENGTH.pack(len(reply)) + reply)


def _claim(path: Path) -> None:
    """Make sure that the path can be bound, and that only its owner will reach it."""
    if len(os.fsencode(path)) > MAX_PATH_LENGTH:
        raise DiscreetError(f"{path}: too long for a socket; choose a folder with a shorter path")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or stat.S_IMODE(folder.st_mode) & 0o077:
        raise DiscreetError(f"{path.parent}: others can open this folder; make it yours alone: chmod 700 {path.parent}")
    if path.exists():
        if listens(path):
            raise DiscreetError(f"{path}: another host of this node is running; stop it first")
        path.unlink()


def _receive(wire: socket.socket, deadline: float) -> bytes:
    """One message.

    Raises:
        EOFError: if the other side closes before it is complete.
        TimeoutError: if it is not complete at the deadline.
    """
    (length,) = _LENGTH.unpack(_exactly(wire, _LENGTH.size, deadline))
    if length > MAX_MESSAGE_LENGTH:
        raise EOFError(f"a message of {length} bytes is announced")
    return bytes(_exactly(wire, length, deadline))


def _exactly(wire: socket.socket, length: int, deadline: float) -> bytearray:
    data = bytearray()
    while len(data) < length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        wire.settimeout(left)
        part = wire.recv(min(length - len(data), 1 << 20))
        if not part:
            raise EOFError("the other side has closed the connection")
        data += part
    return data
