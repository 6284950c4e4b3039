"""Writing so that an interruption leaves either the old content or the new, never half of one.

A folder that Discreet writes as a whole carries its mark: `discreet.sha256`, the SHA-256 of each of its files, in the
format of `sha256sum --check`. Only a folder with the mark is ever replaced, and what is in it can be verified.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from discreet.errors import DiscreetError, DiskFullError, InputError

MARK = "discreet.sha256"
_OPENING = "# This folder was written by Discreet, which may replace it.\n"
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PROBE_BYTES = 1 << 16


@contextmanager
def replacing_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """Yield a temporary path next to `path`; move it into place when the block ends well, remove it otherwise."""
    with naming_full_disk(path):
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
def durable_file(path: Path) -> Iterator[Path]:
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
def naming_full_disk(path: Path) -> Iterator[None]:
    """Say of a full disk which file it was; libraries that write by themselves say it each in their own way."""
    try:
        yield
    except DiskFullError:
        raise
    except Exception as error:
        if (isinstance(error, OSError) and error.errno in _FULL) or os.strerror(errno.ENOSPC) in str(error):
            raise DiskFullError(path) from error
        raise


def make_private(folder: Path) -> None:
    """Let only the owner read a folder and all that is in it."""
    folder.chmod(0o700)
    for one in folder.rglob("*"):
        one.chmod(0o700 if one.is_dir() else 0o600)


@contextmanager
def creating_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well and vanishes otherwise.

    A `path` that is there and not empty is refused.
    """
    with _swapped_in(check_folder(path)) as draft:
        yield draft


@contextmanager
def replacing_folder(
    path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = (), own: Iterable[str] = ()
) -> Iterator[Path]:
    """As `creating_folder`, and the folder gets Discreet's mark; with `overwrite` it may replace one that has it.

    `inputs` and `own` are those of `check_folder`. Whatever fails, the old folder stays.
    """
    with _swapped_in(check_folder(path, overwrite=overwrite, inputs=inputs, own=own)) as draft:
        yield draft
        write_mark(draft)


def check_folder(path: Path, *, overwrite: bool = False, inputs: Iterable[Path] = (), own: Iterable[str] = ()) -> Path:
    """Before any work: whether a folder can be written to `path` without loss, and where that really is.

    Args:
        path: The folder to come.
        overwrite: Whether a folder with Discreet's mark may be replaced.
        inputs: What is still to be read, and so must not be in a folder that is replaced.
        own: Patterns of files that Discreet adds to such a folder later, besides those that the mark names.

    Raises:
        DiscreetError: It cannot; nothing has been touched.
    """
    if path.is_symlink():
        raise DiscreetError(f"{path}: is a symbolic link; name the folder itself")
    if path.exists() and not path.is_dir():
        raise DiscreetError(f"{path}: is a file, not a folder")
    place = path.resolve()
    if place.exists():
        _refuse_loss(path, place, overwrite, inputs, own)
    _probe(path, place)
    return place


def check_file(path: Path) -> None:
    """Before any work: whether a file can be written to `path`.

    Raises:
        DiscreetError: It cannot; nothing has been touched.
    """
    if path.is_dir():
        raise DiscreetError(f"{path}: is a folder, not a file")
    _probe(path, path.resolve())


def _refuse_loss(path: Path, place: Path, overwrite: bool, inputs: Iterable[Path], own: Iterable[str]) -> None:
    if Path.cwd().is_relative_to(place):
        raise DiscreetError(f"{path}: the working directory lies in it; choose another folder")
    for given in inputs:
        if given.exists() and given.resolve().is_relative_to(place):
            raise DiscreetError(f"{path}: {given} is read from there; choose another folder")
    if os.path.ismount(place):
        raise DiscreetError(f"{path}: is a mount point, which cannot be replaced; choose a folder inside it")
    if not any(place.iterdir()):
        return
    if not overwrite:
        raise DiscreetError(f"{path}: is not empty; choose another folder or pass --overwrite")
    if not (place / MARK).is_file():
        raise DiscreetError(f"{path}: has no {MARK}, so it was not written by Discreet; it is not overwritten")
    written = {MARK, *_digests(place)}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        folder = file.is_dir() and not file.is_symlink()
        if not folder and name not in written and not any(fnmatch(name, pattern) for pattern in own):
            raise DiscreetError(f"{path}: holds {name}, which Discreet did not write; move it away first")


