"""Why a client or the server of a secure sum refuses to go on, each reason by its own name and in one line.

A refused message changes nothing: the server may wait for a good one in its place, a client simply stops taking part.
"""
# ruff: noqa: N818 (these are refusals, named for what is refused)

from __future__ import annotations

from discreet.errors import DiscreetError


class Refused(DiscreetError):
    """A message, or the lack of one, that ends a client's part in a secure sum or the sum itself."""


class MalformedMessage(Refused):
    """Bytes that are not a message of this protocol, or a message that cannot be right."""


class WrongSignature(Refused):
    """A message that its sender has not signed."""

    def __init__(self, sender: int) -> None:
        super().__init__(f"the signature of client {sender} does not match its message")


class Replay(Refused):
    """A message of another round, of other terms, or of another set of keys."""

    def __init__(self, sender: int | None = None) -> None:
        whose = "the server" if sender is None else f"client {sender}"
        super().__init__(f"a message of {whose} belongs to another round")


class OutOfTurn(Refused):
    """A message that is not expected at this step, or a step taken twice."""


class UnknownClient(Refused):
    """A client that was not invited, or that has dropped out."""

    def __init__(self, client: int) -> None:
        super().__init__(f"client {client} has no place in this step of the round")


class Duplicate(Refused):
    """A second message of a client at one step, or a client or key that is named twice."""


class TooFewClients(Refused):
    """Fewer clients than the plan asks for: going on would reveal too much, or is impossible."""

    def __init__(self, step: str, there: int, needed: int) -> None:
        super().__init__(f"{step}: {there} clients, but the plan needs {needed}")


class MalformedShare(Refused):
    """A share of a secret that cannot be opened, is no number of the field, or does not rebuild the secret."""


class SurvivorsDisagree(Refused):
    """The server named different survivors to different clients."""
