"""Files wherever they are: in a folder, a zip or a tar archive."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from discreet.data.lines import SupportsRead, open_plain, reading
from discreet.errors import InputError
from discreet.unpacking import Allowance, counted

TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz")
FileFilter = Callable[[str], bool]


def is_archive(path: Path) -> bool:
    """Whether a file's name says that it is a zip or tar archive."""
    return path.is_file() and path.name.lower().endswith((".zip", *TAR_ENDINGS))


def name_of(path: Path) -> str:
    """What to call the data set at `path`: the folder's name, or the file's without its endings."""
    name = path.resolve().name
    return name if path.is_dir() else name.split(".")[0]


def each_file(path: Path, wanted: FileFilter) -> Iterator[tuple[Path, SupportsRead]]:
    """Open, one after the other, the files whose name (without folders) is `wanted`.

    Folders are searched two levels deep, by name; archives are read in their own order, in one pass. Each stream is to
    be read before the next is asked for, inside `reading(path)`. Files ending with .gz or .xz are unpacked on the way.
    """
    if path.is_dir():
        for file in sorted([*path.glob("*"), *path.glob("*/*")]):
            if file.is_file() and wanted(file.name):
                with open_plain(file) as stream:
                    yield file, stream
    elif path.name.lower().endswith(".zip"):
        yield from _each_in_zip(path, wanted)
    else:
        yield from _each_in_tar(path, wanted)


def has_file(path: Path, wanted: FileFilter) -> bool:
    """Whether a folder or archive holds a file whose name is `wanted`."""
    with reading(path):
        return next(each_file(path, wanted), None) is not None


def refuse_several(path: Path, files: Iterable[Path]) -> None:
    """Files of one data set lie in one folder; found in several, they are several data sets."""
    folders = sorted({file.parent for file in files})
    if len(folders) > 1:
        raise InputError(path, f"holds several data sets, {folders[0]} and {folders[1]}; choose one of them")


def _each_in_tar(path: Path, wanted: FileFilter) -> Iterator[tuple[Path, SupportsRead]]:
    allowance = Allowance(path)
    with open_plain(path) as raw:
        with tarfile.open(fileobj=raw, mode="r|") as tar:
            for member in tar:
                if member.isfile() and wanted(PurePosixPath(member.name).name):
                    content = tar.extractfile(member)
                    assert content is not None, "a regular file has content"
                    yield path / member.name, counted(content, allowance)
        while raw.read(1 << 20):  # tar stops at its own end mark; only the rest shows that the file is whole
            pass


def _each_in_zip(path: Path, wanted: FileFilter) -> Iterator[tuple[Path, SupportsRead]]:
    allowance = Allowance(path)
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith("/") and wanted(PurePosixPath(name).name):
                try:
                    content = archive.open(name)
                except (RuntimeError, NotImplementedError) as error:
                    raise InputError(
                        path, f"{name} cannot be unpacked ({error}); unzip it to a folder first"
                    ) from error
                with counted(content, allowance) as unpacked:
                    yield path / name, unpacked
