"""Model versions: what was learnt, named by its content, with a history and a way back.

Each sum that is used makes a version, in the transaction that uses it: the served model's own version, how many sums
were used, and what was known after them. A **rollback** serves what an earlier version knew, and holds until it is
lifted; learning goes on underneath, so nothing is lost and nothing is released again. What was known is kept for the
versions of the last day and for the last version of each day before. Of all others the name stays, and the reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, update

from discreet.errors import DiscreetError
from discreet.serving.database_tables import model_versions, settings
from discreet.serving.server_store import ServerStore

_ROLLBACK = "rollback"
_DAY = 86_400


@dataclass(frozen=True)
class NewVersion:
    """What a version is made from: the served model, when, after how many sums, and why."""

    model: str
    made: int
    sums: int
    reason: str


@dataclass(frozen=True)
class ModelVersion:
    """A version as it is listed; `usable` says whether what was known then is still kept."""

    version: str
    model: str
    made: int
    sums: int
    reason: str
    usable: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(vars(self))


class ModelVersions:
    """The versions of a served catalogue."""

    def __init__(self, store: ServerStore) -> None:
        self._engine = store.engine
        self._setting = store.setting

    @staticmethod
    def add(connection: Connection, insert: Any, new: NewVersion, state: bytes) -> str:
        """Write a version in the transaction of what made it; its name is a digest of its content."""
        digest = hashlib.blake2b(f"{new.model} {new.sums} ".encode() + state, digest_size=16).hexdigest()
        row = {"version": digest, "state": state, **vars(new)}
        connection.execute(insert(model_versions).values(**row).on_conflict_do_nothing())
        _thin(connection, new)
        return digest

    def listing(self, limit: int = 1000) -> list[ModelVersion]:
        """The latest versions, the newest first."""
        v = model_versions.c
        fields = (v.version, v.model, v.made, v.sums, v.reason, v.state.is_not(None).label("usable"))
        query = select(*fields).order_by(v.number.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [
                ModelVersion(row.version, row.model, int(row.made), int(row.sums), row.reason, bool(row.usable))
                for row in connection.execute(query)
            ]

    def count(self) -> int:
        """How many versions there ever were."""
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(model_versions)).scalar_one())

    def rollback(self, version: str) -> ModelVersion:
        """Serve what a version knew, from now on until it is lifted. A name may be cut to what tells it apart.

        Raises:
            DiscreetError: There is no such version, more than one, or what it knew is not kept.
        """
        with self._engine.begin() as connection:
            query = select(model_versions).where(model_versions.c.version.startswith(version, autoescape=True)).limit(2)
            rows = connection.execute(query).all() if version else []
            if len(rows) != 1:
                raise DiscreetError(f"{'several versions begin' if rows else 'no version begins'} with '{version}'")
            row = rows[0]
            if row.state is None:
                raise DiscreetError(
                    f"what version {row.version} knew is not kept any more; 'discreet models list' says which are"
                )
            self._write(connection, row.version)
        return ModelVersion(row.version, row.model, int(row.made), int(row.sums), row.reason, True)

    def lift(self) -> None:
        """End a rollback."""
        with self._engine.begin() as connection:
            self._write(connection, "")

    def rolled_back_to(self) -> str | None:
        """The version of the rollback that holds now."""
        return self._setting(_ROLLBACK, "") or None

    def chosen(self, model: str) -> tuple[int, bytes] | None:
        """After how many sums, and what, the version of the rollback knew, if it is of this model."""
        version = self.rolled_back_to()
        if version is None:
            return None
        v = model_versions.c
        query = select(v.sums, v.state).where((v.version == version) & (v.model == model) & v.state.is_not(None))
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        return None if row is None else (int(row.sums), bytes(row.state))

    def _write(self, connection: Connection, version: str) -> None:
        mine = settings.c.name == _ROLLBACK
        if not connection.execute(update(settings).where(mine).values(value=version)).rowcount:
            connection.execute(settings.insert().values(name=_ROLLBACK, value=version))


def _thin(connection: Connection, new: NewVersion) -> None:
    """Of versions older than a day keep what the last of each day knew, and what a rollback needs."""
    v = model_versions.c
    old = (v.made < new.made - _DAY) & v.state.is_not(None)
    rows: Sequence[Any] = connection.execute(select(v.number, v.made, v.version).where(old).order_by(v.number)).all()
    last = {row.made // _DAY: row.number for row in rows}
    held = connection.execute(select(settings.c.value).where(settings.c.name == _ROLLBACK)).scalar()
    gone = [row.number for row in rows if last[row.made // _DAY] != row.number and row.version != held]
    if gone:
        connection.execute(update(model_versions).where(v.number.in_(gone)).values(state=None))
