"""Structured logs: one JSON object a line, about the server and never about a reader.

No payload, no address, no query and no exception's message is written at any level: an exception is its type and where
it was raised.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, TextIO

from discreet.progress import write_notices

REPEAT_SECONDS = 60.0
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


def log_seldom(level: str, event: str, **fields: Any) -> None:
    """Write an event that may come with every request: at once, and a minute later how many more there were."""
    _repeats.note((level, event, tuple(sorted(fields.items()))), lambda: log(level, event, **fields))


def log_exception(event: str, **fields: Any) -> None:
    """Write an event with the exception that is being handled; of the same one, in a minute, only how often it came."""
    found = sys.exc_info()
    last = traceback.extract_tb(found[2])[-1:]
    raised = [f"{frame.filename}:{frame.lineno}" for frame in last]
    key = "error", event, (("exception", getattr(found[0], "__name__", "")), ("where", *raised))
    _repeats.note(key, lambda: _logger.error(event, exc_info=True, extra={"fields": fields}))


def log_repeats() -> None:
    """Log what was counted and not logged yet."""
    _repeats.log_all()


_Key = tuple[str, str, tuple[Any, ...]]


class _Repeats:
    """Events that are logged once a minute, and counted in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._not_logged: dict[_Key, int] = {}

    def note(self, key: _Key, write: Callable[[], None]) -> None:
        with self._lock:
            if key in self._not_logged:
                self._not_logged[key] += 1
                return
            self._not_logged[key] = 0
        timer = threading.Timer(REPEAT_SECONDS, self._log, (key,))
        timer.daemon = True
        timer.start()
        write()

    def log_all(self) -> None:
        for key in list(self._not_logged):
            self._log(key)

    def _log(self, key: _Key) -> None:
        with self._lock:
            more = self._not_logged.pop(key, 0)
        if more:
            level, event, fields = key
            named = {name: rest[0] for name, *rest in fields if name != "where"}
            log(level, event, **named, more_in_this_minute=more)


_repeats = _Repeats()


def _log_uncaught(kind: type[BaseException], error: BaseException | None, where: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt | SystemExit):
        _logger.critical("an error was not caught", exc_info=(kind, error or kind(), where))


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the moment, which whoever runs this may have changed, and closed since."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        """It has none of its own."""


def configure(level: str) -> None:
    """Send all that this process says of itself to standard error, as JSON.

    That is the logs of this server, of uvicorn and of other libraries, warnings, notices, and what nobody has caught.
    """
    handler = _StandardError()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    write_notices(partial(log, "info"))
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda found: _log_uncaught(found.exc_type, found.exc_value, found.exc_traceback)
    sys.unraisablehook = lambda found: _log_uncaught(found.exc_type, found.exc_value, found.exc_traceback)
    for name in ("discreet.serving", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").handlers = []
    logging.getLogger("uvicorn.access").propagate = False
