"""Connections to a PostgreSQL that may hang: each question has an end, also where the server says nothing at all.

The server's own limits (on statements and locks) do not help when the server itself stands still. So the client gives
up, too: a connection on which nothing came for `SILENT_SECONDS` is closed, and the next question opens another.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Engine, event

CONNECT_SECONDS, STATEMENT_SECONDS, LOCK_SECONDS, SILENT_SECONDS = 3, 5, 2, 6
T = TypeVar("T")


class TimedConnection(psycopg.Connection[Any]):
    """A connection that does not wait for ever."""

    def wait(self, gen: Generator[Any, Any, T], *arguments: Any, **named: Any) -> T:
        """Do what psycopg does, until the server has been silent for too long."""
        try:
            return super().wait(_while_it_speaks(gen), *arguments, **named)
        except _Silence:
            self.close()
            raise psycopg.OperationalError(f"the database said nothing for {SILENT_SECONDS} seconds") from None


def limit(engine: Engine) -> None:
    """Let all connections of an engine have limits on time."""

    @event.listens_for(engine, "do_connect")
    def connect(_: Any, __: Any, arguments: list[Any], named: dict[str, Any]) -> TimedConnection:
        return TimedConnection.connect(*arguments, **{"connect_timeout": CONNECT_SECONDS, **named})

    @event.listens_for(engine, "connect")
    def set_up(connection: TimedConnection, _: Any) -> None:
        connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
        connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        connection.execute(f"SET idle_in_transaction_session_timeout = '{2 * STATEMENT_SECONDS}s'")
        connection.commit()


class _Silence(Exception):  # noqa: N818 (it never leaves this file)
    pass


def _while_it_speaks(gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
    """The same generator. It ends after too long a time in which nothing was ready."""
    heard = time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                heard = now
            elif now - heard > SILENT_SECONDS:
                raise _Silence
            wanted = gen.send(ready)
    except StopIteration as end:
        result: T = end.value
        return result
