"""Which releases the server takes: those whose guarantee is exactly what /v1/model asks for, and no others."""

from __future__ import annotations

import binascii
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.edge.reader.reports import label_mechanism, sketch_mechanism
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.release import Release
from discreet.privacy.release_format import encode
from discreet.protocol.check import limits
from discreet.serving.refusal import RequestRefusal

_CHECKSUM = 4
_SHAPE = 5  # bytes per integer, number of integers
_SURE = 64.0
"""Noise beyond this many scales has a probability below e^-64: whoever sends it made it up."""


@dataclass(frozen=True, eq=False)
class SketchTerms:
    """What a sketch must be.

    Attributes:
        guarantee: Of each release.
        size: How many integers it has.
        step: What they count in.
        bound: The largest integer that can honestly occur with `clicks`.
        counts_clicks: Whether the number of clicks is sent.
        max_releases: How many releases a request may have.
    """

    guarantee: Guarantee
    size: int
    step: float
    bound: int
    counts_clicks: bool
    max_releases: int

    @classmethod
    def of_topics(cls, topics: int, epsilon: float, hide_length: bool, max_releases: int) -> SketchTerms:
        """Topic counts with discrete Laplace noise."""
        guarantee = sketch_mechanism(topics, epsilon, hide_length=hide_length).guarantee()
        bound = math.ceil(_SURE * 2 / epsilon) + limits.max_clicks
        return cls(guarantee, topics, 1.0, bound, not hide_length, max_releases)

    @cached_property
    def _heads(self) -> dict[bytes, tuple[np.dtype[np.signedinteger], int]]:
        """What a right release begins with (see `release_format`), for each width of integers; its type and size."""
        empty = encode(np.zeros(0, np.int64), self.step, self.guarantee)[: -_CHECKSUM - _SHAPE]
        shape = self.size.to_bytes(4, "little")
        heads = {width: empty + bytes([width]) + shape for width in (1, 2, 4, 8)}
        return {
            head: (np.dtype(f"<i{width}"), len(head) + width * self.size + _CHECKSUM) for width, head in heads.items()
        }

    @cached_property
    def _start(self) -> int:
        """Where the integers begin."""
        return len(next(iter(self._heads)))

    def total(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The sum of base64 releases, or a refusal that says what is wrong with one of them."""
        if not texts:
            return np.zeros(self.size, np.int64)
        integers = np.array([self._integers(text) for text in texts], np.int64)
        if max(int(integers.max()), -int(integers.min())) > self.bound:
            raise RequestRefusal(422, "the release has counts that its noise and clicks cannot have made")
        return np.asarray(integers.sum(axis=0))

    def _integers(self, text: str) -> NDArray[np.signedinteger]:
        data = _bytes(text)
        found = self._heads.get(data[: self._start])
        if (
            found is None
            or len(data) != found[1]
            or int.from_bytes(data[-_CHECKSUM:], "little") != zlib.crc32(data[:-_CHECKSUM])
        ):
            release = _release(data)
            _require(release, self.guarantee, self.step)
            raise RequestRefusal(
                422, f"the release has {len(release.payload.integers)} integers; this space has {self.size}"
            )
        return np.frombuffer(data, found[0], self.size, self._start)

    def require_clicks(self, clicks: int | None) -> None:
        """Refuse a number of clicks where lengths are hidden, and its absence where they are not."""
        if self.counts_clicks and clicks is None:
            raise RequestRefusal(422, "clicks: here the number of clicks is public under the guarantee; send it")
        if not self.counts_clicks and clicks is not None:
            raise RequestRefusal(422, "clicks: here the number of clicks is hidden under the guarantee; send null")


def label_positions(text: str, choices: int, epsilon: float) -> NDArray[np.int64]:
    """The positions in a slate of `choices` articles that a label release names."""
    mechanism = label_mechanism(choices, epsilon)
    release = _release(_bytes(text))
    _require(release, mechanism.guarantee(), 1.0)
    positions = release.payload.integers
    if len(positions) != mechanism.subset_size:
        raise RequestRefusal(
            422, f"the label has {len(positions)} positions; a slate of {choices} asks for {mechanism.subset_size}"
        )
    if positions.min() < 0 or positions.max() >= choices:
        raise RequestRefusal(422, f"the label has positions outside the slate of {choices} articles")
    if (np.diff(positions) <= 0).any():
        raise RequestRefusal(422, "the label's positions are not in ascending order, each once")
    return positions


def _bytes(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (ValueError, binascii.Error):
        raise RequestRefusal(422, "the release is not base64") from None


def _release(data: bytes) -> Release:
    try:
        return Release.from_bytes(data)
    except DiscreetError as error:
        raise RequestRefusal(422, f"the release cannot be read: {error}") from None


def _require(release: Release, guarantee: Guarantee, step: float) -> None:
    """Refuse another guarantee than the one asked for, naming the first term that differs."""
    given = release.guarantee.to_json()
    for term, wanted in guarantee.to_json().items():
        if given[term] != wanted:
            found, asked = (f"{value:.6g}" if isinstance(value, float) else value for value in (given[term], wanted))
            raise RequestRefusal(422, f"the release's guarantee has {term} {found}; /v1/model asks for {asked}")
    if release.payload.step != step:
        raise RequestRefusal(422, f"the release has step {release.payload.step:g}; /v1/model asks for {step:g}")
