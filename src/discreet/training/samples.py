"""What the clients of one round train on, after all probability has been drawn: nothing random happens behind it.

Negatives, masked clicks, permuted labels and the noise of a reader's vector are all explicit here, so that whoever
computes gradients from it (one client at a time, all at once, or a real device) gets the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.training.draws import Uniforms, uniforms

Positions = NDArray[np.int64]

ANONYMOUS = -1
"""Stands in a history for the anonymous article (a title of nothing but padding)."""


@dataclass(frozen=True)
class Samples:
    """The samples of a round's clients.

    Attributes:
        seed: of the whole training.
        round: the round's number.
        clients: numbers of the clients, in `Clients`.
        reader: each client's reader number.
        view_client: for each view (a distinct history of a client), the position of its client in `clients`; ascending.
        history: the clicks of all views, one after the other, oldest first; `ANONYMOUS` where masked.
        history_view: for each of these clicks, its view; ascending.
        sample_view: for each sample, its view; ascending.
        candidates: for each sample, the clicked article followed by the negatives [samples, 1 + k].
        target: the candidate that the loss takes for the clicked one; 0 unless labels were permuted.
        slate_size: how many articles the impression of a sample showed.
        randomness: for each view, what the method's interest function is to use [views, …].
    """

    seed: int
    round: int
    clients: Positions
    reader: NDArray[np.int32]
    view_client: Positions
    history: NDArray[np.int32]
    history_view: Positions
    sample_view: Positions
    candidates: NDArray[np.int32]
    target: Positions
    slate_size: NDArray[np.int32]
    randomness: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return len(self.sample_view)

    @property
    def sample_client(self) -> Positions:
        """For each sample, the position of its client."""
        return self.view_client[self.sample_view]

    @property
    def counts(self) -> Positions:
        """|B_u|: how many samples each client has."""
        return np.bincount(self.sample_client, minlength=len(self.clients))

    @property
    def history_sizes(self) -> Positions:
        """How many clicks each view has."""
        return np.bincount(self.history_view, minlength=len(self.view_client))

    def sample_uniforms(self, purpose: str, width: int) -> Uniforms:
        """Uniform numbers [samples, width] that belong to the sample, and do not depend on the others in the round."""
        return self._uniforms(purpose, self.sample_client, width)

    def view_uniforms(self, purpose: str, width: int) -> Uniforms:
        """Uniform numbers [views, width] that belong to the view, and do not depend on the others in the round."""
        return self._uniforms(purpose, self.view_client, width)

    def _uniforms(self, purpose: str, client: Positions, width: int) -> Uniforms:
        counters = (self.reader[client][:, None], position_in_group(client)[:, None], np.arange(width))
        return uniforms(self.seed, self.round, purpose, *counters).reshape(len(client), width)

    def with_candidates(self, candidates: NDArray[np.int32]) -> Samples:
        """The same with other candidates."""
        return replace(self, candidates=candidates)

    def with_masked_clicks(self, probability: float, spared: NDArray[np.bool_] | None = None) -> Samples:
        """Replace each click of a history by the anonymous article with this probability (PrivateRec, Alg. 2, line 4).

        A view is masked once, for all samples that share it: Alg. 3 calls Alg. 2 once in a client's update. Clicks on
        `spared` articles are never masked.
        """
        draw = uniforms(
            self.seed,
            self.round,
            "mask",
            self.reader[self.view_client[self.history_view]],
            position_in_group(self.view_client)[self.history_view],
            position_in_group(self.history_view),
        )
        masked = draw < probability
        if spared is not None:
            masked &= ~spared[self.history]
        return replace(self, history=np.where(masked, np.int32(ANONYMOUS), self.history))

    def with_permuted_labels(self, keep: NDArray[np.floating] | float) -> Samples:
        """Take for the clicked article the true one with probability `keep`, else one of the negatives at random."""
        negatives = self.candidates.shape[1] - 1
        probability = np.broadcast_to(np.asarray(keep, dtype=np.float64), len(self))
        draw = self.sample_uniforms("label", 2)
        other = 1 + np.minimum((draw[:, 1] * negatives).astype(np.int64), negatives - 1)
        return replace(self, target=np.where(draw[:, 0] < probability, 0, other))

    def with_randomness(self, randomness: NDArray[np.floating]) -> Samples:
        """Give the method's interest function its probability, one row for each view."""
        if len(randomness) != len(self.view_client):
            raise ValueError(f"{len(randomness)} rows of randomness for {len(self.view_client)} views")
        return replace(self, randomness=randomness)

    def select(self, positions: NDArray[np.integer]) -> Samples:
        """The samples of some of the clients, by ascending position, with all that was drawn for them."""
        positions = np.asarray(positions, dtype=np.int64)
        bounds = np.searchsorted(self.view_client, np.stack((positions, positions + 1)))
        views, view_client = spans(bounds[0], bounds[1])
        clicks, history_view = spans(*np.searchsorted(self.history_view, np.stack((views, views + 1))))
        picked, sample_view = spans(*np.searchsorted(self.sample_view, np.stack((views, views + 1))))
        return replace(
            self,
            clients=self.clients[positions],
            reader=self.reader[positions],
            view_client=view_client,
            history=self.history[clicks],
            history_view=history_view,
            sample_view=sample_view,
            candidates=self.candidates[picked],
            target=self.target[picked],
            slate_size=self.slate_size[picked],
            randomness=None if self.randomness is None else self.randomness[views],
        )


def spans(start: Positions, stop: Positions) -> tuple[Positions, Positions]:
    """All numbers of the ranges `start[i]:stop[i]`, one range after the other, and for each number its `i`."""
    sizes = stop - start
    which = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return np.arange(len(which)) + (start - before)[which], which


def position_in_group(group: Positions) -> Positions:
    """For ascending group numbers, each entry's position within its group."""
    return np.arange(len(group)) - np.searchsorted(group, group)
