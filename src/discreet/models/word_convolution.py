"""A convolution over the words of texts, of vectors as they are or of a table's words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own name for it)
from torch import Tensor, nn

from discreet.models.layers import WordEmbedding

REPEATED = 0.5
"""Up to this share of different words among all words, each different word is computed once."""


class WordConvolution(nn.Module):
    """A window of three words slid over the text, ReLU(W · [x₋₁, x, x₊₁] + b), with zeros beyond both ends.

    Written as three matrix products, which `vmap` over parameters turns into batched products (a convolution would
    become a grouped one, several times slower on a CPU).
    """

    def __init__(self, size: int, filters: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(3, size, filters))
        self.bias = nn.Parameter(torch.zeros(filters))
        bound = math.sqrt(6 / (3 * size + 3 * filters))
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, words: Tensor) -> Tensor:
        """Word vectors [n, words, size] in context, [n, words, filters]."""
        return F.relu(_windows(words) @ self.weight.flatten(0, 1) + self.bias)

    def of_words(self, table: WordEmbedding, words: Tensor) -> Tensor:
        """The same for words [n, words] of a table.

        Where only the table's padding e₀ is learnt, the fixed vectors go through W alone, and e₀·W is added wherever
        the window touches padding: no gradient of the size of the text is made for the sake of one vector.
        """
        return F.relu(self._sums(table, words))

    def _sums(self, table: WordEmbedding, words: Tensor) -> Tensor:
        if table.trained:
            return _windows(table(words)) @ self.weight.flatten(0, 1) + self.bias
        padding = (words == 0).unsqueeze(-1)
        fixed = F.embedding(words, table.vectors).masked_fill(padding, 0.0)
        touched = _windows(padding.to(fixed.dtype)) @ (table.padding @ self.weight)
        return _windows(fixed) @ self.weight.flatten(0, 1) + touched + self.bias

    def of_texts(self, table: WordEmbedding, texts: Sequence[Tensor]) -> list[Tensor]:
        """The same for several matrices of words, each different word of all of them multiplied with W once."""
        sums = F.relu(self.sums(table, texts, [slice(None)] * len(texts)), inplace=True)
        parts = torch.split(sums, [text.numel() for text in texts])
        return [part.view(*text.shape, -1) for part, text in zip(parts, texts, strict=True)]

    def sums(self, table: WordEmbedding, texts: Sequence[Tensor], chosen: Sequence[slice]) -> Tensor:
        """What is before the ReLU, one text after the other [positions, filters], at the chosen positions of each.

        A word x gives W₋₁x to the window after it, W₀x + b to its own and W₊₁x to the one before, so that each window
        is a sum of three vectors that are known. Texts that hardly repeat a word gain nothing from that.
        """
        every = torch.cat([texts[0].new_zeros(1), *(text.flatten() for text in texts)])
        words, place = different_words(every)
        filters = len(self.bias)
        if len(words) > REPEATED * len(every):
            wholes = [self._sums(table, text) for text in texts]
            return torch.cat([each[:, some].reshape(-1, filters) for each, some in zip(wholes, chosen, strict=True)])
        listed = F.pad(words, (1, 0))  # the first stands for what is beyond both ends, the second for padding
        vectors = F.embedding(listed, table.vectors).masked_fill((listed == 0).unsqueeze(-1), 0.0)
        weight = self.weight.transpose(0, 1).flatten(1)
        given = torch.addmm(F.pad(self.bias, (filters, filters)), vectors, weight)
        given.index_add_(0, listed.new_ones(1), (table.padding @ weight).unsqueeze(0))
        parts = torch.split(place[1:] + 1, [text.numel() for text in texts])
        triples = [_triples(part.view_as(text))[:, some] for part, text, some in zip(parts, texts, chosen, strict=True)]
        return F.embedding_bag(torch.cat([each.flatten(0, 1) for each in triples]), given.view(-1, filters), mode="sum")


def different_words(words: Tensor) -> tuple[Tensor, Tensor]:
    """The different ones in ascending order, and the place of each word among them."""
    found: tuple[Tensor, Tensor] = torch.unique(words, return_inverse=True)
    return found


def _windows(words: Tensor) -> Tensor:
    """Each position of [n, words, size] with those before and after it, [n, words, 3·size]."""
    return torch.cat((F.pad(words[..., :-1, :], (0, 0, 1, 0)), words, F.pad(words[..., 1:, :], (0, 0, 0, 1))), dim=-1)


def _triples(places: Tensor) -> Tensor:
    """Where the three vectors of each window stand, [n, words, 3]; a word has three rows."""
    before, after = F.pad(places[:, :-1], (1, 0)), F.pad(places[:, 1:], (0, 1))
    return torch.stack((3 * before, 3 * places + 1, 3 * after + 2), dim=-1)
