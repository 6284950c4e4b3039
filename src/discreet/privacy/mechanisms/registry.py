"""All mechanisms by name, in one place."""

from __future__ import annotations

from discreet.privacy.mechanisms.attention import ClippedAttention
from discreet.privacy.mechanisms.averages import DPAverage, DPItemAverages
from discreet.privacy.mechanisms.base import Mechanism
from discreet.privacy.mechanisms.clipped_mean import ClippedMean
from discreet.privacy.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.mechanisms.exponential import Exponential
from discreet.privacy.mechanisms.float_noise import FloatNoise
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.label_permutation import LabelPermutation
from discreet.privacy.mechanisms.laplace import Laplace
from discreet.privacy.mechanisms.padding import RandomPadding
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.mechanisms.topic_counts import TopicCounts

MECHANISMS: dict[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (
        TopicCounts,
        ClippedMean,
        ClippedAttention,
        RandomPadding,
        RandomizedResponse,
        SubsetSelection,
        Exponential,
        DiscreteLaplace,
        DiscreteGaussian,
        Laplace,
        AnalyticGaussian,
        DPAverage,
        DPItemAverages,
        LabelPermutation,
        FloatNoise,
    )
}
"""Each has a `name` and a one-line `summary`."""
