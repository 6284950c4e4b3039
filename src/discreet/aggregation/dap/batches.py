"""What a request asks for: both aggregators read and check it in the same way."""

from __future__ import annotations

import hashlib
from typing import TypeVar

from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.messages import (
    BatchMode,
    BatchSelector,
    CollectionJobReq,
    Extension,
    Interval,
    Query,
    strictly_increasing,
)
from discreet.aggregation.dap.problems import DapProblem, ProblemType
from discreet.aggregation.dap.wire import Message, MessageError

M = TypeVar("M", bound=Message)

RESOURCE_ID_SIZE = 16


def decoded(kind: type[M], body: bytes) -> M:
    """A message, or the abortion that the draft demands."""
    try:
        return kind.decode(body)
    except MessageError as error:
        raise DapProblem(ProblemType.INVALID_MESSAGE, str(error)) from None


def id_of(body: bytes) -> bytes:
    """The id of what a request creates: the same for the same request."""
    return hashlib.sha256(body).digest()[:RESOURCE_ID_SIZE]


def window_time(agreement: Agreement, query: Query | BatchSelector) -> int:
    """Return the time of the one window that is asked for.

    The noise of a share is that of one window. In a batch of more windows it would protect nobody, so there is none.
    """
    if query.batch_mode != BatchMode.TIME_INTERVAL:
        raise DapProblem(ProblemType.INVALID_MESSAGE, "the batch mode of this task is time_interval")
    try:
        interval = Interval.decode(query.config)
    except MessageError as error:
        raise DapProblem(ProblemType.INVALID_MESSAGE, str(error)) from None
    if interval.duration != 1 or interval.start not in agreement.interval:
        raise DapProblem(ProblemType.BATCH_INVALID, "a batch of this task is exactly one of its windows")
    return interval.start


def check_collection(agreement: Agreement, request: CollectionJobReq) -> int:
    """Return the time of the window that a collector asks for; abort where there can be no answer."""
    time = window_time(agreement, request.query)
    check_parameter(request.agg_param)
    if not strictly_increasing(request.extensions):
        raise DapProblem(ProblemType.INVALID_EXTENSION, "the extensions are not in increasing order")
    check_no_extension(request.extensions)
    return time


def check_parameter(agg_param: bytes) -> None:
    """Prio3 has one aggregation parameter, the empty one."""
    if agg_param:
        raise DapProblem(ProblemType.INVALID_AGGREGATION_PARAMETER, "Prio3 takes an empty aggregation parameter")


def check_no_extension(extensions: tuple[Extension, ...]) -> None:
    """No extension is known here."""
    unknown = [extension.extension_type for extension in extensions]
    if unknown:
        raise DapProblem(
            ProblemType.UNSUPPORTED_EXTENSION, "no extension is known here", unsupported_extensions=unknown
        )
