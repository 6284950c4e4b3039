"""Title vectors as a trained model saw them: from the same source, centred as in its training."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.serving.model import Floats
from discreet.text.encode import encode_texts
from discreet.text.word_vectors import unit_rows


def trained_title_vectors(titles: Sequence[str], source: str, centre: Floats) -> Floats:
    """Unit vectors of titles; zero for a title without words that are known.

    Raises:
        DiscreetError: The source has other dimensions here than in training.
    """
    encoded = encode_texts(list(titles), source).matrix
    if encoded.shape[1] != len(centre):
        raise DiscreetError(
            f"title vectors from '{source}' have {encoded.shape[1]} dimensions here and had {len(centre)} in training;"
            " install what the run was trained with"
        )
    vectors, titled = np.zeros_like(encoded), encoded.any(axis=1)
    vectors[titled] = unit_rows(encoded[titled] - centre)
    return vectors


def digest_of(parts: Sequence[NDArray[np.generic]]) -> str:
    """Names a model or a space by its numbers."""
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return hashlib.blake2b(content, digest_size=8).hexdigest()
