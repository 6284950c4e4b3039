"""What every reader holds for training, in a few flat arrays for all readers at once.

Each click of a reader is one sample: the clicked article, the unclicked articles of the same slate to draw negatives
from, and the history at that moment. Samples of one client that share a history stand together, because a reader's
vector is computed once for all of them; such a history is called a *view*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions
from discreet.training.draws import Uniforms, round_generator
from discreet.training.samples import Samples, spans

Positions = NDArray[np.int64]
Columns = dict[str, NDArray[np.integer]]


@dataclass(frozen=True)
class Clients:
    """Readers who can train, numbered from 0 in the order of their reader numbers.

    Client `c` is `reader[c]`; its views are `first_view[c]:first_view[c + 1]`. View `v` is the history
    `timeline[history_start[v]:history_stop[v]]`; its samples are `first_sample[v]:first_sample[v + 1]`. Sample `i` is a
    click on `clicked[i]`, its negatives come from `pool[pool_start[i]:pool_stop[i]]`, and its slate had `slate_size[i]`
    articles.
    """

    reader: NDArray[np.int32]
    first_view: Positions
    first_sample: Positions
    timeline: NDArray[np.int32]
    history_start: Positions
    history_stop: Positions
    clicked: NDArray[np.int32]
    pool: NDArray[np.int32]
    pool_start: Positions
    pool_stop: Positions
    slate_size: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.reader)

    @property
    def sample_counts(self) -> Positions:
        """|B_u|: how many samples each client has."""
        return np.diff(self.first_sample[self.first_view])

    @classmethod
    def from_impressions(cls, impressions: Impressions, history_length: int = 50, history_clicks: int = 0) -> Clients:
        """Collect the samples of all readers.

        A slate without an unclicked article teaches nothing and is left out. `history_clicks` adds that many of the
        latest clicks of each reader's first known history, each as the click that follows the history before it,
        against clicks of all readers' histories, drawn as often as they occur: a training signal where impressions are
        few. (Against articles of impressions, which are newer, it would learn to tell old news from new.)

        Args:
            impressions: what readers were shown and clicked.
            history_length: only so many of the latest clicks make a history.
            history_clicks: how many clicks of each reader's first history become samples too.
        """
        if not impressions.labelled:
            raise ValueError("impressions without published clicks cannot train")
        shown, clicked = impressions.shown, impressions.clicked
        unclicked = np.concatenate(([0], np.cumsum(~clicked)))[impressions.slate]
        at = np.flatnonzero(clicked)
        impression = np.searchsorted(impressions.slate, at, side="right") - 1
        usable = np.diff(unclicked)[impression] > 0
        at, impression = at[usable], impression[usable]
        columns: Columns = {
            "reader": impressions.reader[impression],
            "start": impressions.history_start[impression],
            "stop": impressions.history_stop[impression],
            "clicked": shown[at],
            "pool_start": unclicked[:-1][impression],
            "pool_stop": unclicked[1:][impression],
            "slate_size": impressions.slate_sizes[impression],
        }
        pool = shown[~clicked]
        if history_clicks > 0 and len(shown) > 0:
            extra = _history_samples(impressions, history_clicks, timeline_from=len(pool))
            columns = {name: np.concatenate((column, extra[name])) for name, column in columns.items()}
            pool = np.concatenate((pool, impressions.timeline))
        columns["start"] = np.maximum(columns["start"], columns["stop"] - history_length)
        return cls._grouped(columns, impressions.timeline, pool)

    @classmethod
    def _grouped(cls, columns: Columns, timeline: NDArray[np.int32], pool: NDArray[np.int32]) -> Clients:
        order = np.lexsort((columns["start"], columns["stop"], columns["reader"]))
        sample = {name: column[order] for name, column in columns.items()}
        new_view = _changes(sample["reader"], sample["start"], sample["stop"])
        view_reader = sample["reader"][new_view]
        new_client = _changes(view_reader)
        return cls(
            reader=view_reader[new_client].astype(np.int32),
            first_view=np.append(new_client, len(new_view)).astype(np.int64),
            first_sample=np.append(new_view, len(order)).astype(np.int64),
            timeline=timeline,
            history_start=sample["start"][new_view].astype(np.int64),
            history_stop=sample["stop"][new_view].astype(np.int64),
            clicked=sample["clicked"].astype(np.int32),
            pool=pool,
            pool_start=sample["pool_start"].astype(np.int64),
            pool_stop=sample["pool_stop"].astype(np.int64),
            slate_size=sample["slate_size"].astype(np.int32),
        )

    def choose(self, fraction: float, seed: int, round_: int, node: int = 0) -> Positions:
        """A share of the clients, as many as `round_size` says."""
        return choose_clients(len(self), round_size(len(self), fraction), seed, round_, node)

    def draw(self, chosen: NDArray[np.integer], seed: int, round_: int, negatives: int = 4) -> Samples:
        """The samples of the chosen clients (each at most once), with freshly drawn negatives.

        Negatives are drawn without replacement, or with it where the slate has too few. The work is in proportion to
        the chosen clients, not to all.
        """
        positions = np.asarray(chosen, dtype=np.int64)
        if len(np.unique(positions)) != len(positions):
            raise ValueError("a client takes part at most once in a round")
        views, client = spans(self.first_view[positions], self.first_view[positions + 1])
        picked, view = spans(self.first_sample[views], self.first_sample[views + 1])
        clicks, clicks_view = spans(self.history_start[views], self.history_stop[views])
        samples = Samples(
            seed=seed,
            round=round_,
            clients=positions,
            reader=self.reader[positions],
            view_client=client,
            history=self.timeline[clicks],
            history_view=clicks_view,
            sample_view=view,
            candidates=np.empty((len(picked), 0), dtype=np.int32),
            target=np.zeros(len(picked), dtype=np.int64),
            slate_size=self.slate_size[picked],
        )
        drawn = self._draw_negatives(picked, samples.sample_uniforms("negatives", negatives))
        return samples.with_candidates(np.column_stack((self.clicked[picked], drawn)))

    def _draw_negatives(self, picked: Positions, uniform: Uniforms) -> NDArray[np.int32]:
        """Floyd's subset sampling, one column for all samples at a time; a plain draw where the pool is too small."""
        size = self.pool_stop[picked] - self.pool_start[picked]
        count = uniform.shape[1]
        drawn = np.empty((len(picked), count), dtype=np.int64)
        enough = size >= count
        for column in range(count):
            last = np.where(enough, size - count + column, size - 1)
            pick = np.minimum((uniform[:, column] * (last + 1)).astype(np.int64), last)
            taken = (drawn[:, :column] == pick[:, None]).any(axis=1)
            drawn[:, column] = np.where(enough & taken, last, pick)
        clicked = self.clicked[picked][:, None]
        start = self.pool_start[picked][:, None]
        for _ in range(8):  # a pool of all that was shown has the clicked article too: step to its neighbour
            same = self.pool[start + drawn] == clicked
            if not same.any():
                break
            drawn = np.where(same, (drawn + 1) % size[:, None], drawn)
        negatives: NDArray[np.int32] = self.pool[start + drawn]
        return negatives


