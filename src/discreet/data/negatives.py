"""Drawing articles that a reader could have been shown, without a look into the future."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
_ROUNDS = 16


class ReadBefore:
    """Answers, for many at once, whether a reader had opened an article by some time."""

    def __init__(self, pairs: Int64s, times: Int64s, articles: int) -> None:
        """`pairs` are `reader * articles + article`, each once, with the time of the reader's first click on it."""
        order = np.argsort(pairs)
        self._pairs = pairs[order]
        self._times = times[order]
        self._articles = articles

    def __call__(self, reader: NDArray[np.int32], article: NDArray[np.int32], time: Int64s) -> NDArray[np.bool_]:
        """Whether `reader` had opened `article` at `time` or before; the arguments are broadcast."""
        wanted = reader.astype(np.int64) * self._articles + article
        at = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
        opened: NDArray[np.bool_] = (self._pairs[at] == wanted) & (self._times[at] <= time)
        return opened


def sample_negatives(
    reader: NDArray[np.int32],
    time: Int64s,
    available: Int64s,
    read_before: ReadBefore,
    *,
    negatives: int,
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """For each click, distinct articles available strictly before `time` that its reader had not opened by then.

    Drawn uniformly without replacement: many at once by rejection, and exactly, one click at a time, where so few
    articles are available that rejection would not end. Rows with fewer than `negatives` such articles end in -1.
    """
    by_age = np.argsort(available, kind="stable").astype(np.int32)
    pool = np.searchsorted(available[by_age], time, side="left")
    drawn = by_age[rng.integers(0, np.maximum(pool, 1)[:, None], size=(len(time), negatives))]
    crowded = pool < 8 * negatives
    pending = np.flatnonzero(~crowded)
    for _ in range(_ROUNDS):
        rows = drawn[pending]
        bad = _repeated(rows) | read_before(reader[pending, None], rows, time[pending, None])
        unfinished = bad.any(axis=1)
        pending, bad = pending[unfinished], bad[unfinished]
        if not len(pending):
            break
        row, column = np.nonzero(bad)
        drawn[pending[row], column] = by_age[rng.integers(0, pool[pending[row]])]
    for i in np.concatenate((np.flatnonzero(crowded), pending)):
        candidates = by_age[: pool[i]]
        allowed = candidates[~read_before(reader[i : i + 1], candidates, time[i : i + 1])]
        chosen = rng.permutation(allowed)[:negatives]
        drawn[i] = -1
        drawn[i, : len(chosen)] = chosen
    return drawn


def _repeated(rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Marks every entry that stands earlier in its row already."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    same = np.zeros(rows.shape, dtype=bool)
    same[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    marks = np.empty_like(same)
    np.put_along_axis(marks, order, same, axis=1)
    return marks
