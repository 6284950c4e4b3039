"""Clicked titles from one client's gradient of the word vectors.

Only words that the client's samples contain have a row that is not zero: those of the candidates, and those of the
history wherever the attention passed a gradient on. The adversary knows the catalogue, and looks for titles whose
words all show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from discreet.audits.leak.update import AuditedFederation
from discreet.methods.method import TrainingTask
from discreet.methods.published.privaterec import PrivateRec
from discreet.training.objective import Parameters
from discreet.training.samples import ANONYMOUS

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class TitleLeak:
    """What an adversary learnt of the readers' histories. Titles of the same words count as one.

    Attributes:
        claimed_epsilon: What the paper says one update costs.
        rounds: How many updates of each reader the adversary saw.
        readers: How many readers there were.
        titles: How many different titles the catalogue has.
        reached: The share of updates whose gradient reached the history at all. ReLU stops it where the noise leaves no
            weight above 0; with one, the gradient is 0 but for rounding, with more it passes.
        unmasked_recall: Of the clicks that were not masked in such an update, the share whose title showed whole.
        recall: Of all titles in the histories, the share that showed whole in at least one update.
        named: Of all titles in the histories, the share that the adversary names.
        precision: Of all titles that the adversary names, the share that was in a history or among the candidates.
    """

    claimed_epsilon: float
    rounds: int
    readers: int
    titles: int
    reached: float
    unmasked_recall: float
    recall: float
    named: float
    precision: float


@dataclass(frozen=True)
class TitleCatalogue:
    """The public titles as sets of words: `words` [titles, words] says which, `title_of` numbers each article's."""

    words: csr_array
    title_of: NDArray[np.int64]

    @classmethod
    def of(cls, titles: Sequence[Sequence[int]], size: int) -> TitleCatalogue:
        """From the articles' word numbers, 0 for none."""
        numbers: dict[frozenset[int], int] = {}
        title_of = [numbers.setdefault(frozenset(title) - {0}, len(numbers)) for title in titles]
        pairs = np.array([(row, word) for words, row in numbers.items() for word in words], np.int64).reshape(-1, 2)
        matrix = csr_array((np.ones(len(pairs), np.int64), (pairs[:, 0], pairs[:, 1])), shape=(len(numbers), size))
        return cls(matrix, np.array(title_of, np.int64))

    def titles(self, articles: NDArray[np.integer]) -> set[int]:
        """The titles of some articles, masked ones left out."""
        return set(self.title_of[articles[articles != ANONYMOUS]].tolist())

    def whole(self, seen: Flags) -> NDArray[np.int64]:
        """The titles of which every word was seen."""
        return np.flatnonzero((self.words @ ~seen == 0) & (self.words @ seen > 0))

    def named(self, seen: Flags) -> set[int]:
        """Few titles that together explain every word seen: one by one the title that explains most of what is left.

        A word counts ln(1/share of titles that have it), so that rare words decide.
        """
        whole = self.whole(seen)
        rows = self.words[whole][:, np.flatnonzero(seen)].toarray().astype(np.float64)
        left = np.log(self.words.shape[0] / np.maximum(1, self.words.sum(axis=0)[seen]))
        found: set[int] = set()
        while len(whole) and (gains := rows @ left).max() > 1e-9:
            best = int(gains.argmax())
            found.add(int(whole[best]))
            left[rows[best] > 0] = 0.0
        return found


def words_seen(gradient: Parameters) -> Flags:
    """Which words have a row in the gradient of the word vectors that is not zero."""
    rows: Flags = (gradient["words.vectors"] != 0).any(dim=1).numpy()
    return rows


def title_leak(task: TrainingTask, epsilon: float, *, readers: int = 40, rounds: int = 1, seed: int = 0) -> TitleLeak:
    """Watch updates of NRMS with learnt word vectors at a claimed ε, and read titles off them.

    Readers without a history, of whom there is nothing to learn, are passed over.
    """
    watched = AuditedFederation.start(PrivateRec(model="nrms", epsilon=epsilon), task, seed)
    titles = watched.table.padded(range(watched.table.anonymous)).titles
    assert titles is not None
    catalogue = TitleCatalogue.of(titles.tolist(), watched.table.sizes.words)
    counts: Counter[str] = Counter()
    for client in watched.clients_with_history()[:readers].tolist():
        counts += _counts(watched, catalogue, client, rounds)
    return TitleLeak(
        claimed_epsilon=epsilon,
        rounds=rounds,
        readers=counts["readers"],
        titles=catalogue.words.shape[0],
        reached=counts["reached"] / max(1, counts["updates"]),
        unmasked_recall=counts["unmasked and whole"] / max(1, counts["unmasked"]),
        recall=counts["whole"] / max(1, counts["clicked"]),
        named=counts["named"] / max(1, counts["clicked"]),
        precision=counts["right guesses"] / max(1, counts["guesses"]),
    )


def _counts(watched: AuditedFederation, catalogue: TitleCatalogue, client: int, rounds: int) -> Counter[str]:
    """What the adversary got of one reader, as counts of titles."""
    counts = Counter(readers=1, updates=rounds)
    clicked = catalogue.titles(watched.history(client))
    whole, guesses, candidates = set[int](), set[int](), set[int]()
    for round_ in range(rounds):
        samples = watched.draw(client, round_)
        gradient = watched.update(samples)
        seen = words_seen(gradient)
        now = set(catalogue.whole(seen).tolist())
        if gradient["click_attention.weight"].any():
            unmasked = catalogue.titles(samples.history)
            counts += Counter({"reached": 1, "unmasked": len(unmasked), "unmasked and whole": len(unmasked & now)})
        whole |= now
        guesses |= catalogue.named(seen)
        candidates |= catalogue.titles(samples.candidates)
    counts += Counter({"clicked": len(clicked), "whole": len(clicked & whole), "named": len(clicked & guesses)})
    counts += Counter({"guesses": len(guesses), "right guesses": len(guesses & (clicked | candidates))})
    return counts
