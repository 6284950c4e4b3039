"""The configuration file of an aggregator (TOML), and the aggregator that it describes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

from discreet.aggregation.dap.aggregator_store import Store
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.helper import Helper
from discreet.aggregation.dap.hpke import HpkeKey
from discreet.aggregation.dap.key_files import read_key, read_public_key, read_task, read_token, read_verify_key
from discreet.aggregation.dap.leader import Leader
from discreet.aggregation.dap.leader_store import LeaderStore
from discreet.aggregation.dap.messages import Role
from discreet.aggregation.dap.shares import Sealing
from discreet.aggregation.dap.tables import open_engine
from discreet.aggregation.dap.transport import Peer
from discreet.database import using_database
from discreet.errors import InputError
from discreet.privacy.noise import SecureNoise

_DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a configuration file says. Paths are relative to the file.

    Attributes:
        database: A SQLite file, or a postgresql:// URL.
        keys: Files of HPKE keys, the preferred first.
        tasks: For each task its `terms`, the `verify_key` and the `collector`'s public key.
        leader_token: Of a helper: the file with the token that its leader shows.
        helper_token: Of a leader: the file with the token that it shows the helper.
        collector_token: Of a leader: the file with the token that the collector shows.
        collector_key: Of a leader with the collector in one process: the collector's key.
        cells: Of a leader inside `discreet serve`: the folder with the public lists of what a task's values stand for.
        authorities: Of a leader: the certificates that it trusts, where the helper's is not known to the system.
        certificate: Of a server that speaks TLS itself: its certificate, with those that lead to a known one.
        certificate_key: The certificate's private key.
        host: The address to listen on.
        port: The port; 0 for any free one.
        trusted_proxies: Proxies whose X-Forwarded-For is believed.
        rate: Requests a second that one address may send for long; 0 for any number.
        max_reports_of_one: Of a leader: uploads of one address in a day; 0 for any number.
        job_seconds: Of a leader: how long reports wait at most before they go to the helper.
        keep_days: How long after a window's end all that is about it is deleted, collected or not.
        threads: How many processors verification may use.
    """

    database: str
    keys: list[str]
    tasks: list[dict[str, str]]
    leader_token: str | None = None
    helper_token: str | None = None
    collector_token: str | None = None
    collector_key: str | None = None
    cells: str = "cells"
    authorities: str | None = None
    certificate: str | None = None
    certificate_key: str | None = None
    host: str = "127.0.0.1"
    port: int = 0
    trusted_proxies: list[str] = field(default_factory=list)
    rate: float = 50.0
    max_reports_of_one: int = 500
    job_seconds: float = 10.0
    keep_days: float = 30.0
    threads: int = 1
    path: Path

    @property
    def keep_seconds(self) -> float:
        """How long data is kept, in seconds."""
        return self.keep_days * _DAY

    @property
    def place(self) -> str | Path:
        """Where the database is."""
        return self.database if "://" in self.database else self.file(self.database)

    def file(self, name: str) -> Path:
        """A file that the configuration names."""
        return self.path.parent / name

    def token(self, field: str) -> str:
        """The token in the file that a field names."""
        return read_token(self.file(self._needed(field)))

    def agreements(self) -> list[Agreement]:
        """The tasks."""
        found = []
        for task in self.tasks:
            if set(task) != {"terms", "verify_key", "collector"}:
                raise InputError(self.path, "a task has terms, verify_key and collector, and nothing else")
            found.append(
                Agreement(
                    read_task(self.file(task["terms"])),
                    verify_key=read_verify_key(self.file(task["verify_key"])),
                    collector=read_public_key(self.file(task["collector"])),
                )
            )
        if len({one.task.id for one in found}) < max(1, len(found)):
            raise InputError(self.path, "an aggregator has one or more tasks, each once")
        return found

    def helper(self) -> Helper:
        """The helper that the file describes."""
        with using_database(self.place):
            return Helper(Store(self._engine()), self._sealing(Role.HELPER), self.agreements(), self.threads)

    def leader(self) -> Leader:
        """The leader that the file describes."""
        token = self.token("helper_token")
        authorities = None if self.authorities is None else self.file(self.authorities)
        peers: dict[str, Peer] = {}

        def peer(url: str) -> Peer:
            if url not in peers:
                peers[url] = Peer(url, token, authorities)
            return peers[url]

        with using_database(self.place):
            return Leader(
                LeaderStore(self._engine()), self._sealing(Role.LEADER), self.agreements(), peer, threads=self.threads
            )

    def collector(self) -> HpkeKey | None:
        """The collector's key, where it is in the same process."""
        return None if self.collector_key is None else read_key(self.file(self.collector_key))

    def _sealing(self, role: Role) -> Sealing:
        return Sealing(role, [read_key(self.file(name)) for name in self.keys], SecureNoise())

    def _engine(self) -> Any:
        return open_engine(self.place)

    def _needed(self, field: str) -> str:
        value = getattr(self, field)
        if value is None:
            raise InputError(self.path, f"{field} is missing")
        return str(value)


def read_config(path: Path) -> Config:
    """Read a configuration file; an error names the first field that is wrong."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else f"cannot be read as TOML ({error})"
        raise InputError(path, why) from None
    hints = get_type_hints(Config)
    known = [field.name for field in fields(Config) if field.name != "path"]
    for name, value in given.items():
        if name not in known:
            raise InputError(path, f"'{name}' is not known; there are {', '.join(known)}")
        if not _is(value, hints[name]):
            raise InputError(path, f"{name} has a value of another kind than it should")
    for name in ("database", "keys", "tasks"):
        if name not in given:
            raise InputError(path, f"{name} is missing")
    config = Config(**given, path=path)
    for name, least in (
        ("rate", 0),
        ("max_reports_of_one", 0),
        ("job_seconds", 0.01),
        ("keep_days", 0.001),
        ("threads", 1),
    ):
        if getattr(config, name) < least:
            raise InputError(path, f"{name} must be {least:g} or more")
    return config


def _is(value: Any, hint: Any) -> bool:
    """Whether a value of TOML is what a field takes."""
    if isinstance(hint, UnionType):
        return any(_is(value, one) for one in get_args(hint) if one is not type(None))
    arguments = get_args(hint)
    if arguments and isinstance(value, list):
        return all(_is(one, arguments[0]) for one in value)
    if arguments and isinstance(value, dict):
        return all(_is(one, arguments[1]) for one in value.values())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return not arguments and isinstance(value, hint) and not isinstance(value, bool)
