"""The files of an aggregator and a collector: keys, secrets, public keys and tasks, each small and checked."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any

from discreet.aggregation.dap.hpke import HpkeKey, generate_key
from discreet.aggregation.dap.messages import HpkeConfig
from discreet.aggregation.task import Task
from discreet.errors import DiscreetError, InputError
from discreet.files import durable_file

SECRET_SIZE = 32
MIN_TOKEN = 16


def write_key(path: Path, config_id: int | None = None) -> HpkeKey:
    """A new HPKE key: `path` for its owner alone, and `path`.pub for everybody."""
    public = public_path(path)
    _require_new(path, public)
    key = generate_key(secrets.randbelow(256) if config_id is None else config_id)
    fields = {"config": _text(key.config.encode()), "private_key": _text(key.private_key)}
    with durable_file(path) as draft:
        draft.write_text(json.dumps(fields) + "\n", encoding="utf-8")
    with durable_file(public) as draft:
        draft.write_text(_text(key.config.encode()) + "\n", encoding="utf-8")
    public.chmod(0o644)
    return key


def write_secret(path: Path) -> None:
    """A new secret of 32 bytes, as hexadecimal digits: a verification key, or a token."""
    _require_new(path)
    with durable_file(path) as draft:
        draft.write_text(secrets.token_hex(SECRET_SIZE) + "\n", encoding="utf-8")


def public_path(path: Path) -> Path:
    """Where the public part of a key is."""
    return path.with_name(path.name + ".pub")


def read_key(path: Path) -> HpkeKey:
    """A key that `write_key` has written."""
    try:
        fields = json.loads(_read(path))
        return HpkeKey(HpkeConfig.decode(_bytes(fields["config"])), _bytes(fields["private_key"]))
    except (ValueError, KeyError, TypeError, AttributeError, DiscreetError):
        raise InputError(path, "is not an HPKE key; make one with 'discreet aggregate keygen'") from None


def read_public_key(path: Path) -> HpkeConfig:
    """The public part of a key."""
    try:
        return HpkeConfig.decode(_bytes(_read(path).strip()))
    except (ValueError, DiscreetError):
        raise InputError(path, "is not the public part of an HPKE key (FILE.pub)") from None


def read_verify_key(path: Path) -> bytes:
    """A verification key: 64 hexadecimal digits."""
    try:
        key = bytes.fromhex(_read(path).strip())
    except ValueError:
        key = b""
    if len(key) != SECRET_SIZE:
        raise InputError(path, "must hold 64 hexadecimal digits; make them with 'discreet aggregate keygen --secret'")
    return key


def read_token(path: Path) -> str:
    """A bearer token: one line."""
    token = _read(path).strip()
    if len(token) < MIN_TOKEN or not token.isascii() or any(character.isspace() for character in token):
        raise InputError(path, f"must hold one token of at least {MIN_TOKEN} characters, without spaces")
    return token


def read_task(path: Path) -> Task:
    """The public terms of a task, in JSON."""
    try:
        fields: Any = json.loads(_read(path))
    except ValueError as error:
        raise InputError(path, f"is not JSON ({error})") from None
    try:
        return Task.from_json(fields)
    except DiscreetError as error:
        raise InputError(path, str(error)) from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})") from None


def _require_new(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            raise InputError(path, "is there already; a key is never overwritten")


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, b"-_", validate=True)
