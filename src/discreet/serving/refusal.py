"""The one way to say no to a request: a status and one clear line."""

from __future__ import annotations

from typing import Any


class RequestRefusal(Exception):  # noqa: N818 (it is an answer, not an error)
    """A request that is not granted.

    Attributes:
        status: The HTTP status: 4xx where the device can put it right, 503 where it should try again later.
        problem: One line for whoever wrote the device.
        details: More fields of the answer, such as the version that would be right.
        retry_after: Seconds after which to try again, for 503.
    """

    def __init__(self, status: int, problem: str, *, retry_after: int | None = None, **details: Any) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem
        self.details = details
        self.retry_after = retry_after
