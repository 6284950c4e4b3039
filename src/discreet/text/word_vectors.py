"""Pre-trained word vectors, read from the files they are published in.

* GloVe's text format, one word and its figures a line: plain, `.gz`, or in a `.zip` (with several files inside, add the
  name of one to the path: `glove.6B.zip/glove.6B.100d.txt`). A first line with two counts, as fastText writes it, is
  passed over.
* `.npz` with `words_utf8` (UTF-8 bytes, one word a line), `vectors`, and perhaps `rows`: word i has `vectors[rows[i]]`.
"""

from __future__ import annotations

import gzip
import math
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.text.words import UNKNOWN, Vocabulary, words_of
from discreet.unpacking import Allowance, counted

Floats32 = NDArray[np.float32]


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors, in the order of the file (in GloVe's files: the most frequent first)."""

    words: Sequence[str]
    matrix: Floats32

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Numbers for exactly the words that have a vector."""
        return Vocabulary(self.words)

    def for_vocabulary(self, vocabulary: Vocabulary) -> Floats32:
        """A row for each number of `vocabulary`; zero for padding, the unknown word, and words without a vector."""
        table = np.zeros((len(vocabulary), self.dimension), dtype=np.float32)
        place = {word: i for i, word in enumerate(self.words)}
        found = [(number, place[word]) for word, number in vocabulary.number_of.items() if word in place]
        if found:
            numbers, places = np.array(found).T
            table[numbers] = self.matrix[places]
        return table

    def encode(self, texts: Sequence[str]) -> Floats32:
        """The mean of each text's word vectors, less what all texts share, at unit length; zero where no word is known.

        Mean word vectors all point the same way, that of the commonest words, which drowns the differences. So the mean
        over the texts is taken off (Mu and Viswanath 2018), counted as if one more text lay at zero, which lets a lone
        text keep its direction. Vectors are comparable within one call, not between calls.
        """
        table = self.for_vocabulary(self.vocabulary)
        means = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(means, texts, strict=True):
            known = [number for number in self.vocabulary.numbers(text) if number != UNKNOWN]
            if known:
                row[:] = table[known].mean(axis=0)
        filled = means.any(axis=1)
        means[filled] -= means.sum(axis=0) / (filled.sum() + 1)
        return unit_rows(means)


def unit_rows(matrix: Floats32) -> Floats32:
    """Each row at unit length; a zero row stays zero."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit: Floats32 = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
    return unit


def words_in(texts: Sequence[str]) -> set[str]:
    """All words that encoding these texts may look up, the parts of hyphenated words included."""
    words = {word for text in texts for word in words_of(text)}
    return words | {part for word in words if "-" in word for part in word.split("-")}


def read_word_vectors(path: Path | str, only: Collection[str] | None = None) -> WordVectors:
    """Read word vectors from a file.

    Args:
        path: A file in one of the formats above.
        only: Keep no other words than these, to save time and memory.

    Raises:
        InputError: The file is missing, damaged, or not in one of the formats; with the line where one is to blame.
    """
    path = Path(path)
    wanted = None if only is None else frozenset(only)
    try:
        if path.suffix == ".npz":
            return _read_npz(path, wanted)
        with _opened(path) as lines:
            return _read_text(path, lines, wanted)
    except FileNotFoundError:
        raise InputError(path, "there is no such file of word vectors") from None
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(path, f"cannot be read as word vectors ({error})") from error


@contextmanager
def _opened(path: Path) -> Iterator[Iterable[bytes]]:
    if path.suffix == ".gz":
        with counted(gzip.open(path), Allowance(path)) as lines:
            yield lines
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith((".txt", ".vec"))]
            if len(members) != 1:
                found = f"has {', '.join(members)}" if members else "has no .txt file"
                raise InputError(path, f"{found}: name the one to read, as in {path.name}/glove.6B.100d.txt")
            with counted(archive.open(members[0]), Allowance(path)) as lines:
                yield lines
    elif path.parent.suffix == ".zip" and path.parent.is_file():
        with zipfile.ZipFile(path.parent) as archive:
            if path.name not in archive.namelist():
                raise InputError(path.parent, f"has no member {path.name}")
            with counted(archive.open(path.name), Allowance(path.parent)) as lines:
                yield lines
    else:
        with path.open("rb") as lines:
            yield lines


def _read_text(path: Path, lines: Iterable[bytes], wanted: frozenset[str] | None) -> WordVectors:
    words: list[str] = []
    rows: list[list[float]] = []
    dimension = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip()
        spaces = line.count(b" ")
        if number == 1 and spaces == 1 and line.replace(b" ", b"").isdigit():
            continue
        dimension = dimension or spaces
        if spaces < dimension or dimension == 0:
            raise InputError(path, f"expected a word and {dimension or 'some'} figures, separated by spaces", number)
        word = line.partition(b" ")[0] if spaces == dimension else line.rsplit(b" ", dimension)[0]
        try:
            text = word.decode("utf-8")
            if wanted is not None and text not in wanted:
                continue
            figures = [float(figure) for figure in line[len(word) :].split()]
        except UnicodeDecodeError:
            raise InputError(path, "the word is not UTF-8", number) from None
        except ValueError as error:
            raise InputError(path, f"not a figure: {str(error).rpartition(': ')[2]}", number) from None
        if len(figures) != dimension or not all(map(math.isfinite, figures)):
            raise InputError(path, f"expected {dimension} finite figures after the word", number)
        words.append(text)
        rows.append(figures)
    if dimension == 0:
        raise InputError(path, "has no word vectors")
    return WordVectors(words, np.array(rows, dtype=np.float32).reshape(len(words), dimension))


def _read_npz(path: Path, wanted: frozenset[str] | None) -> WordVectors:
    try:
        with zipfile.ZipFile(path) as archive:
            Allowance(path).take(sum(member.file_size for member in archive.infolist()))
        with np.load(path, allow_pickle=False) as arrays:
            words = bytes(arrays["words_utf8"]).decode("utf-8").split("\n")
            vectors = arrays["vectors"]
            rows = arrays["rows"] if "rows" in arrays else np.arange(len(vectors))
    except (KeyError, ValueError) as error:
        raise InputError(path, f"is not a file of word vectors ({error})") from error
    if vectors.ndim != 2 or rows.shape != (len(words),) or (len(rows) and rows.max() >= len(vectors)):
        raise InputError(path, f"{len(words)} words do not fit vectors of shape {vectors.shape}")
    kept = [i for i, word in enumerate(words) if wanted is None or word in wanted]
    matrix = vectors[rows[kept]].astype(np.float32)
    if not np.isfinite(matrix).all():
        raise InputError(path, "has vectors that are not finite")
    return WordVectors([words[i] for i in kept], matrix)
