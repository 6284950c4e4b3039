"""Writing files so that an interruption leaves either the old content or the new, never half of one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import DiscreetError


@contextmanager
def replacing_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it into place when the block ends well, remove it otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def lasting_file(path: Path) -> Iterator[Path]:
    """As `replacing_file`, for what must not be forgotten: it is on the disk when the block has ended.

    Only its owner can read it.
    """
    with replacing_file(path, 0o600) as draft:
        yield draft
        flush(draft)
    flush(path.parent)


def flush(path: Path) -> None:
    """Return when the file, or the folder's list of files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def creating_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well and vanishes otherwise.

    An existing non-empty `path` is refused unless `overwrite` is set; then it is replaced as a whole, at the end.
    """
    if path.exists() and not path.is_dir():
        raise DiscreetError(f"{path}: is a file, not a folder")
    if path.exists() and any(path.iterdir()) and not overwrite:
        raise DiscreetError(f"{path}: is not empty; choose another folder or pass --overwrite")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield draft
        draft.chmod(0o755)
        if path.exists():
            shutil.rmtree(path)
        draft.rename(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
