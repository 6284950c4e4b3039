"""DAP's errors: problem details (RFC 9457) with a type of the draft's."""

from __future__ import annotations

import base64
from enum import StrEnum
from typing import Any

URN = "urn:ietf:params:ppm:dap:error:"
MEDIA_TYPE = "application/problem+json"


class ProblemType(StrEnum):
    """What is wrong, by the draft's names."""

    INVALID_MESSAGE = "invalidMessage"
    UNRECOGNIZED_TASK = "unrecognizedTask"
    UNRECOGNIZED_AGGREGATION_JOB = "unrecognizedAggregationJob"
    BATCH_INVALID = "batchInvalid"
    INVALID_BATCH_SIZE = "invalidBatchSize"
    INVALID_AGGREGATION_PARAMETER = "invalidAggregationParameter"
    BATCH_MISMATCH = "batchMismatch"
    STEP_MISMATCH = "stepMismatch"
    BATCH_OVERLAP = "batchOverlap"
    UNSUPPORTED_EXTENSION = "unsupportedExtension"
    INVALID_EXTENSION = "invalidExtension"


class DapProblem(Exception):  # noqa: N818 (it is an answer, not an error)
    """A request that is aborted.

    Attributes:
        kind: The draft's type; None for what the draft leaves to HTTP, such as a missing token.
        detail: One line for the developer of the other side.
        status: The HTTP status.
    """

    def __init__(self, kind: ProblemType | None, detail: str, status: int = 400, **more: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.status, self.more = kind, detail, status, more

    def document(self, task_id: bytes | None) -> dict[str, Any]:
        """The problem details."""
        about = {} if task_id is None else {"taskid": encode_id(task_id)}
        kind = "about:blank" if self.kind is None else URN + self.kind
        return {"type": kind, "title": self.detail, "status": self.status, **about, **self.more}


def problem_type(document: Any) -> ProblemType | None:
    """The type that another server's problem details name; None if it is not one of the draft's."""
    kind = document.get("type") if isinstance(document, dict) else None
    name = kind.removeprefix(URN) if isinstance(kind, str) else ""
    return ProblemType(name) if name in list(ProblemType) else None


def encode_id(identifier: bytes) -> str:
    """An identifier as it stands in addresses."""
    return base64.urlsafe_b64encode(identifier).rstrip(b"=").decode()


def decode_id(text: str, size: int) -> bytes | None:
    """The identifier that stands in an address; None if it is not one."""
    try:
        identifier = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except ValueError:
        return None
    return identifier if len(identifier) == size and encode_id(identifier) == text else None
