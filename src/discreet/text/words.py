"""Titles as words, and words as numbers.

Words are cut as in the corpora that GloVe was trained on: lower case, `don't` as `do n't`, `Trump's` as `trump 's`,
`o'brien`, `u.s.` and `well-known` whole, numbers whole (`1,000`, `3.5`, `10:30`), punctuation dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

PADDING, UNKNOWN = 0, 1
_FIRST_WORD = 2

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "‐": "-", "‑": "-"})
_WORD = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # u.s.
    r"|\d+(?:[.,:]\d+)+"  # 1,000 and 10:30
    r"|[^\W_]+(?:['\-][^\W_]+)*"  # words and numbers, joined by apostrophes and hyphens
)
_CLITIC = re.compile(r"(?<=.)(n't|'(?:s|ll|re|ve|d|m))$")


def words_of(text: str) -> list[str]:
    """The words of a title, in order.

    >>> words_of("Trump’s well-known rival doesn't agree: U.S. to pay $1,000")
    ['trump', "'s", 'well-known', 'rival', 'does', "n't", 'agree', 'u.s.', 'to', 'pay', '1,000']
    """
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).lower()
    words: list[str] = []
    for word in _WORD.findall(plain):
        clitic = _CLITIC.search(word) if "'" in word else None
        words += [word] if clitic is None else [word[: clitic.start()], clitic.group()]
    return words


@dataclass(frozen=True)
class Vocabulary:
    """Words and their numbers: 0 is padding, 1 any unknown word, 2 the first word."""

    words: Sequence[str]

    @classmethod
    def of(cls, texts: Iterable[str], *, min_count: int = 1) -> Vocabulary:
        """All words that occur at least so often, the most frequent first, then by the alphabet."""
        counts = Counter(word for text in texts for word in words_of(text))
        kept = [word for word, count in counts.items() if count >= min_count]
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        """How many numbers there are, padding and unknown included."""
        return len(self.words) + _FIRST_WORD

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words, start=_FIRST_WORD)}

    def numbers(self, text: str) -> list[int]:
        """A text as numbers. An unknown word with hyphens is tried part by part."""
        numbers = []
        for word in words_of(text):
            number = self.number_of.get(word)
            if number is None and "-" in word:
                numbers += [self.number_of.get(part, UNKNOWN) for part in word.split("-")]
            else:
                numbers.append(UNKNOWN if number is None else number)
        return numbers


def tokenise(titles: Sequence[str], vocabulary: Vocabulary, max_words: int) -> NDArray[np.int32]:
    """Titles as rows of word numbers, cut after `max_words` and padded with 0 to that length."""
    matrix = np.full((len(titles), max_words), PADDING, dtype=np.int32)
    for row, title in zip(matrix, titles, strict=True):
        numbers = vocabulary.numbers(title)[:max_words]
        row[: len(numbers)] = numbers
    return matrix
