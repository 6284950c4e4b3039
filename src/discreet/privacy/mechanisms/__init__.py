"""Mechanisms, each with its theorem: what it adds, to what, and why that is private."""

from discreet.privacy.mechanisms.attention import ClippedAttention, positive_weights, private_attention
from discreet.privacy.mechanisms.averages import DPAverage, DPItemAverages
from discreet.privacy.mechanisms.clipped_mean import ClippedMean
from discreet.privacy.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.mechanisms.exponential import Exponential
from discreet.privacy.mechanisms.float_noise import FloatNoise
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.label_permutation import LabelPermutation
from discreet.privacy.mechanisms.laplace import Laplace
from discreet.privacy.mechanisms.level_bits import LevelBits
from discreet.privacy.mechanisms.mechanism import Calibration, Mechanism, Sensitivity, Theorem
from discreet.privacy.mechanisms.mechanism_registry import MECHANISMS
from discreet.privacy.mechanisms.padding import RandomPadding, padded_epsilon, unpadded_epsilon
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection
from discreet.privacy.mechanisms.topic_counts import TopicCounts

__all__ = [
    "MECHANISMS",
    "AnalyticGaussian",
    "Calibration",
    "ClippedAttention",
    "ClippedMean",
    "DPAverage",
    "DPItemAverages",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "FloatNoise",
    "LabelPermutation",
    "Laplace",
    "LevelBits",
    "Mechanism",
    "RandomPadding",
    "RandomizedResponse",
    "Sensitivity",
    "SubsetSelection",
    "Theorem",
    "TopicCounts",
    "padded_epsilon",
    "positive_weights",
    "private_attention",
    "unpadded_epsilon",
]
