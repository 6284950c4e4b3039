"""Vectors kept on disk, so that a text goes through a language model once in its life.

Vectors are kept by what made them (a model's fingerprint, one folder each) and by the text's own hash, so a catalogue
that grows by ten articles costs ten. The folder is `$DISCREET_CACHE`, or `discreet` in the user's cache folder. It can
be deleted at any time. Files are written whole or not at all, and one that is damaged is thrown away with a notice.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.files import replacing_file
from discreet.progress import notice

Floats32 = NDArray[np.float32]
Found = dict[bytes, Floats32]

_TEXTS_PER_FILE = 8192  # what an interruption can cost
_MANY_FILES = 16


def cache_folder() -> Path:
    """Where vectors are kept."""
    if chosen := os.environ.get("DISCREET_CACHE"):
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet"


def cached_vectors(
    texts: Sequence[str], fingerprint: str, dimension: int, encode: Callable[[list[str]], Floats32]
) -> Floats32:
    """A row for each text: from the cache where it is there, from `encode` (and into the cache) where not.

    Args:
        texts: Any number of texts; one that occurs twice is encoded once.
        fingerprint: Names what `encode` does; another fingerprint is another cache.
        dimension: The length of a vector.
        encode: Turns texts into rows.
    """
    folder = cache_folder() / "text" / fingerprint
    keys = [_key(text) for text in texts]
    text_of = dict(zip(keys, texts, strict=True))
    found = _read(folder, dimension)
    missing = [key for key in text_of if key not in found]
    for start in range(0, len(missing), _TEXTS_PER_FILE):
        some = missing[start : start + _TEXTS_PER_FILE]
        new = dict(zip(some, encode([text_of[key] for key in some]), strict=True))
        found.update(new)
        _write(folder, new)
    if missing:
        _join_files(folder, found)
    if not keys:
        return np.zeros((0, dimension), dtype=np.float32)
    return np.stack([found[key] for key in keys])


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(folder: Path, dimension: int) -> Found:
    found: Found = {}
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                keys, vectors = arrays["keys"], arrays["vectors"]
            if keys.shape != (len(vectors), 16) or vectors.shape[1:] != (dimension,) or vectors.dtype != np.float32:
                raise ValueError("unexpected shape")
            found.update(zip(map(bytes, keys), vectors, strict=True))
        except FileNotFoundError:
            continue  # joined with others by another process
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            notice(f"cached vectors in {path} are damaged ({error}): they are computed again")
            _remove(path)
    return found


def _write(folder: Path, vectors: Found) -> Path | None:
    name = hashlib.blake2b(b"".join(sorted(vectors)), digest_size=8).hexdigest()
    path = folder / f"{name}.npz"
    keys = np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(len(vectors), 16)
    try:
        with replacing_file(path) as draft, draft.open("wb") as file:
            np.savez(file, keys=keys, vectors=np.stack(list(vectors.values())))
    except OSError as error:
        notice(f"vectors cannot be kept in {folder} ({error}): the next run computes them again")
        return None
    return path


def _join_files(folder: Path, found: Found) -> None:
    """Put many small files together into one, so that reading them stays quick."""
    files = list(folder.glob("*.npz"))
    if len(files) < _MANY_FILES:
        return
    joined = _write(folder, found)
    for path in files:
        if joined is not None and path != joined:
            _remove(path)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        notice(f"{path} cannot be removed")
