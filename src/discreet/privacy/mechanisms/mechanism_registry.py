"""All mechanisms by name, in one place."""

from __future__ import annotations

from discreet.plugins import Registry, check_frozen
from discreet.privacy.mechanisms.mechanism import Mechanism

MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanism",
    {
        "topic counts": "discreet.privacy.mechanisms.topic_counts:TopicCounts",
        "clipped mean": "discreet.privacy.mechanisms.clipped_mean:ClippedMean",
        "clipped attention": "discreet.privacy.mechanisms.attention:ClippedAttention",
        "random padding": "discreet.privacy.mechanisms.padding:RandomPadding",
        "randomized response": "discreet.privacy.mechanisms.randomized_response:RandomizedResponse",
        "subset selection": "discreet.privacy.mechanisms.subset_selection:SubsetSelection",
        "level bits": "discreet.privacy.mechanisms.level_bits:LevelBits",
        "exponential": "discreet.privacy.mechanisms.exponential:Exponential",
        "discrete laplace": "discreet.privacy.mechanisms.discrete:DiscreteLaplace",
        "discrete gaussian": "discreet.privacy.mechanisms.discrete:DiscreteGaussian",
        "laplace": "discreet.privacy.mechanisms.laplace:Laplace",
        "analytic gaussian": "discreet.privacy.mechanisms.gaussian:AnalyticGaussian",
        "dp average": "discreet.privacy.mechanisms.averages:DPAverage",
        "dp item averages": "discreet.privacy.mechanisms.averages:DPItemAverages",
        "label permutation": "discreet.privacy.mechanisms.label_permutation:LabelPermutation",
        "float noise": "discreet.privacy.mechanisms.float_noise:FloatNoise",
    },
    check_frozen,
)
"""Each has a `name` and a one-line `summary`."""