def _probe(path: Path, place: Path) -> None:
    """Write a little where `place` will be, so that a folder that is read-only or full is found before the work."""
    folder = next(parent for parent in place.parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_PROBE_BYTES))
            file.flush()
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFullError(path) from error
        raise DiscreetError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error


@contextmanager
def _swapped_in(place: Path) -> Iterator[Path]:
    with naming_full_disk(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        workspace = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
        draft, old = workspace / "new", workspace / "old"
        draft.mkdir()
        try:
            yield draft
            if place.exists():
                place.rename(old)
            draft.rename(place)
        finally:
            if old.exists() and not place.exists():
                old.rename(place)
            shutil.rmtree(workspace, ignore_errors=True)


def claim_folder(path: Path, names: Iterable[str]) -> None:
    """Before any work: make `path` a folder whose files `names` are Discreet's to replace, one by one.

    Everything else in it stays. A file of such a name in a folder without Discreet's mark is somebody else's.
    """
    if path.exists() and not path.is_dir():
        raise DiscreetError(f"{path}: is a file, not a folder")
    if not (path / MARK).is_file():
        for name in names:
            if (path / name).exists():
                raise DiscreetError(f"{path / name}: was not written by Discreet; choose another folder")
    _probe(path, path.resolve() / MARK)


def mark_files(folder: Path, names: Iterable[str], written: Iterable[str]) -> None:
    """Put Discreet's mark on a claimed folder for the files just `written`, and remove the others of its `names`.

    Files of earlier commands that have other names stay, and stay marked.
    """
    written = set(written)
    for name in set(names) - written:
        (folder / name).unlink(missing_ok=True)
    before = _digests(folder) if (folder / MARK).is_file() else {}
    write_mark(folder, sorted(written | {name for name in before if (folder / name).is_file()}))


def write_mark(folder: Path, names: Iterable[str] | None = None) -> None:
    """Put Discreet's mark on a folder, with the digests of the files `names` (by default of all that are there)."""
    if names is None:
        files = (file for file in folder.rglob("*") if file.is_file() and file.name != MARK)
        names = sorted(file.relative_to(folder).as_posix() for file in files)
    with replacing_file(folder / MARK, folder.stat().st_mode & 0o644) as draft:
        draft.write_text(_mark(folder, names), encoding="utf-8")


def add_to_folder(folder: Path, name: str, text: str) -> None:
    """Write one more file to a folder with the mark; an interruption leaves a folder that can be verified."""
    others = [other for other in _digests(folder) if other != name]
    write_mark(folder, others)
    with replacing_file(folder / name) as draft:
        draft.write_text(text, encoding="utf-8")
    write_mark(folder, [*others, name])


def verify_folder(folder: Path) -> None:
    """Refuse a folder in which a file that Discreet's mark names is missing or changed.

    Raises:
        InputError: It names the file.
    """
    digests = _digests(folder)
    for name, digest in digests.items():
        if not (folder / name).is_file():
            raise InputError(folder / name, f"is missing, but {MARK} names it; the folder is damaged")
        if _digest(folder / name) != digest:
            raise InputError(folder / name, f"is damaged: its SHA-256 is not the one in {MARK}")
    if (folder / MARK).read_bytes() != _mark(folder, digests).encode():
        raise InputError(folder / MARK, "is damaged")


def _mark(folder: Path, names: Iterable[str]) -> str:
    return _OPENING + "".join(f"{_digest(folder / name)}  {name}\n" for name in names)


def _digests(folder: Path) -> dict[str, str]:
    path = folder / MARK
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(path, "is missing, so nothing in this folder can be verified") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})") from error
    found = [_LINE.fullmatch(line) for line in lines[1:-1]]
    names = [match[2] for match in found if match]
    if f"{lines[0]}\n" != _OPENING or lines[-1] or None in found or len(set(names)) != len(names):
        raise InputError(path, "is damaged")
    if any(Path(name).is_absolute() or ".." in Path(name).parts for name in names):
        raise InputError(path, "names files outside of its folder")
    return {match[2]: match[1] for match in found if match}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