def round_size(clients: int, fraction: float) -> int:
    """How many clients a round has: ⌊r·|U|⌋ (PrivateRec, Alg. 3, line 4), but at least one."""
    if not 0 < fraction <= 1:
        raise ValueError(f"the fraction of clients in a round must be in (0, 1], not {fraction}")
    return max(1, math.floor(fraction * clients))


def choose_clients(clients: int, count: int, seed: int, round_: int, node: int = 0) -> Positions:
    """`count` different clients out of a node's `clients`, each set of them equally likely, ascending."""
    generator = round_generator(seed, round_, "clients", node)
    return np.sort(generator.choice(clients, min(count, clients), replace=False, shuffle=False)).astype(np.int64)


def _history_samples(impressions: Impressions, count: int, timeline_from: int) -> Columns:
    """The latest `count` clicks of each reader's first history, as clicks that follow the history before them."""
    readers, first = np.unique(impressions.reader, return_index=True)
    start, stop = impressions.history_start[first], impressions.history_stop[first]
    at, which = spans(np.minimum(np.maximum(start + 1, stop - count), stop), stop)
    clicks = len(impressions.timeline)
    return {
        "reader": readers[which],
        "start": start[which],
        "stop": at,
        "clicked": impressions.timeline[at],
        "pool_start": np.full(len(at), timeline_from, dtype=np.int64),
        "pool_stop": np.full(len(at), timeline_from + clicks, dtype=np.int64),
        "slate_size": np.full(len(at), clicks, dtype=np.int64),
    }


def _changes(*columns: NDArray[np.integer]) -> Positions:
    """Where a row differs from the one before it; the first row always does."""
    different = np.zeros(len(columns[0]), dtype=np.bool_)
    different[:1] = True
    for column in columns:
        different[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(different)
