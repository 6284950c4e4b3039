"""Which of several processes does the work that one does for all: encoding, reading feeds, collecting sums.

Nothing is wrong if two hold the lease at once, as they may for a moment when a clock is off or a process stood still:
every piece of this work may be done twice, and counts once. The lease saves the work.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable

from sqlalchemy import or_, update
from sqlalchemy.exc import SQLAlchemyError

from discreet.serving.database_tables import leases
from discreet.serving.server_store import ServerStore

LEASE_SECONDS = 15.0
_RENEW_SECONDS = 4.0


class Lease:
    """A lease in the database. Whoever dies with it is followed by another after `LEASE_SECONDS`."""

    def __init__(
        self,
        store: ServerStore,
        name: str,
        clock: Callable[[], float] = time.time,
        passed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._name, self._clock, self._passed = store, name, clock, passed
        self._me, self._lock = secrets.token_hex(16), threading.Lock()
        self._asked, self._held = -float("inf"), False

    def held(self) -> bool:
        """Whether this process has it; the database is asked once in a few seconds."""
        with self._lock:
            now = self._passed()
            if now - self._asked >= _RENEW_SECONDS:
                try:
                    self._held, self._asked = self._take(), now
                except SQLAlchemyError:  # whoever works will say that the database does not answer
                    self._held = False
            return self._held

    def release(self) -> None:
        """Let another have it at once."""
        with self._lock:
            self._asked, held, self._held = float("inf"), self._held, False
        if held:
            with self._store.engine.begin() as connection:
                mine = (leases.c.name == self._name) & (leases.c.holder == self._me)
                connection.execute(update(leases).where(mine).values(until=0.0))

    def _take(self) -> bool:
        now = self._clock()
        new = {"name": self._name, "holder": self._me, "until": 0.0}
        free = (leases.c.name == self._name) & or_(leases.c.holder == self._me, leases.c.until < now)
        with self._store.engine.begin() as connection:
            connection.execute(self._store.insert(leases).values(**new).on_conflict_do_nothing())
            mine = update(leases).where(free).values(holder=self._me, until=now + LEASE_SECONDS)
            return bool(connection.execute(mine).rowcount)
