"""Vectors from words alone, for machines without a language model or word vectors.

Each word and each pair of neighbouring words is hashed to a place and a sign (Weinberger et al. 2009), weighted by
(1 + ln tf) · (1 + ln((1 + N) / (1 + df))) over the N given texts, and the sum brought to unit length. The hash is
BLAKE2b, so a word has the same place on every machine and in every run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.text.words import words_of

DIMENSION = 512


def hashed_vectors(texts: Sequence[str], dimension: int = DIMENSION) -> NDArray[np.float32]:
    """A unit vector for each text, zero for a text without words; the weights come from the given texts."""
    bags = [_terms(text) for text in texts]
    spread = Counter(term for bag in bags for term in bag)
    place_and_sign = {term: _place(term, dimension) for term in spread}
    weight = {term: np.log((1 + len(texts)) / (1 + df)) + 1 for term, df in spread.items()}
    matrix = np.zeros((len(texts), dimension), dtype=np.float32)
    for row, bag in zip(matrix, bags, strict=True):
        for term, count in bag.items():
            place, sign = place_and_sign[term]
            row[place] += sign * (1 + np.log(count)) * weight[term]
        norm = np.linalg.norm(row)
        if norm > 0:
            row /= norm
    return matrix


def _terms(text: str) -> Counter[str]:
    words = words_of(text)
    return Counter([*words, *(f"{one} {two}" for one, two in pairwise(words))])


def _place(term: str, dimension: int) -> tuple[int, int]:
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8"), digest_size=8).digest(), "little")
    return (number >> 1) % dimension, 1 if number & 1 else -1
