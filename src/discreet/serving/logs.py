"""Structured logs: one JSON object a line, about the server and never about a reader.

No payload, no address, no query and no exception's message is written at any level: an exception is its type and where
it was raised.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any

_logger = logging.getLogger("discreet.serving")


class JsonLines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, source and event, with the fields that `log` was given."""
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "from": record.name,
            "event": record.getMessage().splitlines()[0] if record.getMessage() else "",
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["exception"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])[-6:]
            fields["where"] = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(fields, ensure_ascii=False, default=str)


def log(level: str, event: str, **fields: Any) -> None:
    """Write an event of the server."""
    _logger.log(logging.getLevelNamesMapping()[level.upper()], event, extra={"fields": fields})


def log_exception(event: str, **fields: Any) -> None:
    """Write an event with the exception that is being handled."""
    _logger.error(event, exc_info=True, extra={"fields": fields})


def configure(level: str) -> None:
    """Send the logs of this server, and of uvicorn, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("discreet.serving", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").handlers = []
    logging.getLogger("uvicorn.access").propagate = False
