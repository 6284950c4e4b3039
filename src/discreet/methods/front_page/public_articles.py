"""What everybody may know: title vectors, categories, and what the server showed. No click has a part in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.methods.method import TrainingTask
from discreet.text.encode import encode_texts

Floats = NDArray[np.float64]

_TEXT_SIZE = 50
_CATEGORY = 0.7
_SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class PublicArticles:
    """The public side of a data set, as server and devices have it.

    Attributes:
        vectors: A unit vector for each title, centred on the mean title that was shown in the train split.
        unit: How much the similarity of two titles that were shown varies: similarities are measured in this unit.
        category: The number of each article's category.
        share: Of each category the share in all that was shown.
        text: What the popularity of an article is predicted from: main directions of the title vectors, and categories.
        centre: What title vectors are centred on.
    """

    vectors: NDArray[np.float32]
    unit: float
    category: NDArray[np.int64]
    share: Floats
    text: Floats
    centre: NDArray[np.float32]

    @classmethod
    def of(cls, task: TrainingTask) -> PublicArticles:
        """The public side of a task, made once."""
        return task.once(cls, lambda: cls._make(task))

    @classmethod
    def _make(cls, task: TrainingTask) -> PublicArticles:
        shows = task.data.splits["train"].public_shown
        shown = np.unique(shows)
        vectors, centre = _public_vectors(task, shown)
        category = np.unique(np.array(task.data.articles.categories, dtype=np.str_), return_inverse=True)[1]
        counts = np.bincount(category[shows], minlength=int(category.max(initial=0)) + 1)
        share = (counts + 1.0) / (counts.sum() + len(counts))
        some = vectors[shown[:: max(1, len(shown) // _SAMPLE)][:_SAMPLE]]
        alike = (some @ some.T)[~np.eye(len(some), dtype=np.bool_)]
        unit = float(alike.std()) if len(alike) else 0.0
        return cls(vectors, unit or 1.0, category, share, _text(vectors, shown, category, len(share)), centre)


def _public_vectors(task: TrainingTask, shown: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`TrainingTask.public_vectors`, which take the whole catalogue, and what they are centred on.

    A language model gives a title the same vector in any company, so there the titles that occur are enough.
    """
    if not task.text_identity.startswith("language model"):
        return task.public_vectors.matrix, task.public_centre
    if task.centre is not None:
        return task.text_vectors.matrix, task.centre
    encoded = encode_texts([task.data.articles.titles[i] for i in shown.tolist()], task.text).matrix
    titled = encoded.any(axis=1)
    centre = encoded[titled].mean(axis=0) if titled.any() else np.zeros(encoded.shape[1], np.float32)
    return TrainingTask(task.data, task.text, centre=centre).text_vectors.matrix, centre


def _text(
    vectors: NDArray[np.float32], shown: NDArray[np.int32], category: NDArray[np.int64], categories: int
) -> Floats:
    """The first principal components, of mean square length 1, and categories of length 0.7."""
    some = vectors[shown].astype(np.float64)
    some = some[some.any(axis=1)]
    spread = some.T @ some
    directions = np.linalg.eigh(spread)[1][:, ::-1][:, :_TEXT_SIZE]
    directions *= np.where(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])] < 0, -1, 1)
    length = np.sqrt((some @ directions).var(axis=0).sum()) if len(some) else 1.0
    one_hot = np.zeros((len(category), categories))
    one_hot[np.arange(len(category)), category] = _CATEGORY
    return np.concatenate([vectors @ directions / (length or 1.0), one_hot], axis=1)
