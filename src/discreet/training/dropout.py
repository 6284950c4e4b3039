"""Dropout whose masks are a function of seed, round, article and reader: the loop and the simulator drop the same.

An article has one mask in a round, and so has a reader's history; entries that are left are scaled up, so that the mean
stays. Masks belong to vectors, not to words: a position that stands for many equal ones has nothing to drop apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.models.news_model import NewsModel
from discreet.training.draws import uniforms
from discreet.training.samples import Samples


@dataclass(frozen=True)
class Dropout:
    """What of articles' and readers' vectors is set to 0 in training: a share `rate` of their entries."""

    rate: float = 0.0
    size: int = 0
    reader_size: int = 0

    @classmethod
    def of(cls, model: NewsModel) -> Dropout:
        """That of a model."""
        return cls(model.settings.dropout, model.size, model.reader_size)

    def articles(self, samples: Samples, rows: NDArray[np.integer]) -> Tensor | None:
        """What the vectors [rows, size] of a table's articles are multiplied by; None for no dropout."""
        if not self.rate:
            return None
        draw = uniforms(samples.seed, samples.round, "drop article", rows[..., None], np.arange(self.size))
        return self._masks(draw)

    def readers(self, samples: Samples) -> Tensor | None:
        """What readers' vectors [views, reader size] are multiplied by; None for no dropout."""
        return self._masks(samples.view_uniforms("drop reader", self.reader_size)) if self.rate else None

    def _masks(self, uniform: NDArray[np.float64]) -> Tensor:
        return torch.from_numpy(((uniform >= self.rate) / (1 - self.rate)).astype(np.float32))


NONE = Dropout()
