"""Texts to vectors with the best that this machine has."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, install_command
from discreet.progress import notice_once
from discreet.text.frozen_language_model import LanguageModel, installed_language_model
from discreet.text.hashed import DIMENSION, hashed_vectors
from discreet.text.vector_cache import cached_vectors
from discreet.text.word_vectors import read_word_vectors, words_in

WORD_VECTORS_VARIABLE = "DISCREET_WORD_VECTORS"


@dataclass(frozen=True)
class TextVectors:
    """A unit row for each text (zero for an empty one), and what made them."""

    matrix: NDArray[np.float32]
    source: str


def encode_texts(texts: Sequence[str], source: Path | str = "auto") -> TextVectors:
    """Encode texts, and say in one line with what.

    A language model gives a text the same vector in any company. Word vectors and hashed words are weighted by the
    texts that they are given together with: encode a catalogue as a whole.

    Args:
        texts: Titles, or any short texts.
        source: `auto` for an installed language model, else the word vectors that `$DISCREET_WORD_VECTORS` names, else
            hashed words; `hashed` for hashed words; or the path of a language model's folder or of a file of word
            vectors.

    Raises:
        InputError: The path named does not hold what it should.
    """
    if source == "hashed":
        vectors = _by_hash(texts)
    elif source != "auto":
        path = Path(source)
        vectors = _by_language_model(texts, path) if path.is_dir() else _by_word_vectors(texts, path)
    elif (folder := installed_language_model()) is not None:
        vectors = _by_language_model(texts, folder)
    elif path_given := os.environ.get(WORD_VECTORS_VARIABLE):
        notice_once(f"no language model is installed: {install_command('lm')}")
        vectors = _by_word_vectors(texts, Path(path_given))
    else:
        notice_once(f"{WORD_VECTORS_VARIABLE} is not set, and no language model is installed: {install_command('lm')}")
        vectors = _by_hash(texts)
    notice_once(f"titles as vectors: {vectors.source}")
    return vectors


def identity(source: Path | str = "auto") -> str:
    """What `encode_texts` would use for `source`, with its version: another identity is another set of vectors.

    It includes the word vectors that `$DISCREET_WORD_VECTORS` names, since models of words start from them.
    """
    words = os.environ.get(WORD_VECTORS_VARIABLE)
    if source == "auto":
        source = installed_language_model() or words or "hashed"
    if source == "hashed":
        used = "hashed words"
    elif Path(source).is_dir():
        model = LanguageModel(Path(source))
        used = f"language model {model.name} {model.fingerprint}"
    else:
        used = f"word vectors {_file_identity(Path(source))}"
    return f"{used}; words {_file_identity(Path(words))}" if words else used


def _file_identity(path: Path) -> str:
    whole = path.parent if path.parent.suffix == ".zip" and path.parent.is_file() else path
    try:
        with whole.open("rb") as file:
            return f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()[:32]}"
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})") from error


def _by_language_model(texts: Sequence[str], folder: Path) -> TextVectors:
    model = LanguageModel(folder)
    matrix = np.zeros((len(texts), model.dimension), dtype=np.float32)
    filled = [i for i, text in enumerate(texts) if text.strip()]
    matrix[filled] = cached_vectors([texts[i] for i in filled], model.fingerprint, model.dimension, model.encode)
    return TextVectors(matrix, f"language model {model.name}, {model.dimension} dimensions")


def _by_word_vectors(texts: Sequence[str], path: Path) -> TextVectors:
    vectors = read_word_vectors(path, only=words_in(texts))
    return TextVectors(vectors.encode(texts), f"mean word vectors of {path.name}, {vectors.dimension} dimensions")


def _by_hash(texts: Sequence[str]) -> TextVectors:
    return TextVectors(hashed_vectors(texts), f"hashed words, {DIMENSION} dimensions")
