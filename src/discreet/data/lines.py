"""Text files by blocks of whole lines: plain, gzip or xz, parsed by vectorised code, every error with its exact line.

The fast path never looks at single lines. Only when it finds that something does not add up does a slow
walk through the block name the first line to blame.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, Protocol

import polars as pl

from discreet.errors import InputError
from discreet.unpacking import Allowance, counted


class SupportsRead(Protocol):
    """An open binary stream, plain or decompressing."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes (all for -1); none at the end."""

    def readline(self) -> bytes:
        """The rest of the line, with its end."""


COMPRESSIONS = ("", ".gz", ".xz")
BLOCK_BYTES = 1 << 25


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in `folder`, plain or compressed, if there is one."""
    return next((path for suffix in COMPRESSIONS if (path := folder / f"{name}{suffix}").is_file()), None)


def require(folder: Path, name: str) -> Path:
    """The file `name` in `folder`, plain or compressed; a clear error if there is none."""
    found = find(folder, name)
    if found is None:
        raise InputError(
            folder, f"has no {name} (nor {name}.gz, {name}.xz); put the file there or choose another folder"
        )
    return found


def blocks(path: Path, block_bytes: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the content of a plain, .gz or .xz file as `(number of the first line, whole lines)`."""
    with reading(path), open_plain(path) as stream:
        yield from whole_lines(stream, block_bytes)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what can go wrong while a file is read or unpacked into one clear error."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InputError(path, f"is damaged or incomplete ({error}); download it again") from error
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror or error})") from error


def open_plain(path: Path) -> BinaryIO:
    """Open a file, unpacking it on the way, within its allowance, if its name says that it is gzip or xz."""
    if path.suffix in (".gz", ".tgz"):
        return counted(gzip.open(path, "rb"), Allowance(path))
    if path.suffix in (".xz", ".txz"):
        return counted(lzma.open(path, "rb"), Allowance(path))
    return path.open("rb")


def whole_lines(stream: SupportsRead, block_bytes: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Cut an open stream into blocks that end with a line, each with the number of its first line (from 1)."""
    line = 1
    while block := stream.read(block_bytes or BLOCK_BYTES):
        if not block.endswith(b"\n"):
            block += stream.readline()
        yield line, block
        line += block.count(b"\n")


def table(path: Path, first_line: int, block: bytes, columns: Sequence[str], separator: str = "\t") -> pl.DataFrame:
    """Parse a block into text columns; empty fields become null. Every line must have exactly these columns.

    In comma-separated text, quotes may enclose a field; in the tab-separated logs they mean nothing.
    """
    quoted = separator != "\t" and b'"' in block
    schema = dict.fromkeys(columns, pl.String)
    try:
        frame = pl.read_csv(
            block, separator=separator, has_header=False, quote_char='"' if quoted else None, schema=schema
        )
    except pl.exceptions.PolarsError:
        explain_fields(path, first_line, block, len(columns), separator)
    if not quoted and block.count(separator.encode()) != (len(columns) - 1) * len(frame):
        explain_fields(path, first_line, block, len(columns), separator)
    return frame


def explain_fields(path: Path, first_line: int, block: bytes, expected: int, separator: str = "\t") -> NoReturn:
    """Find the first line that is not UTF-8 or has the wrong number of fields, and say so."""
    shown = {"\t": "tab-separated", ",": "comma-separated"}.get(separator, f"'{separator}'-separated")
    for number, raw in enumerate(split_lines(block), first_line):
        text = decode(path, number, raw)
        found = len(fields_of(path, number, text, separator)) if '"' in text else text.count(separator) + 1
        if found != expected:
            problem = f"has {found} {shown} fields, {expected} expected; the line may be cut off"
            raise InputError(path, problem, number)
    raise InputError(path, f"is not a table of {expected} {shown} columns", first_line)


def fields_of(path: Path, line: int, text: str, separator: str = ",") -> list[str]:
    """The fields of one line, of which quotes may enclose some."""
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error as error:
        raise InputError(path, f"cannot be read as {separator!r}-separated fields ({error})", line) from error


def split_lines(block: bytes) -> list[bytes]:
    """The lines of a block, without their ends."""
    return [line.removesuffix(b"\r") for line in block.removesuffix(b"\n").split(b"\n")]


def decode(path: Path, line: int, raw: bytes) -> str:
    """One line as text, or the error that names it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = (
            f"is not UTF-8 text (byte 0x{raw[error.start]:02x} at column {error.start + 1}); convert the file to UTF-8"
        )
        raise InputError(path, problem, line) from error
