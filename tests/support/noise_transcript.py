"""What a method releases, with the noise that is truly added: recorded once, then replayed on neighbouring data.

A mechanism that may depend on its earlier outputs is private if, given the same outputs so far, neighbours' next
statistics are near each other in units of the noise. So the first run records every `statistic + scale * draw`. A run
on neighbouring data gets the recorded sums back whatever its own statistics are, and what is left is how far these are
apart. No sensitivity that the code states is believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from discreet.privacy.noise import Noise
from discreet.vendors.methods import hua


@dataclass
class Released:
    """A noised sum: what was noised, by noise of which kind and which scale (of each value), and the sum."""

    statistic: np.ndarray
    kind: str
    scale: np.ndarray
    total: np.ndarray


@dataclass
class Transcript:
    """All noised sums of a run.

    Attributes:
        loudness: A factor of the draws, not of the scale: a promise holds whatever was drawn, so outputs that are
            hardly noised are as good a test, and make later rounds reach their bounds.
    """

    loudness: float = 1.0
    released: list[Released] = field(default_factory=list)
    moved: list[np.ndarray] | None = None

    def draw(self, drawn: Any, kind: str, scale: Any = 1.0) -> Draw:
        noise = (np.asarray(drawn) * self.loudness).astype(np.asarray(drawn).dtype).view(Draw)
        noise.transcript, noise.kind, noise.scale = self, kind, scale
        return noise

    def release(self, statistic: np.ndarray, noise: Draw) -> np.ndarray:
        statistic, scale = np.array(statistic), np.abs(np.broadcast_to(np.asarray(noise.scale, float), noise.shape))
        if self.moved is None:
            self.released.append(Released(statistic, noise.kind, scale, statistic + np.asarray(noise)))
            return self.released[-1].total.copy()
        before = self.released[len(self.moved)]
        assert before.kind == noise.kind
        np.testing.assert_array_equal(before.scale, scale, "the noise itself depends on private data")
        self.moved.append((statistic - before.statistic) / scale)
        return before.total.copy()

    def losses(self) -> tuple[list[float], list[float], float]:
        """What the neighbours are apart: μ of each Gaussian release, ε of each Laplace one, ε of all spherical ones."""
        assert self.moved is not None
        assert len(self.moved) == len(self.released), "the number of releases depends on private data"
        pairs = [(one.kind, moved) for one, moved in zip(self.released, self.moved, strict=True)]
        gaussian = [float(np.linalg.norm(moved)) for kind, moved in pairs if kind == "gaussian"]
        laplace = [float(np.abs(moved).sum()) for kind, moved in pairs if kind == "laplace"]
        spherical = sum(float(np.linalg.norm(moved, axis=1).sum()) for kind, moved in pairs if kind == "spherical")
        return gaussian, laplace, spherical


class Draw(np.ndarray):
    """Noise that knows its scale, until something is added to it; anything else makes plain numbers of it."""

    transcript: Transcript
    kind: str
    scale: Any

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **more: Any) -> Any:
        plain = [np.asarray(each) if isinstance(each, Draw) else each for each in inputs]
        if method != "__call__" or len(inputs) != 2 or all(isinstance(each, Draw) for each in inputs) or more:
            return getattr(ufunc, method)(*plain, **more)
        first = isinstance(inputs[0], Draw)
        noise, other = (inputs[0], plain[1]) if first else (inputs[1], plain[0])
        if ufunc is np.add and np.shape(other) == noise.shape:
            return self.transcript.release(other, noise)
        if ufunc is np.multiply or (ufunc is np.true_divide and first):
            found = ufunc(*plain).view(Draw)
            found.transcript, found.kind, found.scale = noise.transcript, noise.kind, ufunc(noise.scale, other)
            return found
        return ufunc(*plain)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*_plain(args), **_plain(kwargs))

    def astype(self, *args: Any, **more: Any) -> np.ndarray:
        return np.asarray(self).astype(*args, **more)


def _plain(value: Any) -> Any:
    if isinstance(value, Draw):
        return np.asarray(value)
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    return {name: _plain(each) for name, each in value.items()} if isinstance(value, dict) else value


@contextmanager
def recording(transcript: Transcript) -> Iterator[None]:
    """Let every source of noise draw for the transcript; everybody joins a sampled round, and first ratings count."""

    class Generator(np.random.Generator):
        def standard_normal(self, *args: Any, **more: Any) -> Any:
            return transcript.draw(super().standard_normal(*args, **more), "gaussian")

        def permutation(self, size: Any, axis: int = 0) -> Any:
            return np.arange(size)

        def random(self, size: Any = None, *args: Any, **more: Any) -> Any:
            return np.zeros(size)

    usual, laplace, gaussian, spherical = (
        np.random.default_rng,
        Noise.discrete_laplace,
        Noise.discrete_gaussian,
        hua.spherical_laplace,
    )

    def generator(seed: Any = None) -> Generator:
        return Generator(usual(seed).bit_generator)

    def spherical_laplace(rows: int, width: int, scale: float, source: Any) -> Draw:
        return transcript.draw(
            spherical(rows, width, 1.0, np.random.Generator(source.bit_generator)) * scale, "spherical", scale
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", generator)
        patch.setattr(hua, "spherical_laplace", spherical_laplace)
        patch.setattr(
            Noise,
            "discrete_laplace",
            lambda self, scale, size: transcript.draw(laplace(self, scale, size), "laplace", float(scale)),
        )
        patch.setattr(
            Noise,
            "discrete_gaussian",
            lambda self, scale, size: transcript.draw(gaussian(self, scale, size), "gaussian", float(scale)),
        )
        yield
